/* residual_layernorm_backward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_residual_layernorm_backward = {
    .name = "residual_layernorm_backward",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "dinp", .role = ROLE_OUT, .shape = "N, C", .alias = {"dout", "dsum"}},
            {.name = "dweight", .role = ROLE_ACCUMULATE, .shape = "C", .element = ELEMENT_FLOAT},
            {.name = "dbias", .role = ROLE_ACCUMULATE, .shape = "C", .element = ELEMENT_FLOAT},
            {.name = "dout", .role = ROLE_IN, .shape = "N, C"},
            {.name = "dsum", .role = ROLE_IN, .shape = "N, C"},
            {.name = "sum", .role = ROLE_IN, .shape = "N, C"},
            {.name = "weight", .role = ROLE_IN, .shape = "C", .holds = HOLDS_WEIGHT},
            {.name = "mean", .role = ROLE_IN, .shape = "N", .element = ELEMENT_FLOAT},
            {.name = "rstd", .role = ROLE_IN, .shape = "N", .element = ELEMENT_FLOAT},
        },
    .scalars = "N, C",
    .hard = HARD_FINITE | HARD_NAN,
    .hard_input = "sum",
    .nan_input = "dout",
};
