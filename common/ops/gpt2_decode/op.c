/* gpt2_decode: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_gpt2_decode = {
    .name = "gpt2_decode",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_MODEL,
    .tensor =
        {
            {.name = "hidden", .role = ROLE_OUT, .shape = "K+1, B, C"},
            {.name = "logits", .role = ROLE_OUT, .shape = "K+1, B, V", .element = ELEMENT_FLOAT},
            {.name = "greedy", .role = ROLE_OUT, .shape = "K+1, B", .element = ELEMENT_INT},
            {.name = "weights", .role = ROLE_IN, .shape = "VC+SC+12LCC+13LC+2C"},
            {.name = "tokens", .role = ROLE_IN, .shape = "N", .element = ELEMENT_INT},
            {.name = "next", .role = ROLE_IN, .shape = "K, B", .element = ELEMENT_INT},
            {.name = "lengths", .role = ROLE_IN, .shape = "B", .element = ELEMENT_INT},
        },
    .scalars = "B, T, H, D, S, L, V, eps",
};
