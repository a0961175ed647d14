/* layernorm_backward: a known row, finite differences of the forward reference and of the formula, and the floor. */
#include "common/ops/op_test.h"

TestSuite(layernorm_backward, .timeout = 60);

Test(layernorm_backward, known_row) {
    struct computed c = fill("layernorm_backward", (struct op_sizes){.N = 1, .C = 3}, 1);
    give(&c, "dout", 1, 0, 0);
    give(&c, "weight", 3, 1, 1);
    give(&c, "x", -1, 0, 1);
    give(&c, "mean", 0);
    give(&c, "rstd", 2); /* xhat = -2, 0, 2; the means of g and g * xhat are 1 and -2 */
    give(&c, "dweight", 0.5f, 0.5f, 0.5f);
    give(&c, "dbias", 1, 1, 1);
    compute(&c);
    expect(&c, "dinp", 0, -4, -2, 6);
    expect(&c, "dweight", 0, -1.5, 0.5, 0.5);
    expect(&c, "dbias", 0, 2, 1, 1);
    drop(&c);
}

Test(layernorm_backward, agrees_with_finite_differences) {
    expect_gradients(&(struct gradient_rule){"layernorm_backward",
                                             "layernorm_forward",
                                             {{"dout", "out"}},
                                             {{"dinp", "x"}, {"dweight", "weight"}, {"dbias", "bias"}}});
}

/* ---- the derivative of L = sum dout * out by central differences, of the formula in float64: its steps are small, and the
 * forward reference takes floats ---- */

enum { N = 4, C = 37, COUNT = N * C };

static const struct op_sizes sizes = {.N = N, .C = C, .eps = 1e-5f};

static double loss(const double *x, const double *weight, const double *bias, const float *dout) {
    double sum = 0.0;
    for (int n = 0; n < N; n++) {
        double mean = 0.0, variance = 0.0;
        for (int c = 0; c < C; c++) { mean += x[n * C + c] / C; }
        for (int c = 0; c < C; c++) { variance += (x[n * C + c] - mean) * (x[n * C + c] - mean) / C; }
        for (int c = 0; c < C; c++) {
            double normal = (x[n * C + c] - mean) / sqrt(variance + (double)sizes.eps);
            sum += dout[n * C + c] * (normal * weight[c] + bias[c]);
        }
    }
    return sum;
}

static double derivative(double *variable, const double *x, const double *weight, const double *bias,
                         const float *dout) {
    const double step = 1e-5;
    double at = *variable;
    *variable = at + step;
    double above = loss(x, weight, bias, dout);
    *variable = at - step;
    double below = loss(x, weight, bias, dout);
    *variable = at;
    return (above - below) / (2.0 * step);
}

Test(layernorm_backward, agrees_with_differences_of_the_formula) {
    struct computed l = fill("layernorm_forward", sizes, 3), b = fill("layernorm_backward", sizes, 6);
    double x[COUNT], weight[C], bias[C];
    const float *dout = input(&b, "dout");
    compute(&l);
    for (int n = 0; n < N; n++) {
        tensor(&b, "mean")[n] = (float)output(&l, "mean")[n];
        tensor(&b, "rstd")[n] = (float)output(&l, "rstd")[n];
    }
    give_from(&b, "x", &l, "x");
    give_from(&b, "weight", &l, "weight");
    give_all(&b, "dweight", 0.5f);
    give_all(&b, "dbias", 0.5f);
    for (int i = 0; i < COUNT; i++) { x[i] = input(&l, "x")[i]; }
    for (int c = 0; c < C; c++) { weight[c] = input(&l, "weight")[c], bias[c] = input(&l, "bias")[c]; }
    compute(&b);
    const double *dinp = output(&b, "dinp"), *dweight = output(&b, "dweight"), *dbias = output(&b, "dbias");
    for (int i = 0; i < COUNT; i++) {
        double numeric = derivative(&x[i], x, weight, bias, dout);
        cr_assert(fabs(dinp[i] - numeric) < 2e-6, "dinp[%d]: %.9g, numerically %.9g", i, dinp[i], numeric);
    }
    for (int c = 0; c < C; c++) {
        double by_weight = derivative(&weight[c], x, weight, bias, dout),
               by_bias = derivative(&bias[c], x, weight, bias, dout);
        cr_assert(fabs(dweight[c] - 0.5 - by_weight) < 2e-6, "dweight[%d]: %.9g, numerically %.9g", c, dweight[c],
                  by_weight);
        cr_assert(fabs(dbias[c] - 0.5 - by_bias) < 2e-6, "dbias[%d]: %.9g, numerically %.9g", c, dbias[c], by_bias);
    }
    drop(&l);
    drop(&b);
}

Test(layernorm_backward, floor_is_two_tensors_read_and_one_written) {
    expect_floor("layernorm_backward", floor_sizes, 3 * floor_matrix + FLOOR_C, 2 * FLOOR_C + 2 * FLOOR_N);
}
