/* bias_gelu_backward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_bias_gelu_backward = {
    .name = "bias_gelu_backward",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "dx", .role = ROLE_OUT, .shape = "N, C", .alias = {"dout"}},
            {.name = "dbias", .role = ROLE_ACCUMULATE, .shape = "C", .element = ELEMENT_FLOAT},
            {.name = "dout", .role = ROLE_IN, .shape = "N, C"},
            {.name = "x", .role = ROLE_IN, .shape = "N, C"},
            {.name = "bias", .role = ROLE_IN, .shape = "C"},
        },
    .scalars = "N, C",
    .hard = HARD_FINITE | HARD_NAN,
    .nan_input = "dout",
};
