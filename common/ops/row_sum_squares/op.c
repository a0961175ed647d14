/* row_sum_squares: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_row_sum_squares = {
    .name = "row_sum_squares",
    .types = OP_F32,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "out", .role = ROLE_OUT, .shape = "N"},
            {.name = "x", .role = ROLE_IN, .shape = "N, C"},
        },
    .scalars = "N, C",
    .hard = HARD_FINITE | HARD_SPOILED | HARD_MASKED,
};
