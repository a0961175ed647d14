/* row_sum in float64; row_dot and row_sum_squares use the same sums. */
#include "row_sum.h"

#include <float.h>
#include <math.h>

void row_sums(const struct op_call *call, const float *factor, size_t stride) {
    const float *x = call_given(call, "x");
    double *out = call_expected(call, "out"), *condition = call_condition(call, "out");
    int C = call->sizes->C;
    for (int n = 0; n < call->sizes->N; n++, x += C) {
        double sum = 0.0, size = 0.0;
        for (int c = 0; c < C; c++) {
            double term = factor ? (double)x[c] * factor[(size_t)n * stride + (size_t)c] : x[c];
            sum += term;
            size += fabs(term);
        }
        out[n] = sum;
        if (condition) { condition[n] = isfinite(sum) ? reference_growth(C) * size + DBL_MIN : 0.0; }
    }
}

void row_sums_mistaken(const struct op_call *call, const float *factor, size_t stride, int variant) {
    const float *x = call_given(call, "x");
    double *out = call_expected(call, "out");
    int C = call->sizes->C, end = variant == ROW_WITHOUT_LAST ? C - 1 : C;
    for (int n = 0; n < call->sizes->N; n++, x += C) {
        double sum = 0.0, lanes[LANES_OF_WARP] = {0};
        for (int c = variant == ROW_WITHOUT_FIRST; c < end; c += variant == ROW_OF_EVEN ? 2 : 1) {
            double term = factor ? (double)x[c] * factor[(size_t)n * stride + (size_t)c] : x[c];
            sum += term;
            lanes[c % LANES_OF_WARP] += term;
        }
        if (variant >= LANES) { lanes_reduce(lanes_mistake(variant), false, lanes); }
        out[n] = variant >= LANES ? lanes[0] : sum;
    }
}

void row_sums_plain(const struct op_call *call, int variant) {
    (void)variant;
    row_sums(call, NULL, 0);
}

static void mistaken(const struct op_call *call, int variant) {
    row_sums_mistaken(call, NULL, 0, variant);
}

static const struct op_mistake mistakes[] = {
    ROW_SUM_MISTAKES(mistaken),
    {.id = NULL},
};

const struct op_reference op_reference_row_sum = {.compute = row_sums_plain, .mistakes = {mistakes}};
