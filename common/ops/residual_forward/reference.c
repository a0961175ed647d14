/* residual_forward in float64, and its known mistakes. */
#include <float.h>
#include <math.h>

#include "ops/reference.h"

static void compute(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x"), *residual = call_given(call, "residual");
    double *out = call_expected(call, "out"), *condition = call_condition(call, "out");
    (void)variant;
    for (size_t i = 0; i < (size_t)call->sizes->N * (size_t)call->sizes->C; i++) {
        /* rounding the double sum of two floats gives the correctly rounded float sum: 53 >= 2 * 24 + 2 */
        reference_exact(out, condition, i, (double)x[i] + residual[i]);
    }
}

enum {
    RESIDUAL_FIRST_ONLY = 1,
    RESIDUAL_SECOND_ONLY,
    RESIDUAL_SUBTRACTED,
    RESIDUAL_MULTIPLIED,
    RESIDUAL_TWICE,
    RESIDUAL_SECOND_TWICE
};

static void mistaken(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x"), *residual = call_given(call, "residual");
    double *out = call_expected(call, "out");
    for (size_t i = 0; i < (size_t)call->sizes->N * (size_t)call->sizes->C; i++) {
        switch (variant) {
            case RESIDUAL_FIRST_ONLY: out[i] = x[i]; break;
            case RESIDUAL_SECOND_ONLY: out[i] = residual[i]; break;
            case RESIDUAL_SUBTRACTED: out[i] = x[i] - residual[i]; break;
            case RESIDUAL_MULTIPLIED: out[i] = x[i] * residual[i]; break;
            case RESIDUAL_TWICE: out[i] = x[i] + x[i]; break;
            default: out[i] = residual[i] + residual[i]; break;
        }
    }
}

static const struct op_mistake mistakes[] = {
    {.id = "residual-one-operand",
     .cause = "out holds only one of the two inputs",
     .hint = 3,
     .kernel = "residual_forward/one_operand",
     .compute = mistaken,
     .variant = {RESIDUAL_FIRST_ONLY, RESIDUAL_SECOND_ONLY}},
    {.id = "residual-subtracted",
     .cause = "the two inputs are subtracted",
     .hint = 3,
     .kernel = "residual_forward/subtracted",
     .compute = mistaken,
     .variant = {RESIDUAL_SUBTRACTED}},
    {.id = "residual-multiplied",
     .cause = "the two inputs are multiplied",
     .hint = 3,
     .kernel = "residual_forward/multiplied",
     .compute = mistaken,
     .variant = {RESIDUAL_MULTIPLIED}},
    {.id = "residual-added-twice",
     .cause = "one of the two inputs is added to itself: out = x + residual",
     .hint = 3,
     .kernel = "residual_forward/added_twice",
     .compute = mistaken,
     .variant = {RESIDUAL_TWICE, RESIDUAL_SECOND_TWICE}},
    {.id = NULL},
};

const struct op_reference op_reference_residual_forward = {.compute = compute, .mistakes = {mistakes}};
