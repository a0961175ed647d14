#include "reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Roundings of a sum of so many terms, in any order: they add up like a random walk. */
static double growth(long terms) {
    return 4.0 + sqrt((double)terms);
}

static void exact(double *expected, double *condition, size_t i, double value) {
    expected[i] = value;
    condition[i] = 0.0;
}

void reference_row_statistics(const float *x, int C, double eps, double *mean, double *rstd) {
    double sum = 0.0, squares = 0.0;
    for (int c = 0; c < C; c++) { sum += x[c]; }
    *mean = sum / C;
    for (int c = 0; c < C; c++) { squares += (x[c] - *mean) * (x[c] - *mean); }
    *rstd = 1.0 / sqrt(squares / C + eps);
}

static void residual_forward(const struct op_sizes *sizes, const float *const tensor[], double *const expected[],
                             double *const condition[]) {
    size_t count = (size_t)sizes->N * (size_t)sizes->C;
    for (size_t i = 0; i < count; i++) {
        /* the sum of two floats in double, rounded once more, is the float sum: 53 >= 2 * 24 + 2 */
        exact(expected[0], condition[0], i, (double)tensor[1][i] + tensor[2][i]);
    }
}

static void softmax_row(const float *x, int C, double *out, double *condition) {
    double maximum = -INFINITY, largest = 0.0, sum = 0.0;
    bool undefined = false;
    for (int c = 0; c < C; c++) {
        if (isnan(x[c]) || x[c] == INFINITY) { undefined = true; }
        if (x[c] > maximum) { maximum = x[c]; }
        if (isfinite(x[c])) { largest = fmax(largest, fabs((double)x[c])); }
    }
    if (undefined || maximum == -INFINITY) {
        for (int c = 0; c < C; c++) { exact(out, condition, (size_t)c, NAN); }
        return;
    }
    for (int c = 0; c < C; c++) { sum += exp(x[c] - maximum); }
    for (int c = 0; c < C; c++) {
        double below = maximum - x[c];
        out[c] = exp(-below) / sum;
        condition[c] = below == INFINITY ? 0.0 : out[c] * (growth(C) + 2.0 * below + largest);
        if (below != INFINITY && condition[c] < DBL_MIN) { condition[c] = DBL_MIN; } /* underflow is not a mask */
    }
}

static void softmax_forward(const struct op_sizes *sizes, const float *const tensor[], double *const expected[],
                            double *const condition[]) {
    for (int n = 0; n < sizes->N; n++) {
        size_t row = (size_t)n * (size_t)sizes->C;
        softmax_row(tensor[1] + row, sizes->C, expected[0] + row, condition[0] + row);
    }
}

static void layernorm_forward(const struct op_sizes *sizes, const float *const tensor[], double *const expected[],
                              double *const condition[]) {
    const float *weight = tensor[4], *bias = tensor[5];
    int C = sizes->C;
    for (int n = 0; n < sizes->N; n++) {
        size_t row = (size_t)n * (size_t)C;
        const float *x = tensor[3] + row;
        double *out = expected[0] + row, *out_condition = condition[0] + row;
        double mean, rstd, magnitude = 0.0;
        reference_row_statistics(x, C, sizes->eps, &mean, &rstd);
        if (!isfinite(mean) || !isfinite(rstd)) { /* the contract asks for NaN in out and leaves mean and rstd open */
            for (int c = 0; c < C; c++) { exact(out, out_condition, (size_t)c, NAN); }
            expected[1][n] = expected[2][n] = NAN;
            condition[1][n] = condition[2][n] = INFINITY;
            continue;
        }
        for (int c = 0; c < C; c++) { magnitude += fabs((double)x[c]); }
        magnitude /= C;
        double mean_error = growth(C) * magnitude, spread = mean_error * rstd;
        /* Welford's one pass is right too and loses |mean| / deviation; a mean off by d adds d^2 to the variance */
        double rstd_error = growth(C) * (1.0 + magnitude * rstd) + 4.0 * 0x1p-24 * spread * spread;
        expected[1][n] = mean;
        condition[1][n] = mean_error + DBL_MIN;
        expected[2][n] = rstd;
        condition[2][n] = rstd * rstd_error;
        for (int c = 0; c < C; c++) {
            double normal = (x[c] - mean) * rstd;
            double error = fabs(normal) * rstd_error + rstd * (mean_error + fabs((double)x[c]) + fabs(mean));
            out[c] = normal * weight[c] + bias[c];
            out_condition[c] = fabs((double)weight[c]) * error + fabs(out[c]) + fabs((double)bias[c]) + DBL_MIN;
        }
    }
}

static void layernorm_backward(const struct op_sizes *sizes, const float *const tensor[], double *const expected[],
                               double *const condition[]) {
    const float *weight = tensor[5];
    int N = sizes->N, C = sizes->C;
    double *dweight = expected[1], *dbias = expected[2];
    for (int c = 0; c < C; c++) {
        dweight[c] = tensor[1][c];
        dbias[c] = tensor[2][c];
        condition[1][c] = growth(N) * fabs(dweight[c]) + DBL_MIN;
        condition[2][c] = growth(N) * fabs(dbias[c]) + DBL_MIN;
    }
    for (int n = 0; n < N; n++) {
        size_t row = (size_t)n * (size_t)C;
        const float *dout = tensor[3] + row, *x = tensor[4] + row;
        double mean = tensor[6][n], rstd = tensor[7][n];
        double g_mean = 0.0, gx_mean = 0.0, g_size = 0.0, gx_size = 0.0, gx_error = 0.0;
        for (int c = 0; c < C; c++) {
            double g = (double)dout[c] * weight[c], normal = (x[c] - mean) * rstd;
            g_mean += g / C;
            gx_mean += g * normal / C;
            g_size += fabs(g) / C;
            gx_size += fabs(g * normal) / C;
            gx_error += fabs(g) * (fabs((double)x[c]) + fabs(mean)) * rstd / C;
        }
        for (int c = 0; c < C; c++) {
            double g = (double)dout[c] * weight[c], normal = (x[c] - mean) * rstd;
            double normal_error = (fabs((double)x[c]) + fabs(mean)) * rstd;
            double dinp = rstd * (g - g_mean - normal * gx_mean);
            expected[0][row + (size_t)c] = dinp;
            condition[0][row + (size_t)c] = rstd * (4.0 * fabs(g) + growth(C) * g_size + normal_error * fabs(gx_mean) +
                                                    fabs(normal) * (growth(C) * gx_size + gx_error)) +
                                            fabs(dinp) + DBL_MIN;
            dweight[c] += dout[c] * normal;
            dbias[c] += dout[c];
            condition[1][c] += growth(N) * fabs(dout[c] * normal) + fabs((double)dout[c]) * normal_error;
            condition[2][c] += growth(N) * fabs((double)dout[c]);
        }
    }
}

/* The three row sums differ in their terms alone. */
static void sum_rows(const struct op_sizes *sizes, const float *x, const float *factor, bool squared, double *expected,
                     double *condition) {
    for (int n = 0; n < sizes->N; n++) {
        double sum = 0.0, size = 0.0;
        for (int c = 0; c < sizes->C; c++) {
            double value = x[(size_t)n * (size_t)sizes->C + (size_t)c];
            double term = squared ? value * value : value * (factor ? (double)factor[c] : 1.0);
            sum += term;
            size += fabs(term);
        }
        expected[n] = sum;
        condition[n] = isfinite(sum) ? growth(sizes->C) * size + DBL_MIN : 0.0;
    }
}

static void row_sum(const struct op_sizes *sizes, const float *const tensor[], double *const expected[],
                    double *const condition[]) {
    sum_rows(sizes, tensor[1], NULL, false, expected[0], condition[0]);
}

static void row_sum_squares(const struct op_sizes *sizes, const float *const tensor[], double *const expected[],
                            double *const condition[]) {
    sum_rows(sizes, tensor[1], NULL, true, expected[0], condition[0]);
}

static void row_dot(const struct op_sizes *sizes, const float *const tensor[], double *const expected[],
                    double *const condition[]) {
    sum_rows(sizes, tensor[1], tensor[2], false, expected[0], condition[0]);
}

static void bias_add(const struct op_sizes *sizes, const float *const tensor[], double *const expected[],
                     double *const condition[]) {
    size_t C = (size_t)sizes->C, count = (size_t)sizes->N * C;
    for (size_t i = 0; i < count; i++) { exact(expected[0], condition[0], i, (double)tensor[1][i] + tensor[2][i % C]); }
}

static const struct {
    const char *op;
    void (*compute)(const struct op_sizes *, const float *const[], double *const[], double *const[]);
} references[] = {
    {"residual_forward", residual_forward},
    {"softmax_forward", softmax_forward},
    {"layernorm_forward", layernorm_forward},
    {"layernorm_backward", layernorm_backward},
    {"row_sum", row_sum},
    {"row_sum_squares", row_sum_squares},
    {"row_dot", row_dot},
    {"bias_add", bias_add},
};

bool reference_compute(const struct op *op, const struct op_sizes *sizes, const float *const tensor[],
                       double *const expected[], double *const condition[]) {
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        if (strcmp(references[i].op, op->name) == 0) {
            references[i].compute(sizes, tensor, expected, condition);
            return true;
        }
    }
    return false;
}

double reference_tolerance(double condition) {
    return condition == 0.0 ? 0.0 : 4.0 * 0x1p-24 * condition + 2.0 * FLT_MIN;
}

bool reference_accepts(double expected, double condition, float got) {
    if (isinf(condition)) { return true; }
    if (isnan(expected)) { return isnan(got); }
    float rounded = (float)expected;
    if (condition == 0.0 || isinf(rounded)) { return got == rounded; }
    return fabs(got - expected) <= reference_tolerance(condition);
}
