/* decode_attention: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_decode_attention = {
    .name = "decode_attention",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_TOKENS,
    .tensor =
        {
            {.name = "out", .role = ROLE_OUT, .shape = "N, C"},
            {.name = "k", .role = ROLE_UPDATE, .shape = "B, H, S, D"},
            {.name = "v", .role = ROLE_UPDATE, .shape = "B, H, S, D"},
            {.name = "qkv", .role = ROLE_IN, .shape = "N, 3C"},
            {.name = "positions", .role = ROLE_IN, .shape = "B", .element = ELEMENT_INT},
        },
    .scalars = "B, H, D, S",
    .hard = HARD_MODEL | HARD(VALUES_MASKED_NAN),
    .hard_input = "qkv",
    .nan_input = "qkv",
};
