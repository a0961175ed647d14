#include "ops.h"

#include <stdio.h>
#include <string.h>

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
    return strchr(op->ints, 'D') != NULL;
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

bool op_is_scalar(enum op_shape shape) {
    return shape == SHAPE_N || shape == SHAPE_B || shape == SHAPE_3C || shape == SHAPE_4C || shape == SHAPE_KB ||
           shape == SHAPE_K1B;
}

size_t op_row_elements(const struct op *op, int tensor, const struct op_sizes *sizes) {
    if (op_is_scalar(op->tensor[tensor].shape)) { return 1; }
    switch (op->tensor[tensor].shape) {
        case SHAPE_NV:
        case SHAPE_K1BV: return (size_t)sizes->V;
        case SHAPE_BHSD: return (size_t)(sizes->C / sizes->H);
        case SHAPE_N3C: return 3 * (size_t)sizes->C;
        case SHAPE_N4C:
        case SHAPE_C4C: return 4 * (size_t)sizes->C;
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
        case SHAPE_N4C: return N * 4 * C;
        case SHAPE_BHSD: return B * S * C;
        case SHAPE_3C: return 3 * C;
        case SHAPE_4C: return 4 * C;
        case SHAPE_CC: return C * C;
        case SHAPE_3CC: return 3 * C * C;
        case SHAPE_4CC:
        case SHAPE_C4C: return 4 * C * C;
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
