/* gpt2_forward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_gpt2_forward = {
    .name = "gpt2_forward",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_MODEL,
    .tensor =
        {
            {.name = "hidden", .role = ROLE_OUT, .shape = "2L+1, N, C"},
            {.name = "logits", .role = ROLE_OUT, .shape = "N, V", .element = ELEMENT_FLOAT},
            {.name = "losses", .role = ROLE_OUT, .shape = "N", .element = ELEMENT_FLOAT},
            {.name = "weights", .role = ROLE_IN, .shape = "VC+SC+12LCC+13LC+2C"},
            {.name = "tokens", .role = ROLE_IN, .shape = "N", .element = ELEMENT_INT},
            {.name = "targets", .role = ROLE_IN, .shape = "N", .element = ELEMENT_INT},
            {.name = "lengths", .role = ROLE_IN, .shape = "B", .element = ELEMENT_INT},
        },
    .scalars = "B, T, H, D, S, L, V, eps",
};
