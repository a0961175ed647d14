/* bias_gelu_backward in float64. */
#include <float.h>
#include <math.h>

#include "ops/reference.h"

static const double k = 0.79788456080286535588, cubic = 0.044715; /* k = sqrt(2 / pi) */

/* tanh is 1 in float for arguments above 9.1, and then nothing cancels. */
static const double tanh_is_one = 9.5;

static void compute(const struct op_call *call, int variant) {
    const float *given_dout = call_given(call, "dout"), *given_x = call_given(call, "x");
    const float *given_bias = call_given(call, "bias"), *before = call_given(call, "dbias");
    double *dx = call_expected(call, "dx"), *dx_condition = call_condition(call, "dx");
    double *dbias = call_expected(call, "dbias"), *dbias_condition = call_condition(call, "dbias");
    size_t C = (size_t)call->sizes->C;
    double growth = reference_growth(call->sizes->N);
    (void)variant;
    for (size_t c = 0; c < C; c++) {
        dbias[c] = before[c];
        dbias_condition[c] = growth * fabs((double)before[c]) + DBL_MIN;
    }
    for (size_t i = 0; i < (size_t)call->sizes->N * C; i++) {
        double dout = given_dout[i], x = given_x[i], bias = given_bias[i % C], u = x + bias;
        double inner = k * (u + cubic * u * u * u), t = tanh(inner);
        double slope = 0.5 * u * k * (1.0 + 3.0 * cubic * u * u), gradient = 0.5 * (1.0 + t) + slope * (1.0 - t * t);
        /* 1 - t^2 has an absolute error, which slope multiplies. The error of u is multiplied by the second derivative,
         * which decays like a bell curve. */
        double cancelled = fabs(inner) < tanh_is_one ? 2.0 * fabs(slope) : 0.0;
        double size = 4.0 + cancelled + fabs(slope) * (1.0 - t * t) * (4.0 + 2.0 * fabs(inner)) +
                      1.2 * exp(-0.5 * fabs(u)) * (fabs(x) + fabs(bias));
        dx[i] = dout * gradient;
        dx_condition[i] = isnan(dx[i]) ? 0.0 : fabs(dout) * size + DBL_MIN;
        dbias[i % C] += dx[i];
        dbias_condition[i % C] += growth * fabs(dx[i]) + fabs(dout) * size;
    }
}

const struct op_reference op_reference_bias_gelu_backward = {.compute = compute};
