/* reference_layernorm.c — LayerNorm with a residual before it, after it, or without, forward and backward. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "elements.h"
#include "reference_parts.h"

void reference_row_statistics(const float *x, int C, double eps, double *mean, double *rstd) {
    double sum = 0.0, squares = 0.0;
    for (int c = 0; c < C; c++) { sum += x[c]; }
    *mean = sum / C;
    for (int c = 0; c < C; c++) { squares += (x[c] - *mean) * (x[c] - *mean); }
    *rstd = 1.0 / sqrt(squares / C + eps);
}

/* What the forward ops differ in: where their tensors stand; -1 where they have none. */
struct forward {
    const struct reference_call *call;
    int sum, mean, rstd, x, residual, weight, bias;
};

/* One row, whose normalised values are `x` and to whose result `added` (or NULL) is added. */
static void forward_row(const struct forward *f, size_t n, const float *x, const float *added) {
    int C = f->call->sizes->C;
    const float *weight = f->call->tensor[f->weight], *bias = f->call->tensor[f->bias];
    double *const *expected = f->call->expected, *const *condition = f->call->condition;
    double *out = expected[0] + n * (size_t)C, *out_condition = condition[0] + n * (size_t)C;
    double mean, rstd, magnitude = 0.0;
    reference_row_statistics(x, C, f->call->sizes->eps, &mean, &rstd);
    if (!isfinite(mean) || !isfinite(rstd)) { /* the contract asks for NaN in out and leaves mean and rstd open */
        for (int c = 0; c < C; c++) { reference_exact(out, out_condition, (size_t)c, NAN); }
        expected[f->mean][n] = expected[f->rstd][n] = NAN;
        condition[f->mean][n] = condition[f->rstd][n] = INFINITY;
        return;
    }
    for (int c = 0; c < C; c++) { magnitude += fabs((double)x[c]); }
    magnitude /= C;
    double mean_error = reference_growth(C) * magnitude, spread = mean_error * rstd;
    /* Welford's one pass is right too and loses |mean| / deviation; a mean off by d adds d^2 to the variance */
    double rstd_error = reference_growth(C) * (1.0 + magnitude * rstd) + 4.0 * 0x1p-24 * spread * spread;
    expected[f->mean][n] = mean;
    condition[f->mean][n] = mean_error + DBL_MIN;
    expected[f->rstd][n] = rstd;
    condition[f->rstd][n] = rstd * rstd_error;
    for (int c = 0; c < C; c++) {
        double normal = (x[c] - mean) * rstd;
        double error = fabs(normal) * rstd_error + rstd * (mean_error + fabs((double)x[c]) + fabs(mean));
        out[c] = normal * weight[c] + bias[c];
        out_condition[c] = fabs((double)weight[c]) * error + fabs(out[c]) + fabs((double)bias[c]) + DBL_MIN;
        if (!added) { continue; }
        out[c] += added[c];
        out_condition[c] += fabs(out[c]) + fabs((double)added[c]);
        if (isnan(out[c])) { out_condition[c] = 0.0; }
    }
}

void reference_layernorm_forward(const struct reference_call *call) {
    const struct op *op = call->op;
    struct forward f = {.call = call,
                        .sum = op_tensor_find(op, "sum"),
                        .mean = op_tensor_find(op, "mean"),
                        .rstd = op_tensor_find(op, "rstd"),
                        .x = op_tensor_find(op, "x"),
                        .residual = op_tensor_find(op, "residual"),
                        .weight = op_tensor_find(op, "weight"),
                        .bias = op_tensor_find(op, "bias")};
    size_t C = (size_t)call->sizes->C;
    float *sum = f.sum >= 0 ? calloc(C, sizeof *sum) : NULL;
    if (f.sum >= 0 && !sum) { abort(); }
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) {
        const float *x = call->tensor[f.x] + n * C;
        const float *residual = f.residual >= 0 ? call->tensor[f.residual] + n * C : NULL;
        for (size_t c = 0; sum && c < C; c++) {
            /* the sum of two floats in double is exact enough to be rounded once more: 53 >= 2 * 24 + 2 */
            sum[c] = (float)element_round(call->sizes->type, (double)x[c] + residual[c]);
            reference_exact(call->expected[f.sum], call->condition[f.sum], n * C + c, sum[c]);
        }
        forward_row(&f, n, sum ? sum : x, sum ? NULL : residual);
    }
    free(sum);
}

/* ---- backward ---- */

struct backward {
    const struct reference_call *call;
    int dout, dsum, x, weight, mean, rstd;
};

static void backward_row(const struct backward *b, size_t n) {
    const struct reference_call *call = b->call;
    int N = call->sizes->N, C = call->sizes->C;
    size_t row = n * (size_t)C;
    const float *dout = call->tensor[b->dout] + row, *x = call->tensor[b->x] + row, *weight = call->tensor[b->weight];
    const float *dsum = b->dsum >= 0 ? call->tensor[b->dsum] + row : NULL;
    double mean = call->tensor[b->mean][n], rstd = call->tensor[b->rstd][n];
    double g_mean = 0.0, gx_mean = 0.0, g_size = 0.0, gx_size = 0.0, gx_error = 0.0;
    double *dweight = call->expected[1], *dbias = call->expected[2];
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
        double dinp = rstd * (g - g_mean - normal * gx_mean), growth = reference_growth(C);
        double condition = rstd * (4.0 * fabs(g) + growth * g_size + normal_error * fabs(gx_mean) +
                                   fabs(normal) * (growth * gx_size + gx_error)) +
                           fabs(dinp) + DBL_MIN;
        call->expected[0][row + (size_t)c] = dinp + (dsum ? dsum[c] : 0.0);
        call->condition[0][row + (size_t)c] = condition + (dsum ? fabs(dinp + dsum[c]) + fabs((double)dsum[c]) : 0.0);
        dweight[c] += dout[c] * normal;
        dbias[c] += dout[c];
        call->condition[1][c] += reference_growth(N) * fabs(dout[c] * normal) + fabs((double)dout[c]) * normal_error;
        call->condition[2][c] += reference_growth(N) * fabs((double)dout[c]);
    }
}

void reference_layernorm_backward(const struct reference_call *call) {
    const struct op *op = call->op;
    int dsum = op_tensor_find(op, "dsum"), x = op_tensor_find(op, dsum >= 0 ? "sum" : "x");
    struct backward b = {.call = call,
                         .dout = op_tensor_find(op, "dout"),
                         .dsum = dsum,
                         .x = x,
                         .weight = op_tensor_find(op, "weight"),
                         .mean = op_tensor_find(op, "mean"),
                         .rstd = op_tensor_find(op, "rstd")};
    for (int t = 1; t <= 2; t++) {
        for (size_t c = 0; c < (size_t)call->sizes->C; c++) {
            call->expected[t][c] = call->tensor[t][c];
            call->condition[t][c] = reference_growth(call->sizes->N) * fabs((double)call->tensor[t][c]) + DBL_MIN;
        }
    }
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) { backward_row(&b, n); }
}
