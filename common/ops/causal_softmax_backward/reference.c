/* causal_softmax_backward in float64, and its known mistakes. */
#include <math.h>

#include "ops/causal_softmax_forward/causal.h"
#include "ops/predicates.h"
#include "ops/softmax_backward/softmax_backward.h"

static void compute(const struct op_call *call, int variant) {
    (void)variant;
    const float *dout = call_given(call, "dout"), *out = call_given(call, "out"),
                *lengths = call_given(call, "lengths");
    double *dx = call_expected(call, "dx"), *condition = call_condition(call, "dx");
    size_t T = (size_t)call->sizes->C;
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) {
        int row = call->rows ? call->rows[n] : (int)n, keys = inputs_keys(call->sizes, lengths, row);
        causal_masked_part(call, "dx", n, row, keys);
        softmax_backward_row(dout + n * T, out + n * T, keys, call->sizes->scale, dx + n * T, condition + n * T);
    }
}

/* ---- with one mistake ---- */

enum {
    NO_SUM = CAUSAL_OWN,
    SUM_OF_DOUT,
    NO_OUT,
    ADDED,
    SQUARED, /* only the Jacobian's diagonal */
};

static void mistaken_row(const struct causal_row *row, const float *dout, const float *out, const float *before,
                         double *dx) {
    double sum = 0.0;
    for (int j = 0; j < row->T; j++) {
        if (!causal_allows(row, j)) { continue; }
        double factor = row->variant == SUM_OF_DOUT ? 1.0 : out[j];
        sum += factor * dout[j];
    }
    if (row->variant == NO_SUM) { sum = 0.0; }
    for (int j = 0; j < row->T; j++) {
        double factor = row->variant == NO_OUT ? 1.0 : out[j];
        if (row->variant == SQUARED) { factor *= 1.0 - out[j]; }
        double inner = row->variant == SQUARED ? dout[j] : dout[j] - sum;
        if (row->variant == ADDED) { inner = dout[j] + sum; }
        if (causal_allows(row, j)) {
            dx[j] = row->scale * factor * inner;
        } else {
            causal_write_masked(row, before, j, 0.0, dx);
        }
    }
}

static void mistaken(const struct op_call *call, int variant) {
    const float *dout = call_given(call, "dout"), *out = call_given(call, "out"),
                *lengths = call_given(call, "lengths");
    const float *before = call_given(call, "dx");
    double *dx = call_expected(call, "dx");
    size_t T = (size_t)call->sizes->C;
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) {
        struct causal_row row = causal_row_of(variant, call->sizes, lengths, (int)n);
        mistaken_row(&row, dout + n * T, out + n * T, before + n * T, dx + n * T);
    }
}

static const struct op_mistake mistakes[] = {
    {.id = "causal-mask-strict", .compute = mistaken, .variant = {CAUSAL_STRICT}},
    {.id = "causal-mask-transposed", .compute = mistaken, .variant = {CAUSAL_TRANSPOSED}},
    {.id = "causal-scale-missing", .compute = mistaken, .variant = {CAUSAL_NO_SCALE}},
    {.id = "causal-scale-twice", .compute = mistaken, .variant = {CAUSAL_SCALE_TWICE}},
    {.id = "causal-scale-divided", .compute = mistaken, .variant = {CAUSAL_SCALE_DIVIDED}},
    {.id = "causal-queries-cut", .compute = mistaken, .variant = {CAUSAL_QUERIES_CUT}},
    {.id = "softmax-backward-no-sum",
     .cause = "the sum of out * dout is not subtracted from dout",
     .hint = 1,
     .kernel = "causal_softmax_backward/no_sum",
     .compute = mistaken,
     .variant = {NO_SUM}},
    {.id = "softmax-backward-sum-of-dout",
     .cause = "the sum is taken over dout alone: it is the sum of out * dout",
     .hint = 2,
     .kernel = "causal_softmax_backward/sum_of_dout",
     .compute = mistaken,
     .variant = {SUM_OF_DOUT}},
    {.id = "softmax-backward-no-out",
     .cause = "dout - sum is not multiplied by out",
     .hint = 2,
     .kernel = "causal_softmax_backward/no_out",
     .compute = mistaken,
     .variant = {NO_OUT}},
    {.id = "softmax-backward-added",
     .cause = "the sum is added to dout: subtract it",
     .hint = 3,
     .kernel = "causal_softmax_backward/added",
     .compute = mistaken,
     .variant = {ADDED}},
    {.id = "softmax-backward-diagonal",
     .cause = "only the diagonal of the derivative, out * (1 - out), is used: the sum over the row is missing",
     .hint = 1,
     .kernel = "causal_softmax_backward/diagonal",
     .compute = mistaken,
     .variant = {SQUARED}},
    {.id = NULL},
};

const struct op_reference op_reference_causal_softmax_backward = {
    .compute = compute,
    .complete = softmax_complete,
    .mistakes = {mistakes, causal_mistakes_shown},
};
