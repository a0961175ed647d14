/* bias_add in float64, and its known mistakes. */
#include <float.h>
#include <math.h>

#include "ops/reference.h"

static void compute(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x"), *bias = call_given(call, "bias");
    double *out = call_expected(call, "out"), *condition = call_condition(call, "out");
    size_t C = (size_t)call->sizes->C;
    (void)variant;
    for (size_t i = 0; i < (size_t)call->sizes->N * C; i++) {
        reference_exact(out, condition, i, (double)x[i] + bias[i % C]);
    }
}

enum { BIAS_BY_ROW = 1, BIAS_MISSING };

static void mistaken(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x"), *bias = call_given(call, "bias");
    double *out = call_expected(call, "out");
    size_t C = (size_t)call->sizes->C;
    for (size_t i = 0; i < (size_t)call->sizes->N * C; i++) {
        out[i] = variant == BIAS_BY_ROW ? x[i] + bias[i / C % C] : x[i];
    }
}

static const struct op_mistake mistakes[] = {
    {.id = "bias-by-row",
     .cause = "the bias is indexed by the row: it has one entry per column",
     .hint = 3,
     .kernel = "bias_add/by_row",
     .compute = mistaken,
     .variant = {BIAS_BY_ROW}},
    {.id = "bias-missing",
     .cause = "the bias is not added",
     .hint = 3,
     .kernel = "bias_add/missing",
     .compute = mistaken,
     .variant = {BIAS_MISSING}},
    {.id = NULL},
};

const struct op_reference op_reference_bias_add = {.compute = compute, .mistakes = {mistakes}};
