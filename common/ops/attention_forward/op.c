/* attention_forward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_attention_forward = {
    .name = "attention_forward",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_PROMPTS,
    .tensor =
        {
            {.name = "k", .role = ROLE_OUT, .shape = "B, H, S, D"},
            {.name = "v", .role = ROLE_OUT, .shape = "B, H, S, D"},
            {.name = "out", .role = ROLE_OUT, .shape = "N, C"},
            {.name = "query", .role = ROLE_WORK, .shape = "N, C"},
            {.name = "scores", .role = ROLE_WORK, .shape = "B, H, T, T"},
            {.name = "qkv", .role = ROLE_IN, .shape = "N, 3C"},
            {.name = "lengths", .role = ROLE_IN, .shape = "B", .element = ELEMENT_INT},
        },
    .scalars = "B, T, H, D, S",
    .hard = HARD_MODEL,
    .hard_input = "qkv",
    .nan_input = "qkv",
};
