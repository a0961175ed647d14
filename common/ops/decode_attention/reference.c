/* decode_attention in float64, and the mistakes of attention over a cache, which a decoding model can have too. */
#include "ops/predicates.h"
#include "ops/transformer/calls.h"

static void compute(const struct op_call *call, int mistake) {
    struct transformer w = call_transformer(call, mistake);
    struct field k = call_field(call, "k"), v = call_field(call, "v"), qkv = call_field(call, "qkv");
    struct field out = transformer_field(&w, (size_t)call->sizes->N * (size_t)call->sizes->C);
    transformer_decode(&w, out, k, v, qkv, call_given(call, "positions"));
    field_free(qkv);
    call_finish(call, "out", out);
    call_finish(call, "k", k);
    call_finish(call, "v", v);
}

const struct op_mistake decode_mistakes[] = {
    {.id = "decode-new-token-missing",
     .cause = "the new token does not attend to itself: its keys are 0 .. p, which are p + 1 keys",
     .hint = 2,
     .kernel = "decode_attention/new_token_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_NEW_TOKEN_MISSING}},
    {.id = "decode-position-minus-one",
     .cause = "the token is stored and attends as if it were one position earlier: its position is positions[b]",
     .hint = 3,
     .kernel = "decode_attention/position_minus_one",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_POSITION_MINUS_ONE}},
    {.id = "decode-one-key-more",
     .cause = "the new token attends to the position after its own, which is uninitialised: its keys are 0 .. p",
     .hint = 2,
     .kernel = "decode_attention/one_key_more",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_DECODE_ONE_MORE}},
    {.id = "decode-position-ignored",
     .cause = "the new token attends to all S positions of the cache: only 0 .. positions[b] are initialised",
     .hint = 1,
     .kernel = "decode_attention/position_ignored",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_POSITION_IGNORED}},
    {.id = "decode-position-of-first",
     .cause = "every sequence uses sequence 0's position: use positions[b]",
     .hint = 3,
     .kernel = "decode_attention/position_of_first",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_POSITION_OF_0}},
    {.id = "cache-of-first-sequence",
     .cause = "every sequence reads sequence 0's cache: head h of sequence b begins at (b * H + h) * S * D",
     .hint = 3,
     .kernel = "decode_attention/cache_of_first",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_CACHE_OF_0}},
    {.id = "cache-one-early",
     .cause = "a token's key and value are written one position too early in the cache: position p is stored at p",
     .hint = 3,
     .kernel = "decode_attention/cache_one_early",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_CACHE_ONE_EARLY}},
    {.id = "cache-not-written",
     .cause = "the new key and value are not written to the cache: later tokens need them",
     .hint = 2,
     .kernel = "decode_attention/cache_not_written",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_CACHE_NOT_WRITTEN, TRANSFORMER_CACHE_USED_ONLY}},
    {.id = NULL},
};

const struct op_reference op_reference_decode_attention = {
    .compute = compute,
    .fill = transformer_fill,
    .mistakes = {transformer_mistakes_reported, attention_mistakes, decode_mistakes, transformer_mistakes_shown},
};
