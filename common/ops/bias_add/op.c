/* bias_add: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_bias_add = {
    .name = "bias_add",
    .types = OP_F32,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "out", .role = ROLE_OUT, .shape = "N, C", .alias = {"x"}},
            {.name = "x", .role = ROLE_IN, .shape = "N, C"},
            {.name = "bias", .role = ROLE_IN, .shape = "C"},
        },
    .scalars = "N, C",
    .hard = HARD_FINITE | HARD_SPOILED | HARD_MASKED,
    .elementwise = true,
};
