/* residual_forward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_residual_forward = {
    .name = "residual_forward",
    .types = OP_F32,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "out", .role = ROLE_OUT, .shape = "N, C", .alias = {"x", "residual"}},
            {.name = "x", .role = ROLE_IN, .shape = "N, C"},
            {.name = "residual", .role = ROLE_IN, .shape = "N, C"},
        },
    .scalars = "N, C",
    .hard = HARD_FINITE | HARD_SPOILED | HARD_MASKED,
    .elementwise = true,
};
