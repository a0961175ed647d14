/* row_dot: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_row_dot = {
    .name = "row_dot",
    .types = OP_F32,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "out", .role = ROLE_OUT, .shape = "N"},
            {.name = "x", .role = ROLE_IN, .shape = "N, C"},
            {.name = "weight", .role = ROLE_IN, .shape = "C", .holds = HOLDS_WEIGHT},
        },
    .scalars = "N, C",
    .hard = HARD_FINITE | HARD_SPOILED | HARD_MASKED,
};
