#include "ops.h"

#include <string.h>

enum { F32_BYTES = 4 };

const struct op ops[] = {
    {
        .name = "residual_forward",
        .launcher = "residual_forward_f32",
        .tensor_count = 3,
        .tensor = {{"out", ROLE_OUT, SHAPE_NC}, {"x", ROLE_IN, SHAPE_NC}, {"residual", ROLE_IN, SHAPE_NC}},
        .alias = {[0] = 1 << 1 | 1 << 2},
        .deterministic = true,
    },
    {
        .name = "softmax_forward",
        .launcher = "softmax_forward_f32",
        .tensor_count = 2,
        .tensor = {{"out", ROLE_OUT, SHAPE_NC}, {"x", ROLE_IN, SHAPE_NC}},
        .alias = {[0] = 1 << 1},
        .deterministic = true,
    },
    {
        .name = "layernorm_forward",
        .launcher = "layernorm_forward_f32",
        .tensor_count = 6,
        .tensor = {{"out", ROLE_OUT, SHAPE_NC},
                   {"mean", ROLE_OUT, SHAPE_N},
                   {"rstd", ROLE_OUT, SHAPE_N},
                   {"x", ROLE_IN, SHAPE_NC},
                   {"weight", ROLE_IN, SHAPE_C},
                   {"bias", ROLE_IN, SHAPE_C}},
        .alias = {[0] = 1 << 3},
        .deterministic = true,
    },
    {
        .name = "layernorm_backward",
        .launcher = "layernorm_backward_f32",
        .tensor_count = 8,
        .tensor = {{"dinp", ROLE_OUT, SHAPE_NC},
                   {"dweight", ROLE_ACCUMULATE, SHAPE_C},
                   {"dbias", ROLE_ACCUMULATE, SHAPE_C},
                   {"dout", ROLE_IN, SHAPE_NC},
                   {"x", ROLE_IN, SHAPE_NC},
                   {"weight", ROLE_IN, SHAPE_C},
                   {"mean", ROLE_IN, SHAPE_N},
                   {"rstd", ROLE_IN, SHAPE_N}},
        .alias = {[0] = 1 << 3},
        .deterministic = false,
    },
    {
        .name = "row_sum",
        .launcher = "row_sum_f32",
        .tensor_count = 2,
        .tensor = {{"out", ROLE_OUT, SHAPE_N}, {"x", ROLE_IN, SHAPE_NC}},
        .deterministic = true,
    },
    {
        .name = "row_sum_squares",
        .launcher = "row_sum_squares_f32",
        .tensor_count = 2,
        .tensor = {{"out", ROLE_OUT, SHAPE_N}, {"x", ROLE_IN, SHAPE_NC}},
        .deterministic = true,
    },
    {
        .name = "row_dot",
        .launcher = "row_dot_f32",
        .tensor_count = 3,
        .tensor = {{"out", ROLE_OUT, SHAPE_N}, {"x", ROLE_IN, SHAPE_NC}, {"weight", ROLE_IN, SHAPE_C}},
        .deterministic = true,
    },
    {
        .name = "bias_add",
        .launcher = "bias_add_f32",
        .tensor_count = 3,
        .tensor = {{"out", ROLE_OUT, SHAPE_NC}, {"x", ROLE_IN, SHAPE_NC}, {"bias", ROLE_IN, SHAPE_C}},
        .alias = {[0] = 1 << 1},
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

size_t op_elements(const struct op *op, int tensor, const struct op_sizes *sizes) {
    size_t N = (size_t)sizes->N, C = (size_t)sizes->C;
    switch (op->tensor[tensor].shape) {
        case SHAPE_NC: return N * C;
        case SHAPE_N: return N;
        case SHAPE_C: return C;
    }
    return 0;
}

size_t op_floor_bytes(const struct op *op, const struct op_sizes *sizes) {
    size_t bytes = 0;
    for (int i = 0; i < op->tensor_count; i++) { bytes += op_elements(op, i, sizes) * F32_BYTES; }
    return bytes;
}
