/* causal_softmax_forward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_causal_softmax_forward = {
    .name = "causal_softmax_forward",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_MATRICES,
    .tensor =
        {
            {.name = "out", .role = ROLE_OUT, .shape = "B, H, T, T", .alias = {"x"}},
            {.name = "x", .role = ROLE_IN, .shape = "B, H, T, T"},
            {.name = "lengths", .role = ROLE_IN, .shape = "B", .element = ELEMENT_INT, .nullable = true},
        },
    .scalars = "B, H, T, scale, upper",
    .hard = HARD_FINITE | HARD_SPOILED | HARD_MASKED | HARD_LOW | HARD_CAUSAL,
};
