/* softmax_backward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_softmax_backward = {
    .name = "softmax_backward",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "dx", .role = ROLE_OUT, .shape = "N, C", .alias = {"dout"}},
            {.name = "dout", .role = ROLE_IN, .shape = "N, C"},
            {.name = "out", .role = ROLE_IN, .shape = "N, C"},
        },
    .scalars = "N, C",
    .hard = HARD_FINITE | HARD_NAN,
    .hard_input = "dout",
    .nan_input = "dout",
};
