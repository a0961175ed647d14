/* softmax_forward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_softmax_forward = {
    .name = "softmax_forward",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "out", .role = ROLE_OUT, .shape = "N, C", .alias = {"x"}},
            {.name = "x", .role = ROLE_IN, .shape = "N, C"},
        },
    .scalars = "N, C",
    .hard = HARD_FINITE | HARD_SPOILED | HARD_MASKED | HARD_LOW,
};
