/* three_way_add in float64. */
#include <float.h>
#include <math.h>

#include "ops/elements.h"
#include "ops/reference.h"

static void compute(const struct op_call *call, int variant) {
    const float *a = call_given(call, "a"), *b = call_given(call, "b"), *c = call_given(call, "c");
    double *out = call_expected(call, "out"), *condition = call_condition(call, "out");
    (void)variant;
    for (size_t i = 0; i < (size_t)call->sizes->N * (size_t)call->sizes->C; i++) {
        double first = element_round(call->sizes->type, (double)a[i] + b[i]);
        reference_exact(out, condition, i, first + c[i]);
    }
}

const struct op_reference op_reference_three_way_add = {.compute = compute};
