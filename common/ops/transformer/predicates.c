/* predicates.c — mistakes of a model's parts that are recognised by a report, or by the output that is wrong. */
#include <string.h>

#include "calls.h"
#include "ops/predicates.h"
#include "runner/protocol.h"
#include "status.h"

static int status_of_failure(const struct evidence *evidence) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->failure.kind == FAILURE_STATUS ? first->status : 0;
}

static bool shows_part_not_started(const struct evidence *evidence, int argument) {
    (void)argument;
    return status_of_failure(evidence) == CUDA_NOT_SUPPORTED;
}

static bool shows_product_refused(const struct evidence *evidence, int argument) {
    (void)argument;
    return status_of_failure(evidence) > BLAS_ERROR;
}

int transformer_first_wrong(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 0; t < op_tensor_count(evidence->op); t++) {
        if (shown->wrong[t]) { return t; }
    }
    return -1;
}

/* Outputs in the order of computation: the first wrong one locates the mistake. */
enum first_wrong { FIRST_CACHE, FIRST_OUT, FIRST_RESIDUAL, FIRST_BRANCH, FIRST_HIDDEN, NONE_WRONG };

static bool is_wrong_in_any(const struct evidence *evidence, const char *name) {
    int t = op_tensor_find(evidence->op, name);
    for (int i = 0; t >= 0 && i < evidence->count; i++) {
        if (evidence_case_is_wrong(evidence->cases[i]) && evidence->cases[i]->wrong[t]) { return true; }
    }
    return false;
}

/* `argument` is the first output that is wrong in any call: those before it are right in every call. */
static bool shows_tensor(const struct evidence *evidence, int argument) {
    static const char *const names[NONE_WRONG][2] = {[FIRST_CACHE] = {"k", "v"},
                                                     [FIRST_OUT] = {"out", "out"},
                                                     [FIRST_RESIDUAL] = {"residual", "residual"},
                                                     [FIRST_BRANCH] = {"branch", "branch"},
                                                     [FIRST_HIDDEN] = {"hidden", "hidden"}};
    int first = 0;
    if (shows_untouched(evidence, 0) || shows_low_precision(evidence, 0)) { return false; }
    while (first < NONE_WRONG && !is_wrong_in_any(evidence, names[first][0]) &&
           !is_wrong_in_any(evidence, names[first][1])) {
        first++;
    }
    return first == argument;
}

static bool shows_product_unwritten(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->failure.kind == FAILURE_FINDING && first->failure.finding == SIMT_UNINITIALISED &&
           strncmp(first->failure.text, "cublas", strlen("cublas")) == 0;
}

static bool shows_model_unwritten(const struct evidence *evidence, int argument) {
    (void)argument;
    return shows_output_read(evidence, 0);
}

static bool shows_sequence_index(const struct evidence *evidence, int argument) {
    (void)argument;
    return shows_past_small_tensor(evidence, 0);
}

/* Does the property hold for every wrong element of the case's first wrong output? */
static bool all_elements(const struct evidence *evidence, const struct evidence_case *shown,
                         bool (*holds)(const struct evidence_case *, int t, size_t i)) {
    int t = transformer_first_wrong(evidence, shown);
    for (size_t i = 0, end = op_elements(evidence->op, t, &shown->test.sizes); i < end; i++) {
        if (evidence_is_wrong(evidence, shown, t, i) && !holds(shown, t, i)) { return false; }
    }
    return true;
}

static bool is_anothers(const struct evidence_case *shown, int t, size_t i) {
    return shown->expected[t][i] == (double)shown->given[t][i];
}

static bool anothers_alone(const struct evidence *evidence, const struct evidence_case *shown) {
    return op_shape_is(evidence->op, transformer_first_wrong(evidence, shown), "B, H, S, D") &&
           all_elements(evidence, shown, is_anothers);
}

static bool shows_cache_overwritten(const struct evidence *evidence, int argument) {
    (void)argument;
    return !shows_untouched(evidence, 0) && evidence_all_wrong(evidence, anothers_alone);
}

static bool untouched_alone(const struct evidence *evidence, const struct evidence_case *shown) {
    return evidence->op->tensor[transformer_first_wrong(evidence, shown)].role == ROLE_OUT &&
           all_elements(evidence, shown, evidence_untouched);
}

static bool shows_model_untouched(const struct evidence *evidence, int argument) {
    (void)argument;
    return !shows_untouched(evidence, 0) && evidence_all_wrong(evidence, untouched_alone);
}

static bool shows_model_repeated(const struct evidence *evidence, int argument) {
    (void)argument;
    return !shows_untouched(evidence, 0) && shows_only_repeated(evidence, 0);
}

static bool shows_model_values(const struct evidence *evidence, int argument) {
    return !shows_untouched(evidence, 0) && shows_only_values(evidence, argument);
}

/* Output 0 is right for sequence 0, and wrong for other sequences. Each sequence is a B-th of it. */
static bool only_first_right(const struct evidence *evidence, const struct evidence_case *shown) {
    size_t count = op_elements(evidence->op, 0, &shown->test.sizes), B = (size_t)shown->test.sizes.B;
    if (B < 2 || !shown->wrong[0]) { return false; }
    for (size_t i = 0; i < count / B; i++) {
        if (evidence_is_wrong(evidence, shown, 0, i)) { return false; }
    }
    return true;
}

/* An index without b is wrong in every call with several sequences, whatever their values; of two, the second may have a single
 * key. */
static bool shows_model_first_sequence(const struct evidence *evidence, int argument) {
    bool by_sequence = op_shape_is(evidence->op, 0, "B, H, S, D") || op_shape_is(evidence->op, 0, "N, C");
    int wrong = 0, right = 0;
    (void)argument;
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        bool several = shown->test.sizes.B > 2 && shown->test.sizes.N > 0;
        wrong += evidence_case_is_wrong(shown);
        right += several && shown->failure.kind == FAILURE_NONE && !shown->test.refused;
    }
    return wrong > 1 && right == 0 && !shows_untouched(evidence, 0) && by_sequence &&
           evidence_all_wrong(evidence, only_first_right);
}

/* ---- the records ---- */

const struct op_mistake transformer_mistakes_reported[] = {
    {.id = "part-not-started",
     .cause = "a function returns cudaErrorNotSupported, the skeleton's \"not started\": write it, or remove that line",
     .hint = 1,
     .kernel = "block_forward/attention_not_started",
     .predicate = shows_part_not_started,
     .stage = MISTAKE_REPORTED},
    {.id = "product-refused",
     .cause = "cuBLAS refused a product's arguments: check the sizes, the leading dimensions and the operands' types",
     .hint = 2,
     .kernel = "attention_forward/leading_dimension",
     .predicate = shows_product_refused,
     .stage = MISTAKE_REPORTED},
    {.id = "sequence-index",
     .cause = "positions or lengths has a wrong index: it has one entry per sequence, so use b, not h or the row",
     .hint = 3,
     .kernel = "decode_attention/heads_and_sequences",
     .predicate = shows_sequence_index,
     .stage = MISTAKE_REPORTED},
    {.id = "product-reads-unwritten",
     .cause =
         "a product reads uninitialised memory: check the leading dimension, the stride between matrices, and beta (0)",
     .hint = 2,
     .kernel = "attention_forward/value_stride",
     .predicate = shows_product_unwritten,
     .stage = MISTAKE_REPORTED},
    {.id = "wiring-reads-unwritten",
     .cause = "uninitialised memory is read: the cache past the last key, or scratch that is not written yet",
     .hint = 2,
     .kernel = "attention_forward/tile_past_the_keys",
     .predicate = shows_model_unwritten,
     .stage = MISTAKE_REPORTED},
    {.id = NULL},
};

/* The place to check, if no computed mistake agrees. */
const struct op_mistake transformer_mistakes_shown[] = {
    {.id = "cache-past-position",
     .fact = "only calls with NaN in the cache past the position fail: those positions must not be read, since 0 * NaN "
             "is NaN",
     .of_calls = true,
     .hint = 2,
     .kernel = "decode_attention/reads_behind",
     .predicate = shows_model_values,
     .argument = VALUES_MASKED_NAN,
     .stage = MISTAKE_PLACED},
    {.id = "result-cached", .predicate = shows_model_repeated, .stage = MISTAKE_PLACED},
    {.id = "wiring-first-sequence",
     .fact = "only the first sequence is right: does every index include the sequence b?",
     .hint = 3,
     .kernel = "decode_attention/query_of_first",
     .predicate = shows_model_first_sequence,
     .stage = MISTAKE_PLACED},
    {.id = "cache-overwritten",
     .fact = "other positions of the cache are overwritten: prompts write 0 .. T - 1, decoding writes positions[b]",
     .hint = 2,
     .kernel = "attention_forward/cache_cleared",
     .predicate = shows_cache_overwritten,
     .stage = MISTAKE_PLACED},
    {.id = "output-partly-untouched", .predicate = shows_model_untouched, .stage = MISTAKE_PLACED},
    {.id = "wiring-keys-and-values",
     .fact =
         "the keys or values in the cache are wrong: check the split of qkv, their places, and what is computed before",
     .hint = 2,
     .kernel = "attention_forward/keys_doubled",
     .predicate = shows_tensor,
     .argument = FIRST_CACHE,
     .stage = MISTAKE_PLACED},
    {.id = "attention-no-max",
     .fact = "only calls with large queries and keys are wrong: is the largest score subtracted before exp?",
     .of_calls = true,
     .hint = 2,
     .kernel = "decode_attention/no_max",
     .predicate = shows_model_values,
     .argument = VALUES_SHARP,
     .stage = MISTAKE_PLACED},
    {.id = "wiring-attention",
     .fact = "the keys and values in the cache are right in every call, the attention's output is wrong",
     .hint = 2,
     .kernel = "attention_forward/head_of_token_before",
     .predicate = shows_tensor,
     .argument = FIRST_OUT,
     .stage = MISTAKE_PLACED},
    {.id = "wiring-residual",
     .fact = "the keys and values in the cache are right, the residual is wrong: check attention, its projection and "
             "the second add",
     .hint = 2,
     .kernel = "block_forward/projection_of_normalised",
     .predicate = shows_tensor,
     .argument = FIRST_RESIDUAL,
     .stage = MISTAKE_PLACED},
    {.id = "wiring-mlp",
     .fact = "the residual is right in every call, the branch is wrong: check LayerNorm 2 and the MLP",
     .hint = 2,
     .kernel = "block_forward/gelu_twice",
     .predicate = shows_tensor,
     .argument = FIRST_BRANCH,
     .stage = MISTAKE_PLACED},
    {.id = "wiring-model",
     .fact = "the hidden states are wrong: mark the block alone first, then check which layer's weights and cache each "
             "block uses",
     .hint = 2,
     .kernel = "gpt2_forward/gelu_twice_in_layer_1",
     .predicate = shows_tensor,
     .argument = FIRST_HIDDEN,
     .stage = MISTAKE_PLACED},
    {.id = NULL},
};
