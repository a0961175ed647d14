/* row_dot in float64, and its known mistakes. */
#include <float.h>
#include <math.h>

#include "ops/reference.h"

/* out (N) = the row sums of x * weight. */
static void compute(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x"), *weight = call_given(call, "weight");
    double *out = call_expected(call, "out"), *condition = call_condition(call, "out");
    int C = call->sizes->C;
    (void)variant;
    for (int n = 0; n < call->sizes->N; n++, x += C) {
        double sum = 0.0, size = 0.0;
        for (int c = 0; c < C; c++) {
            double term = (double)x[c] * weight[c];
            sum += term;
            size += fabs(term);
        }
        out[n] = sum;
        condition[n] = isfinite(sum) ? reference_growth(C) * size + DBL_MIN : 0.0;
    }
}

enum { SUM_NOT_WEIGHTED = 1 };

/* The sum without weights or squares. */
static void mistaken(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x");
    double *out = call_expected(call, "out");
    (void)variant;
    for (int n = 0; n < call->sizes->N; n++, x += call->sizes->C) {
        out[n] = 0.0;
        for (int c = 0; c < call->sizes->C; c++) { out[n] += x[c]; }
    }
}

static const struct op_mistake mistakes[] = {
    {.id = "sum-not-weighted",
     .cause = "the elements are summed without their weights",
     .hint = 3,
     .kernel = "row_dot/not_weighted",
     .compute = mistaken,
     .variant = {SUM_NOT_WEIGHTED}},
    {.id = NULL},
};

const struct op_reference op_reference_row_dot = {.compute = compute, .mistakes = {mistakes}};
