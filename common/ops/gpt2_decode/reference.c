/* gpt2_decode in float64, and the mistakes of a decoding model. */
#include "ops/predicates.h"
#include "ops/transformer/calls.h"

/* hidden (K + 1, B, C): step 0 is the prompt's end. */
static bool prompt_is_right(const struct evidence *evidence, const struct evidence_case *shown) {
    int hidden = op_tensor_find(evidence->op, "hidden");
    for (size_t i = 0; i < (size_t)shown->test.sizes.B * (size_t)shown->test.sizes.C; i++) {
        if (evidence_is_wrong(evidence, shown, hidden, i)) { return false; }
    }
    return shown->wrong[hidden] > 0;
}

static bool shows_steps(const struct evidence *evidence, int argument) {
    (void)argument;
    return !shows_untouched(evidence, 0) && evidence_all_wrong(evidence, prompt_is_right);
}

const struct op_mistake cache_mistakes[] = {
    {.id = "cache-of-layer-0",
     .cause = "every block uses layer 0's cache: use all.cache[layer]",
     .hint = 3,
     .kernel = "gpt2_decode/cache_of_layer_0",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_CACHE_OF_LAYER_0}},
    {.id = NULL},
};

static const struct op_mistake shown[] = {
    {.id = "wiring-decoding",
     .fact = "the results of the prompt are right, the next token's are wrong: check the cache, and what depends on "
             "the number of rows",
     .hint = 2,
     .kernel = "gpt2_decode/decodes_from_prompt",
     .predicate = shows_steps,
     .stage = MISTAKE_PLACED},
    {.id = NULL},
};

const struct op_reference op_reference_gpt2_decode = {
    .compute = model_decode,
    .fill = transformer_fill,
    .mistakes = {transformer_mistakes_reported, attention_mistakes, decode_mistakes, block_mistakes, model_mistakes,
                 cache_mistakes, shown, transformer_mistakes_shown},
};
