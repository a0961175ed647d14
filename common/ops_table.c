/* ops_table.c — the table of ops.h. */
#include "ops.h"

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
