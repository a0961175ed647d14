/* reference: against closed forms, invariants and finite differences in float64. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/inputs.h"
#include "common/ops/reference.h"

TestSuite(reference, .timeout = 60);

enum { N = 4, C = 37, COUNT = N * C };

static const struct op_sizes sizes = {.N = N, .C = C, .eps = 1e-5f};

static void softmax(const float *x, int rows, int columns, double *out, double *condition) {
    const float *tensor[OP_MAX_TENSORS] = {NULL, x};
    double *expected[OP_MAX_TENSORS] = {out}, *conditions[OP_MAX_TENSORS] = {condition};
    struct op_sizes shape = {.N = rows, .C = columns};
    reference_compute(op_find("softmax_forward"), &shape, tensor, expected, conditions);
}

static void random_row(float *x, int count, uint32_t seed) {
    for (int i = 0; i < count; i++) {
        seed = seed * 1103515245u + 12345u;
        x[i] = (float)((seed >> 8) & 0xffff) / 16384.0f - 2.0f;
    }
}

Test(reference, softmax_of_known_rows) {
    const float x[] = {0.0f, logf(3.0f), -INFINITY, 5.0f, 5.0f, 5.0f};
    double out[6], condition[6];
    softmax(x, 2, 3, out, condition);
    cr_assert(fabs(out[0] - 0.25) < 1e-7);
    cr_assert(fabs(out[1] - 0.75) < 1e-7);
    cr_assert_eq(out[2], 0.0);
    cr_assert_eq(condition[2], 0.0, "a masked entry is exact");
    for (int i = 3; i < 6; i++) { cr_assert(fabs(out[i] - 1.0 / 3.0) < 1e-15); }
}

Test(reference, softmax_rows_sum_to_one_and_shift_changes_nothing) {
    float x[COUNT], shifted[COUNT];
    double a[COUNT], b[COUNT], condition[COUNT];
    random_row(x, COUNT, 1);
    for (int i = 0; i < COUNT; i++) { shifted[i] = x[i] + 64.0f; } /* exact: multiples of 2^-14 */
    softmax(x, N, C, a, condition);
    softmax(shifted, N, C, b, condition);
    for (int n = 0; n < N; n++) {
        double sum = 0.0;
        for (int c = 0; c < C; c++) { sum += a[n * C + c]; }
        cr_assert(fabs(sum - 1.0) < 1e-14);
    }
    for (int i = 0; i < COUNT; i++) { cr_assert(fabs(a[i] - b[i]) <= 1e-15); }
}

Test(reference, softmax_specials_stay_in_their_row) {
    const float special[] = {INFINITY, NAN, -INFINITY};
    for (int k = 0; k < 3; k++) {
        float x[3 * C];
        double out[3 * C], condition[3 * C];
        random_row(x, 3 * C, 2);
        for (int c = 0; c < C; c++) {
            if (k == 2 || c == 7) { x[C + c] = special[k]; }
        }
        softmax(x, 3, C, out, condition);
        for (int i = 0; i < 3 * C; i++) {
            cr_assert_eq(isnan(out[i]) != 0, i / C == 1, "special %d, element %d", k, i);
        }
    }
}

/* ---- LayerNorm ---- */

struct layernorm {
    float x[COUNT], weight[C], bias[C];
    double out[COUNT], mean[N], rstd[N];
};

static void layernorm(struct layernorm *l) {
    static double conditions[3][COUNT];
    const float *tensor[OP_MAX_TENSORS] = {NULL, NULL, NULL, l->x, l->weight, l->bias};
    double *expected[OP_MAX_TENSORS] = {l->out, l->mean, l->rstd};
    double *condition[OP_MAX_TENSORS] = {conditions[0], conditions[1], conditions[2]};
    reference_compute(op_find("layernorm_forward"), &sizes, tensor, expected, condition);
}

static void fill_layernorm(struct layernorm *l) {
    random_row(l->x, COUNT, 3);
    random_row(l->weight, C, 4);
    random_row(l->bias, C, 5);
}

Test(reference, layernorm_rows_have_mean_0_and_variance_1) {
    struct layernorm l;
    fill_layernorm(&l);
    for (int c = 0; c < C; c++) { l.weight[c] = 1.0f, l.bias[c] = 0.0f; }
    layernorm(&l);
    for (int n = 0; n < N; n++) {
        double sum = 0.0, squares = 0.0, variance = 1.0 / (l.rstd[n] * l.rstd[n]) - sizes.eps;
        for (int c = 0; c < C; c++) { sum += l.out[n * C + c], squares += l.out[n * C + c] * l.out[n * C + c]; }
        cr_assert(fabs(sum / C) < 1e-13);
        cr_assert(fabs(squares / C - variance / (variance + sizes.eps)) < 1e-12);
    }
}

Test(reference, layernorm_of_a_known_row) {
    struct layernorm l;
    fill_layernorm(&l);
    for (int c = 0; c < C; c++) { l.x[c] = c < C / 2 ? -1.0f : 1.0f; } /* C is odd: one 1 more */
    layernorm(&l);
    double mean = 1.0 / C, rstd = 1.0 / sqrt(1.0 - mean * mean + (double)sizes.eps);
    cr_assert(fabs(l.mean[0] - mean) < 1e-15);
    cr_assert(fabs(l.rstd[0] - rstd) < 1e-14);
    cr_assert(fabs(l.out[3] - ((-1.0 - mean) * rstd * l.weight[3] + l.bias[3])) < 1e-13);
}

/* ---- gradients: the derivative of L = sum dout * out by central differences. Everything in float64 through the forward
 * formula, since the reference takes floats: the steps must not be rounded. ---- */

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

Test(reference, layernorm_gradients_agree_with_finite_differences) {
    struct layernorm l;
    float dout[COUNT], mean[N], rstd[N], start[C] = {0};
    double x[COUNT], weight[C], bias[C], dinp[COUNT], dweight[C], dbias[C], conditions[3][COUNT];
    fill_layernorm(&l);
    random_row(dout, COUNT, 6);
    layernorm(&l);
    for (int n = 0; n < N; n++) { mean[n] = (float)l.mean[n], rstd[n] = (float)l.rstd[n]; }
    for (int i = 0; i < COUNT; i++) { x[i] = l.x[i]; }
    for (int c = 0; c < C; c++) { weight[c] = l.weight[c], bias[c] = l.bias[c], start[c] = 0.5f; }
    const float *tensor[OP_MAX_TENSORS] = {NULL, start, start, dout, l.x, l.weight, mean, rstd};
    double *expected[OP_MAX_TENSORS] = {dinp, dweight, dbias};
    double *condition[OP_MAX_TENSORS] = {conditions[0], conditions[1], conditions[2]};
    reference_compute(op_find("layernorm_backward"), &sizes, tensor, expected, condition);
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
}

/* ---- the small ops, the tolerance ---- */

Test(reference, residual_and_bias_are_exact) {
    const float x[] = {1.0f, 16777216.0f, -0.5f, 1e-40f}, y[] = {0.25f, 1.0f, 0.5f, 1e-40f};
    const float *tensor[OP_MAX_TENSORS] = {NULL, x, y};
    double out[4], condition[4], *expected[OP_MAX_TENSORS] = {out}, *conditions[OP_MAX_TENSORS] = {condition};
    struct op_sizes shape = {.N = 1, .C = 4};
    const char *names[] = {"residual_forward", "bias_add"};
    for (int k = 0; k < 2; k++) {
        reference_compute(op_find(names[k]), &shape, tensor, expected, conditions);
        for (int i = 0; i < 4; i++) {
            cr_assert_eq(condition[i], 0.0);
            cr_assert(reference_accepts(TYPE_F32, out[i], 0.0, x[i] + y[i]));
            cr_assert(!reference_accepts(TYPE_F32, out[i], 0.0, nextafterf(x[i] + y[i], INFINITY)));
        }
    }
}

Test(reference, row_sums) {
    const float x[] = {1.0f, -2.0f, 3.0f, 4.0f, 5.0f, -INFINITY}, weight[] = {2.0f, 0.5f, -1.0f};
    const float *tensor[OP_MAX_TENSORS] = {NULL, x, weight};
    double out[2], condition[2], *expected[OP_MAX_TENSORS] = {out}, *conditions[OP_MAX_TENSORS] = {condition};
    struct op_sizes shape = {.N = 2, .C = 3};
    reference_compute(op_find("row_sum"), &shape, tensor, expected, conditions);
    cr_assert_eq(out[0], 2.0);
    cr_assert_eq(out[1], -INFINITY);
    reference_compute(op_find("row_sum_squares"), &shape, tensor, expected, conditions);
    cr_assert_eq(out[0], 14.0);
    reference_compute(op_find("row_dot"), &shape, tensor, expected, conditions);
    cr_assert_eq(out[0], -2.0);
    cr_assert_eq(out[1], INFINITY);
}

Test(reference, every_op_has_one) {
    for (int k = 0; ops[k]; k++) {
        const struct op *op = ops[k];
        float *tensor[OP_MAX_TENSORS] = {0};
        double *expected[OP_MAX_TENSORS] = {0}, *condition[OP_MAX_TENSORS] = {0};
        struct op_sizes shape = sizes;
        if (op_is_of_model(op)) {
            shape = op_model_sizes(TYPE_F32, 3, 4, 2, 5, 6);
            shape.V = 9;
        }
        op_sizes_complete(op, &shape);
        for (int t = 0; t < op_tensor_count(op); t++) {
            size_t count = op_elements(op, t, &shape) + COUNT;
            tensor[t] = calloc(count, sizeof(float));
            expected[t] = calloc(count, sizeof(double));
            condition[t] = calloc(count, sizeof(double));
        }
        inputs_fill(op, &shape, VALUES_NORMAL, 1, tensor);
        reference_compute(op, &shape, (const float *const *)tensor, expected, condition);
        for (int t = 0; t < op_tensor_count(op); t++) {
            for (size_t i = 0; op_is_output(op, t) && i < op_elements(op, t, &shape); i++) {
                cr_assert(isfinite(expected[t][i]) && condition[t][i] >= 0.0, "%s: tensor %d", op->name, t);
            }
            free(tensor[t]);
            free(expected[t]);
            free(condition[t]);
        }
    }
}

Test(reference, nan_never_passes_a_tolerance) {
    cr_assert(!reference_accepts(TYPE_F32, 1.0, 1e9, NAN));
    cr_assert(!reference_accepts(TYPE_F32, NAN, 1e9, 1.0f));
    cr_assert(reference_accepts(TYPE_F32, NAN, 0.0, NAN));
    cr_assert(reference_accepts(TYPE_F32, NAN, 0.0, -NAN));
    cr_assert(reference_accepts(TYPE_F32, INFINITY, 1.0, INFINITY));
    cr_assert(!reference_accepts(TYPE_F32, INFINITY, 1.0, -INFINITY));
    cr_assert(!reference_accepts(TYPE_F32, 1.0, 1.0, INFINITY));
    cr_assert(reference_accepts(TYPE_F32, 5.0, INFINITY, NAN), "an open element is not judged");
    cr_assert(reference_accepts(TYPE_F32, 1.0, 1.0, nextafterf(1.0f, 2.0f)));
    cr_assert(!reference_accepts(TYPE_F32, 1.0, 1.0, 1.0f + 0x1p-20f));
}
