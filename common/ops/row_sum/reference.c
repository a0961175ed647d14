/* row_sum in float64. */
#include <float.h>
#include <math.h>

#include "ops/reference.h"

/* out (N) = the row sums of x. */
static void compute(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x");
    double *out = call_expected(call, "out"), *condition = call_condition(call, "out");
    int C = call->sizes->C;
    (void)variant;
    for (int n = 0; n < call->sizes->N; n++, x += C) {
        double sum = 0.0, size = 0.0;
        for (int c = 0; c < C; c++) {
            double term = x[c];
            sum += term;
            size += fabs(term);
        }
        out[n] = sum;
        condition[n] = isfinite(sum) ? reference_growth(C) * size + DBL_MIN : 0.0;
    }
}

const struct op_reference op_reference_row_sum = {.compute = compute};
