/* causal_softmax_backward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_causal_softmax_backward = {
    .name = "causal_softmax_backward",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_MATRICES,
    .tensor =
        {
            {.name = "dx", .role = ROLE_OUT, .shape = "B, H, T, T", .alias = {"dout"}},
            {.name = "dout", .role = ROLE_IN, .shape = "B, H, T, T"},
            {.name = "out", .role = ROLE_IN, .shape = "B, H, T, T"},
            {.name = "lengths", .role = ROLE_IN, .shape = "B", .element = ELEMENT_INT, .nullable = true},
        },
    .scalars = "B, H, T, scale, upper",
    .hard = HARD_FINITE | HARD_NAN | HARD_CAUSAL,
    .hard_input = "dout",
    .nan_input = "dout",
};
