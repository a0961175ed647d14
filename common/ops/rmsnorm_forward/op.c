/* rmsnorm_forward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_rmsnorm_forward = {
    .name = "rmsnorm_forward",
    .types = OP_F32,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "out", .role = ROLE_OUT, .shape = "N, C", .alias = {"x"}},
            {.name = "rstd", .role = ROLE_OUT, .shape = "N", .element = ELEMENT_FLOAT},
            {.name = "x", .role = ROLE_IN, .shape = "N, C"},
            {.name = "weight", .role = ROLE_IN, .shape = "C", .holds = HOLDS_WEIGHT},
        },
    .scalars = "N, C, eps",
    .hard = HARD_FINITE | HARD_NAN,
};
