/* three_way_add: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_three_way_add = {
    .name = "three_way_add",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_ROWS,
    .tensor =
        {
            {.name = "out", .role = ROLE_OUT, .shape = "N, C", .alias = {"a", "b", "c"}},
            {.name = "a", .role = ROLE_IN, .shape = "N, C"},
            {.name = "b", .role = ROLE_IN, .shape = "N, C"},
            {.name = "c", .role = ROLE_IN, .shape = "N, C"},
        },
    .scalars = "N, C",
    .hard = HARD_FINITE | HARD_SPOILED | HARD_MASKED,
    .hard_input = "a",
    .nan_input = "a",
};
