/* causal_softmax_forward in float64, and its known mistakes. */
#include <math.h>

#include "causal.h"
#include "ops/lanes.h"
#include "ops/predicates.h"
#include "ops/softmax_forward/softmax.h"

static void compute(const struct op_call *call, int variant) {
    (void)variant;
    const float *x = call_given(call, "x"), *lengths = call_given(call, "lengths");
    double *out = call_expected(call, "out"), *condition = call_condition(call, "out");
    size_t T = (size_t)call->sizes->C;
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) {
        int row = call->rows ? call->rows[n] : (int)n, keys = inputs_keys(call->sizes, lengths, row);
        causal_masked_part(call, "out", n, row, keys);
        if (keys == 0) { continue; }
        softmax_row(x + n * T, keys, call->sizes->scale, out + n * T, condition + n * T);
    }
}

/* The allowed elements of a row sum to 1, if there are any. */
static bool rows_sum_to_one(const struct op *op, const struct evidence_case *shown, struct failure *broken) {
    const float *lengths = shown->given[op_tensor_find(op, "lengths")];
    for (long n = 0; n < shown->test.sizes.N; n++) {
        int keys = inputs_keys(&shown->test.sizes, lengths, (int)n);
        if (!invariant_sum_is_one(op, shown, n, keys, broken)) { return false; }
    }
    return true;
}

/* ---- with one mistake ---- */

enum {
    MASK_AFTER = CAUSAL_OWN, /* softmax of the whole row, then the mask */
    MASKED_AS_ZERO,          /* masked scores are 0, so they count in the sum */
    MASKED_AS_ZERO_WRITTEN,  /* and their exponentials are written */
    MAX_OF_MASKED,
    MAX_UNSCALED, /* the maximum of x is subtracted from scale * x */
    NO_MAX,
    NOT_NORMALISED,
    SCALE_NOT_IN_SUM,
    SUM_WITHOUT_LAST,
};

static void mistaken_row(const struct causal_row *row, const float *x, const float *before, double *out) {
    bool whole = row->variant == MASK_AFTER;
    bool zeros = row->variant == MASKED_AS_ZERO || row->variant == MASKED_AS_ZERO_WRITTEN;
    double maximum = -INFINITY, sum = 0.0;
    double factor = row->variant == MAX_UNSCALED ? 1.0 : row->scale;
    int keys = 0;
    for (int j = 0; j < row->T; j++) {
        bool here = causal_allows(row, j);
        keys += here;
        double value = here || whole || row->variant == MAX_OF_MASKED ? factor * x[j] : zeros ? 0.0 : -INFINITY;
        if (value > maximum) { maximum = value; }
    }
    if (row->variant == NO_MAX) { maximum = 0.0; }
    for (int j = 0; j < row->T; j++) {
        bool here = causal_allows(row, j);
        /* in float, to overflow and underflow as a kernel does */
        if (row->variant == SUM_WITHOUT_LAST && j == keys - 1) { continue; }
        if (row->variant == SCALE_NOT_IN_SUM && here) {
            sum += expf((float)(x[j] - maximum));
            continue;
        }
        if (here || whole) { sum += expf((float)(row->scale * x[j] - maximum)); }
        if (!here && zeros) { sum += exp(-maximum); }
    }
    if (row->variant >= CAUSAL_PADDING && row->variant < CAUSAL_BY_VECTOR) {
        int vector = 1 << (row->variant - CAUSAL_PADDING);
        sum += (vector - keys % vector) % vector * expf((float)-maximum);
    }
    if (row->variant == NOT_NORMALISED) { sum = 1.0; }
    for (int j = 0; j < row->T; j++) {
        if (causal_allows(row, j)) {
            out[j] = expf((float)(row->scale * x[j] - maximum)) / sum;
        } else {
            bool filled = row->variant == MASKED_AS_ZERO_WRITTEN;
            causal_write_masked(row, before, j, filled ? exp(-maximum) / sum : 0.0, out);
        }
    }
}

/* The allowed elements are the row's first. */
static void row_by_lanes(const struct causal_row *row, const float *x, const float *before, double *out) {
    int keys = 0;
    while (keys < row->T && causal_allows(row, keys)) { keys++; }
    softmax_by_lanes(row->variant, x, keys, row->scale, out);
    for (int j = keys; j < row->T; j++) { causal_write_masked(row, before, j, 0.0, out); }
}

static void mistaken(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x"), *before = call_given(call, "out"), *lengths = call_given(call, "lengths");
    double *out = call_expected(call, "out");
    size_t T = (size_t)call->sizes->C;
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) {
        struct causal_row row = causal_row_of(variant, call->sizes, lengths, (int)n);
        (variant >= LANES ? row_by_lanes : mistaken_row)(&row, x + n * T, before + n * T, out + n * T);
    }
}

static const struct op_mistake mistakes[] = {
    {.id = "causal-mask-strict",
     .cause = "the diagonal is masked: query i attends to keys j <= i, not only j < i",
     .hint = 3,
     .kernel = "causal_softmax_forward/mask_strict",
     .compute = mistaken,
     .variant = {CAUSAL_STRICT}},
    {.id = "causal-mask-one-more",
     .cause = "query i attends to one key too many: the allowed keys are 0 .. i, which are i + 1 keys",
     .hint = 3,
     .kernel = "causal_softmax_forward/mask_one_more",
     .compute = mistaken,
     .variant = {CAUSAL_ONE_MORE}},
    {.id = "causal-mask-by-vector",
     .cause = "the mask is applied to whole vectors: compare each element's own column with the diagonal",
     .hint = 2,
     .kernel = "causal_softmax_forward/mask_by_vector",
     .compute = mistaken,
     .variant = {CAUSAL_BY_VECTOR + 1, CAUSAL_BY_VECTOR + 2, CAUSAL_BY_VECTOR + 3, CAUSAL_BY_VECTOR + 5}},
    {.id = "causal-row-not-modulo",
     .cause = "the mask uses the row's index in the whole tensor: use its index in the matrix, row % T",
     .hint = 2,
     .kernel = "causal_softmax_forward/row_not_modulo",
     .compute = mistaken,
     .variant = {CAUSAL_ROW_NOT_MODULO}},
    {.id = "causal-mask-transposed",
     .cause = "the mask is transposed: query i attends to keys j <= i, not j >= i",
     .hint = 2,
     .kernel = "causal_softmax_forward/mask_transposed",
     .compute = mistaken,
     .variant = {CAUSAL_TRANSPOSED}},
    {.id = "causal-no-mask",
     .cause = "no element is masked: query i attends to keys j <= i only",
     .hint = 1,
     .kernel = "causal_softmax_forward/no_mask",
     .compute = mistaken,
     .variant = {CAUSAL_NO_MASK}},
    {.id = "causal-scale-missing",
     .cause = "scale is not applied: multiply x by it (in the backward pass, the gradient)",
     .hint = 3,
     .kernel = "causal_softmax_forward/scale_missing",
     .compute = mistaken,
     .variant = {CAUSAL_NO_SCALE}},
    {.id = "causal-scale-twice",
     .cause = "scale is applied twice",
     .hint = 3,
     .kernel = "causal_softmax_forward/scale_twice",
     .compute = mistaken,
     .variant = {CAUSAL_SCALE_TWICE}},
    {.id = "causal-scale-divided",
     .cause = "x is divided by scale: multiply by it",
     .hint = 3,
     .kernel = "causal_softmax_forward/scale_divided",
     .compute = mistaken,
     .variant = {CAUSAL_SCALE_DIVIDED}},
    {.id = "causal-mask-after-softmax",
     .cause = "the mask is applied after the sum of the exponentials: sum the allowed keys only",
     .hint = 1,
     .kernel = "causal_softmax_forward/mask_after_softmax",
     .compute = mistaken,
     .variant = {MASK_AFTER}},
    {.id = "causal-masked-as-zero",
     .cause = "masked scores are set to 0, so exp(0 - max) is in the sum: set them to -INFINITY",
     .hint = 1,
     .kernel = "causal_softmax_forward/masked_as_zero",
     .compute = mistaken,
     .variant = {MASKED_AS_ZERO, MASKED_AS_ZERO_WRITTEN}},
    {.id = "causal-max-of-masked",
     .cause = "the maximum includes masked keys: if one of them is far larger, all allowed exponentials underflow",
     .hint = 2,
     .kernel = "causal_softmax_forward/max_of_masked",
     .compute = mistaken,
     .variant = {MAX_OF_MASKED}},
    {.id = "causal-max-unscaled",
     .cause = "the maximum of x is subtracted from scale * x: take the maximum of scale * x, or large scores underflow",
     .hint = 2,
     .kernel = "causal_softmax_forward/max_unscaled",
     .compute = mistaken,
     .variant = {MAX_UNSCALED}},
    {.id = "causal-padding-counted",
     .cause = "zeros after the last key in a row's last vector are in the sum: exp(0 - max) is not 0",
     .hint = 3,
     .kernel = "causal_softmax_forward/padding_counted",
     .compute = mistaken,
     .variant = {CAUSAL_PADDING + 2, CAUSAL_PADDING + 3}},
    {.id = "causal-lengths-ignored",
     .cause = "lengths is ignored: keys j >= lengths[b] are masked too",
     .hint = 2,
     .kernel = "causal_softmax_forward/lengths_ignored",
     .compute = mistaken,
     .variant = {CAUSAL_NO_LENGTHS}},
    {.id = "causal-queries-cut",
     .cause = "rows i >= lengths[b] are masked too: lengths mask keys only, and every query has a row",
     .hint = 2,
     .kernel = "causal_softmax_forward/queries_cut",
     .compute = mistaken,
     .variant = {CAUSAL_QUERIES_CUT}},
    {.id = "softmax-no-max", .compute = mistaken, .variant = {NO_MAX}},
    {.id = "softmax-not-normalised", .compute = mistaken, .variant = {NOT_NORMALISED}},
    {.id = "sum-bounds", .compute = mistaken, .variant = {SUM_WITHOUT_LAST}},
    {.id = "causal-scale-not-in-sum",
     .cause = "scale is not applied to the terms of the sum: sum exp(scale * x - maximum)",
     .hint = 3,
     .kernel = "causal_softmax_forward/scale_not_in_sum",
     .compute = mistaken,
     .variant = {SCALE_NOT_IN_SUM}},
    LANES_MISTAKES(mistaken),
    {.id = NULL},
};

const struct op_reference op_reference_causal_softmax_forward = {
    .compute = compute,
    .invariant = rows_sum_to_one,
    .mistakes = {mistakes, causal_mistakes_shown, softmax_mistakes_shown},
};
