/* layernorm_forward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_layernorm_forward = {
    .name = "layernorm_forward",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "out", .role = ROLE_OUT, .shape = "N, C", .alias = {"x"}},
            {.name = "mean", .role = ROLE_OUT, .shape = "N", .element = ELEMENT_FLOAT},
            {.name = "rstd", .role = ROLE_OUT, .shape = "N", .element = ELEMENT_FLOAT},
            {.name = "x", .role = ROLE_IN, .shape = "N, C"},
            {.name = "weight", .role = ROLE_IN, .shape = "C", .holds = HOLDS_WEIGHT},
            {.name = "bias", .role = ROLE_IN, .shape = "C"},
        },
    .scalars = "N, C, eps",
    .hard = HARD_FINITE | HARD_SPOILED,
};
