/* block_forward: its description. contract.h defines the op. */
#include "ops/inputs.h"

const struct op op_block_forward = {
    .name = "block_forward",
    .types = OP_ALL_TYPES,
    .layout = LAYOUT_PROMPTS,
    .tensor =
        {
            {.name = "k", .role = ROLE_OUT, .shape = "B, H, S, D"},
            {.name = "v", .role = ROLE_OUT, .shape = "B, H, S, D"},
            {.name = "residual", .role = ROLE_UPDATE, .shape = "N, C"},
            {.name = "branch", .role = ROLE_UPDATE, .shape = "N, C"},
            {.name = "ln1_weight", .role = ROLE_IN, .shape = "C"},
            {.name = "ln1_bias", .role = ROLE_IN, .shape = "C"},
            {.name = "qkv_weight", .role = ROLE_IN, .shape = "3C, C"},
            {.name = "qkv_bias", .role = ROLE_IN, .shape = "3C"},
            {.name = "attention_weight", .role = ROLE_IN, .shape = "C, C"},
            {.name = "attention_bias", .role = ROLE_IN, .shape = "C"},
            {.name = "ln2_weight", .role = ROLE_IN, .shape = "C"},
            {.name = "ln2_bias", .role = ROLE_IN, .shape = "C"},
            {.name = "fc_weight", .role = ROLE_IN, .shape = "4C, C"},
            {.name = "fc_bias", .role = ROLE_IN, .shape = "4C"},
            {.name = "mlp_weight", .role = ROLE_IN, .shape = "C, 4C"},
            {.name = "mlp_bias", .role = ROLE_IN, .shape = "C"},
            {.name = "lengths", .role = ROLE_IN, .shape = "B", .element = ELEMENT_INT},
        },
    .scalars = "B, T, H, D, S, L, eps",
    .hard = HARD(VALUES_SMALL),
    .hard_input = "residual",
    .nan_input = "residual",
};
