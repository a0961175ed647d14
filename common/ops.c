#include "ops.h"

#include <stdio.h>
#include <string.h>

#define F32 (1u << TYPE_F32)
#define ALL (1u << TYPE_F32 | 1u << TYPE_F16 | 1u << TYPE_BF16)

/* Tensors as the table needs them. */
#define IN(name, shape) \
    { name, ROLE_IN, SHAPE_##shape, ELEMENT_T }
#define OUT(name, shape) \
    { name, ROLE_OUT, SHAPE_##shape, ELEMENT_T }
#define IN_FLOAT(name, shape) \
    { name, ROLE_IN, SHAPE_##shape, ELEMENT_FLOAT }
#define OUT_FLOAT(name, shape) \
    { name, ROLE_OUT, SHAPE_##shape, ELEMENT_FLOAT }
#define ADD_FLOAT(name, shape) \
    { name, ROLE_ACCUMULATE, SHAPE_##shape, ELEMENT_FLOAT }
#define LENGTHS \
    { "lengths", ROLE_IN, SHAPE_B, ELEMENT_INT }
#define UPDATE(name, shape) \
    { name, ROLE_UPDATE, SHAPE_##shape, ELEMENT_T }
#define WORK(name, shape) \
    { name, ROLE_WORK, SHAPE_##shape, ELEMENT_T }
#define IN_INT(name, shape) \
    { name, ROLE_IN, SHAPE_##shape, ELEMENT_INT }
#define OUT_INT(name, shape) \
    { name, ROLE_OUT, SHAPE_##shape, ELEMENT_INT }

const struct op ops[] = {
    {
        .name = "residual_forward",
        .types = F32,
        .ints = "NC",
        .tensor_count = 3,
        .tensor = {OUT("out", NC), IN("x", NC), IN("residual", NC)},
        .alias = {[0] = 1 << 1 | 1 << 2},
        .deterministic = true,
    },
    {
        .name = "softmax_forward",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 2,
        .tensor = {OUT("out", NC), IN("x", NC)},
        .alias = {[0] = 1 << 1},
        .deterministic = true,
    },
    {
        .name = "softmax_backward",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 3,
        .tensor = {OUT("dx", NC), IN("dout", NC), IN("out", NC)},
        .alias = {[0] = 1 << 1},
        .deterministic = true,
    },
    {
        .name = "causal_softmax_forward",
        .types = ALL,
        .ints = "BHTU",
        .tensor_count = 3,
        .tensor = {OUT("out", BHTT), IN("x", BHTT), LENGTHS},
        .alias = {[0] = 1 << 1},
        .deterministic = true,
    },
    {
        .name = "causal_softmax_backward",
        .types = ALL,
        .ints = "BHTU",
        .tensor_count = 4,
        .tensor = {OUT("dx", BHTT), IN("dout", BHTT), IN("out", BHTT), LENGTHS},
        .alias = {[0] = 1 << 1},
        .deterministic = true,
    },
    {
        .name = "layernorm_forward",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 6,
        .tensor = {OUT("out", NC), OUT_FLOAT("mean", N), OUT_FLOAT("rstd", N), IN("x", NC), IN("weight", C),
                   IN("bias", C)},
        .alias = {[0] = 1 << 3},
        .deterministic = true,
    },
    {
        .name = "layernorm_backward",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 8,
        .tensor = {OUT("dinp", NC), ADD_FLOAT("dweight", C), ADD_FLOAT("dbias", C), IN("dout", NC), IN("x", NC),
                   IN("weight", C), IN_FLOAT("mean", N), IN_FLOAT("rstd", N)},
        .alias = {[0] = 1 << 3},
        .deterministic = false,
    },
    {
        .name = "residual_layernorm_forward",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 8,
        .tensor = {OUT("out", NC), OUT("sum", NC), OUT_FLOAT("mean", N), OUT_FLOAT("rstd", N), IN("x", NC),
                   IN("residual", NC), IN("weight", C), IN("bias", C)},
        .alias = {[0] = 1 << 4, [1] = 1 << 4 | 1 << 5},
        .deterministic = true,
    },
    {
        .name = "residual_layernorm_backward",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 9,
        .tensor = {OUT("dinp", NC), ADD_FLOAT("dweight", C), ADD_FLOAT("dbias", C), IN("dout", NC), IN("dsum", NC),
                   IN("sum", NC), IN("weight", C), IN_FLOAT("mean", N), IN_FLOAT("rstd", N)},
        .alias = {[0] = 1 << 3 | 1 << 4},
        .deterministic = true,
    },
    {
        .name = "layernorm_residual_forward",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 7,
        .tensor = {OUT("out", NC), OUT_FLOAT("mean", N), OUT_FLOAT("rstd", N), IN("x", NC), IN("residual", NC),
                   IN("weight", C), IN("bias", C)},
        .alias = {[0] = 1 << 3 | 1 << 4},
        .deterministic = true,
    },
    {
        .name = "layernorm_residual_backward",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 8,
        .tensor = {OUT("dinp", NC), ADD_FLOAT("dweight", C), ADD_FLOAT("dbias", C), IN("dout", NC), IN("x", NC),
                   IN("weight", C), IN_FLOAT("mean", N), IN_FLOAT("rstd", N)},
        .alias = {[0] = 1 << 3},
        .deterministic = true,
    },
    {
        .name = "bias_gelu_forward",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 3,
        .tensor = {OUT("out", NC), IN("x", NC), IN("bias", C)},
        .alias = {[0] = 1 << 1},
        .deterministic = true,
    },
    {
        .name = "bias_gelu_backward",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 5,
        .tensor = {OUT("dx", NC), ADD_FLOAT("dbias", C), IN("dout", NC), IN("x", NC), IN("bias", C)},
        .alias = {[0] = 1 << 2},
        .deterministic = true,
    },
    {
        .name = "three_way_add",
        .types = ALL,
        .ints = "NC",
        .tensor_count = 4,
        .tensor = {OUT("out", NC), IN("a", NC), IN("b", NC), IN("c", NC)},
        .alias = {[0] = 1 << 1 | 1 << 2 | 1 << 3},
        .deterministic = true,
    },
    {
        .name = "row_sum",
        .types = F32,
        .ints = "NC",
        .tensor_count = 2,
        .tensor = {OUT("out", N), IN("x", NC)},
        .deterministic = true,
    },
    {
        .name = "row_sum_squares",
        .types = F32,
        .ints = "NC",
        .tensor_count = 2,
        .tensor = {OUT("out", N), IN("x", NC)},
        .deterministic = true,
    },
    {
        .name = "row_dot",
        .types = F32,
        .ints = "NC",
        .tensor_count = 3,
        .tensor = {OUT("out", N), IN("x", NC), IN("weight", C)},
        .deterministic = true,
    },
    {
        .name = "bias_add",
        .types = F32,
        .ints = "NC",
        .tensor_count = 3,
        .tensor = {OUT("out", NC), IN("x", NC), IN("bias", C)},
        .alias = {[0] = 1 << 1},
        .deterministic = true,
    },
    {
        .name = "attention_forward",
        .types = ALL,
        .ints = "BTHDS",
        .tensor_count = 7,
        .tensor = {OUT("k", BHSD), OUT("v", BHSD), OUT("out", NC), WORK("query", NC), WORK("scores", SCORES),
                   IN("qkv", N3C), LENGTHS},
        .deterministic = true,
    },
    {
        .name = "decode_attention",
        .types = ALL,
        .ints = "BHDS",
        .tensor_count = 5,
        .tensor = {OUT("out", NC), UPDATE("k", BHSD), UPDATE("v", BHSD), IN("qkv", N3C), IN_INT("positions", B)},
        .deterministic = true,
    },
    {
        .name = "block_forward",
        .types = ALL,
        .ints = "BTHDSL",
        .tensor_count = 17,
        .tensor = {OUT("k", BHSD), OUT("v", BHSD), UPDATE("residual", NC), UPDATE("branch", NC), IN("ln1_weight", C),
                   IN("ln1_bias", C), IN("qkv_weight", 3CC), IN("qkv_bias", 3C), IN("attention_weight", CC),
                   IN("attention_bias", C), IN("ln2_weight", C), IN("ln2_bias", C), IN("fc_weight", 4CC),
                   IN("fc_bias", 4C), IN("mlp_weight", 4CC), IN("mlp_bias", C), LENGTHS},
        .deterministic = true,
    },
    {
        .name = "gpt2_forward",
        .types = ALL,
        .ints = "BTHDSLV",
        .tensor_count = 7,
        .tensor = {OUT("hidden", LNC), OUT_FLOAT("logits", NV), OUT_FLOAT("losses", N), IN("weights", WEIGHTS),
                   IN_INT("tokens", N), IN_INT("targets", N), LENGTHS},
        .deterministic = true,
    },
    {
        .name = "gpt2_decode",
        .types = ALL,
        .ints = "BTHDSLV",
        .tensor_count = 7,
        .tensor = {OUT("hidden", K1BC), OUT_FLOAT("logits", K1BV), OUT_INT("greedy", K1B), IN("weights", WEIGHTS),
                   IN_INT("tokens", N), IN_INT("next", KB), LENGTHS},
        .deterministic = true,
    },
    {.name = NULL},
};

const struct op *op_find(const char *name) {
    for (const struct op *op = ops; op->name; op++) {
        if (strcmp(op->name, name) == 0) { return op; }
    }
    return NULL;
}

int op_tensor_find(const struct op *op, const char *name) {
    for (int t = 0; t < op->tensor_count; t++) {
        if (strcmp(op->tensor[t].name, name) == 0) { return t; }
    }
    return -1;
}

const char *op_type_name(enum op_type type) {
    static const char *const names[OP_TYPES] = {"f32", "f16", "bf16"};
    return names[type];
}

void op_launcher_name(const struct op *op, enum op_type type, char *text, size_t size) {
    snprintf(text, size, "%s_%s", op->name, op_type_name(type));
}

bool op_is_causal(const struct op *op) {
    return op->tensor[0].shape == SHAPE_BHTT;
}

struct op_sizes op_causal_sizes(enum op_type type, int B, int H, int T, float scale) {
    struct op_sizes sizes = {.N = B * H * T, .C = T, .type = type, .B = B, .H = H, .T = T, .scale = scale};
    return sizes;
}

bool op_is_wiring(const struct op *op) {
    return strchr(op->ints, 'S') != NULL;
}

bool op_is_model(const struct op *op) {
    return op_tensor_find(op, "weights") >= 0;
}

struct op_sizes op_wiring_sizes(enum op_type type, int B, int T, int H, int D, int S) {
    struct op_sizes sizes = {
        .N = B * T, .C = H * D, .eps = 1e-5f, .type = type, .B = B, .H = H, .T = T, .lengths = 1, .S = S, .L = 1};
    return sizes;
}

int op_size(const struct op_sizes *sizes, char letter) {
    switch (letter) {
        case 'N': return sizes->N;
        case 'C': return sizes->C;
        case 'B': return sizes->B;
        case 'H': return sizes->H;
        case 'T': return sizes->T;
        case 'D': return sizes->C / sizes->H;
        case 'S': return sizes->S;
        case 'L': return sizes->L;
        case 'V': return sizes->V;
        case 'U': return sizes->upper;
        default: return 0;
    }
}

bool op_is_output(const struct op *op, int tensor) {
    return op->tensor[tensor].role != ROLE_IN && op->tensor[tensor].role != ROLE_WORK;
}

bool op_has_rows(const struct op *op, int tensor) {
    return op->tensor[tensor].shape == SHAPE_NC || op->tensor[tensor].shape == SHAPE_BHTT;
}

size_t op_row_elements(const struct op *op, int tensor, const struct op_sizes *sizes) {
    switch (op->tensor[tensor].shape) {
        case SHAPE_N:
        case SHAPE_B:
        case SHAPE_KB:
        case SHAPE_K1B: return 1;
        case SHAPE_NV:
        case SHAPE_K1BV: return (size_t)sizes->V;
        case SHAPE_BHSD: return (size_t)(sizes->C / sizes->H);
        case SHAPE_N3C: return 3 * (size_t)sizes->C;
        default: return (size_t)sizes->C;
    }
}

size_t op_element_bytes(const struct op *op, int tensor, enum op_type type) {
    bool narrow = op->tensor[tensor].element == ELEMENT_T && type != TYPE_F32;
    return narrow ? 2 : 4;
}

bool op_is_given(const struct op *op, int tensor, const struct op_sizes *sizes) {
    return op->tensor[tensor].shape != SHAPE_B || sizes->lengths;
}

size_t op_elements(const struct op *op, int tensor, const struct op_sizes *sizes) {
    size_t N = (size_t)sizes->N, C = (size_t)sizes->C, B = (size_t)sizes->B, T = (size_t)sizes->T;
    size_t S = (size_t)sizes->S, L = (size_t)sizes->L, V = (size_t)sizes->V, K = S - T;
    switch (op->tensor[tensor].shape) {
        case SHAPE_NC:
        case SHAPE_BHTT: return N * C;
        case SHAPE_SCORES: return B * (size_t)sizes->H * T * T;
        case SHAPE_N: return N;
        case SHAPE_C: return C;
        case SHAPE_B: return op_is_given(op, tensor, sizes) ? B : 0;
        case SHAPE_N3C: return N * 3 * C;
        case SHAPE_BHSD: return B * S * C;
        case SHAPE_3C: return 3 * C;
        case SHAPE_4C: return 4 * C;
        case SHAPE_CC: return C * C;
        case SHAPE_3CC: return 3 * C * C;
        case SHAPE_4CC: return 4 * C * C;
        case SHAPE_LNC: return (2 * L + 1) * N * C;
        case SHAPE_NV: return N * V;
        case SHAPE_WEIGHTS: return (V + S) * C + L * (12 * C + 13) * C + 2 * C;
        case SHAPE_KB: return K * B;
        case SHAPE_K1B: return (K + 1) * B;
        case SHAPE_K1BC: return (K + 1) * B * C;
        case SHAPE_K1BV: return (K + 1) * B * V;
    }
    return 0;
}

size_t op_needed_elements(const struct op *op, int tensor, const struct op_sizes *sizes) {
    bool whole = op->tensor[tensor].shape != SHAPE_BHTT || (op->tensor[tensor].role == ROLE_OUT && !sizes->upper);
    size_t T = (size_t)sizes->C, matrices = T ? (size_t)sizes->N / T : 0;
    return whole ? op_elements(op, tensor, sizes) : matrices * (T * (T + 1) / 2);
}

size_t op_floor_bytes(const struct op *op, const struct op_sizes *sizes) {
    size_t bytes = 0;
    for (int t = 0; t < op->tensor_count; t++) {
        bytes += op_needed_elements(op, t, sizes) * op_element_bytes(op, t, sizes->type);
    }
    return bytes;
}
