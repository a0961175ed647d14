/* attention_forward in float64, and the mistakes of attention over prompts, which a block can have too. */
#include "ops/transformer/calls.h"

static void compute(const struct op_call *call, int mistake) {
    struct transformer w = call_transformer(call, mistake);
    struct field k = call_field(call, "k"), v = call_field(call, "v"), qkv = call_field(call, "qkv");
    struct field out = transformer_field(&w, (size_t)call->sizes->N * (size_t)call->sizes->C);
    transformer_attention(&w, out, k, v, qkv);
    field_free(qkv);
    call_finish(call, "out", out);
    call_finish(call, "k", k);
    call_finish(call, "v", v);
}

const struct op_mistake prompt_mistakes[] = {
    {.id = "attention-mask-strict",
     .cause = "a query does not attend to its own key: row i uses the keys 0 .. i",
     .hint = 2,
     .kernel = "attention_forward/mask_strict",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_MASK_STRICT}},
    {.id = "attention-mask-one-more",
     .cause = "a query attends to the key after its own: row i uses the keys 0 .. i",
     .hint = 2,
     .kernel = "attention_forward/mask_one_more",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_MASK_ONE_MORE}},
    {.id = "attention-no-mask",
     .cause = "every query attends to every key: the causal mask is missing",
     .hint = 1,
     .kernel = "attention_forward/no_mask",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_MASK_NONE}},
    {.id = "attention-lengths-ignored",
     .cause =
         "queries attend to keys past their sequence's length: mask the keys from lengths[b] on, for each sequence b",
     .hint = 2,
     .kernel = "attention_forward/lengths_ignored",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_LENGTHS_IGNORED}},
    {.id = "attention-qk-swapped", .compute = transformer_mistaken, .variant = {TRANSFORMER_QK_EXCHANGED}},
    {.id = "attention-heads-not-merged",
     .cause = "out is laid out as (B, H, T, D): the heads of a token belong side by side, (B, T, H, D)",
     .hint = 2,
     .kernel = "attention_forward/heads_not_merged",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_HEADS_NOT_MERGED}},
    {.id = "attention-heads-inside",
     .cause = "the heads are interleaved in out: channel h * D + d is element d of head h, not channel d * H + h",
     .hint = 3,
     .kernel = "attention_forward/heads_inside",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_HEADS_INSIDE}},
    {.id = "attention-weights-transposed",
     .cause = "the second product uses the attention weights transposed: row i of them belongs to query i",
     .hint = 3,
     .kernel = "attention_forward/weights_transposed",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_WEIGHTS_TRANSPOSED}},
    {.id = "attention-cache-stride",
     .cause = "heads in the cache are taken to be T positions apart: they are S positions apart",
     .hint = 3,
     .kernel = "attention_forward/cache_by_prompt",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_CACHE_STRIDE}},
    {.id = NULL},
};

const struct op_reference op_reference_attention_forward = {
    .compute = compute,
    .fill = transformer_fill,
    .mistakes = {transformer_mistakes_reported, attention_mistakes, prompt_mistakes, transformer_mistakes_shown},
};
