/* gpt2_forward in float64, and the mistakes that involve several layers of a model. */
#include "ops/transformer/calls.h"

const struct op_mistake model_mistakes[] = {
    {.id = "weights-of-layer-0",
     .cause = "every block uses layer 0's weights: use all.weights.blocks[layer]",
     .hint = 3,
     .kernel = "gpt2_forward/weights_of_layer_0",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_WEIGHTS_OF_LAYER_0}},
    {.id = NULL},
};

const struct op_reference op_reference_gpt2_forward = {
    .compute = model_forward,
    .fill = transformer_fill,
    .mistakes = {transformer_mistakes_reported, block_mistakes, model_mistakes, transformer_mistakes_shown},
};
