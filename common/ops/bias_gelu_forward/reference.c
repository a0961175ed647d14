/* bias_gelu_forward in float64. */
#include <float.h>
#include <math.h>

#include "ops/reference.h"

static const double k = 0.79788456080286535588, cubic = 0.044715; /* k = sqrt(2 / pi) */

/* tanh is 1 in float for arguments above 9.1, and then nothing cancels. */
static const double tanh_is_one = 9.5;

static void compute(const struct op_call *call, int variant) {
    const float *given_x = call_given(call, "x"), *given_bias = call_given(call, "bias");
    double *expected = call_expected(call, "out"), *condition = call_condition(call, "out");
    size_t C = (size_t)call->sizes->C;
    (void)variant;
    for (size_t i = 0; i < (size_t)call->sizes->N * C; i++) {
        double x = given_x[i], bias = given_bias[i % C], u = x + bias;
        double inner = k * (u + cubic * u * u * u), out = 0.5 * u * (1.0 + tanh(inner));
        expected[i] = out;
        /* 1 + tanh cancels for negative u: an absolute error there */
        double cancelled = fabs(inner) < tanh_is_one ? 2.0 * fabs(u) : 0.0;
        condition[i] = fabs(x) + fabs(bias) + 2.0 * fabs(out) + cancelled + DBL_MIN;
        if (isnan(out)) { reference_exact(expected, condition, i, NAN); }
    }
}

const struct op_reference op_reference_bias_gelu_forward = {.compute = compute};
