/* LayerNorm's forward pass in float64, with a residual before it, after it, or without. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "layernorm.h"
#include "ops/elements.h"
#include "ops/predicates.h"

/* The tensors of a forward op; NULL for those that the op does not have. */
struct forward {
    const struct op_call *call;
    const float *x, *residual, *weight, *bias;
    double *out, *sum, *mean, *rstd, *out_condition, *sum_condition, *mean_condition, *rstd_condition;
};

/* One row: normalises x, then adds `added` (or nothing, if NULL) to the result. */
static void forward_row(const struct forward *f, size_t n, const float *x, const float *added) {
    int C = f->call->sizes->C;
    double *out = f->out + n * (size_t)C, *out_condition = f->out_condition + n * (size_t)C;
    double mean, rstd, magnitude = 0.0, largest = 0.0;
    reference_row_statistics(x, C, f->call->sizes->eps, &mean, &rstd);
    if (!isfinite(mean) || !isfinite(rstd)) { /* the contract requires NaN in out, and does not define mean and rstd */
        for (int c = 0; c < C; c++) { reference_exact(out, out_condition, (size_t)c, NAN); }
        f->mean[n] = f->rstd[n] = NAN;
        f->mean_condition[n] = f->rstd_condition[n] = INFINITY;
        return;
    }
    for (int c = 0; c < C; c++) {
        magnitude += fabs((double)x[c]);
        largest = fmax(largest, fabs((double)x[c]));
    }
    magnitude /= C;
    /* An element of the row may be subtracted from all of it first, which rounds the differences. */
    double mean_error = reference_growth(C) * magnitude + largest, spread = mean_error * rstd;
    /* Welford's one pass is accepted too, which loses |mean| / deviation; an error d of the mean adds d^2 to the
     * variance */
    double rstd_error = reference_growth(C) * (1.0 + magnitude * rstd) + 4.0 * 0x1p-24 * spread * spread;
    f->mean[n] = mean;
    f->mean_condition[n] = mean_error + DBL_MIN;
    f->rstd[n] = rstd;
    f->rstd_condition[n] = rstd * rstd_error;
    for (int c = 0; c < C; c++) {
        double normal = (x[c] - mean) * rstd;
        double error = fabs(normal) * rstd_error + rstd * (mean_error + largest + fabs(mean));
        out[c] = normal * f->weight[c] + f->bias[c];
        out_condition[c] = fabs((double)f->weight[c]) * error + fabs(out[c]) + fabs((double)f->bias[c]) + DBL_MIN;
        if (!added) { continue; }
        out[c] += added[c];
        out_condition[c] += fabs(out[c]) + fabs((double)added[c]);
        if (isnan(out[c])) { out_condition[c] = 0.0; }
    }
}

void layernorm_compute(const struct op_call *call, int variant) {
    (void)variant;
    struct forward f = {.call = call,
                        .x = call_given(call, "x"),
                        .residual = call_given(call, "residual"),
                        .weight = call_given(call, "weight"),
                        .bias = call_given(call, "bias"),
                        .out = call_expected(call, "out"),
                        .sum = call_expected(call, "sum"),
                        .mean = call_expected(call, "mean"),
                        .rstd = call_expected(call, "rstd"),
                        .out_condition = call_condition(call, "out"),
                        .sum_condition = call_condition(call, "sum"),
                        .mean_condition = call_condition(call, "mean"),
                        .rstd_condition = call_condition(call, "rstd")};
    size_t C = (size_t)call->sizes->C;
    float *sum = f.sum ? calloc(C, sizeof *sum) : NULL;
    if (f.sum && !sum) { abort(); }
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) {
        const float *x = f.x + n * C, *residual = f.residual ? f.residual + n * C : NULL;
        for (size_t c = 0; sum && c < C; c++) {
            /* rounding the double sum of two floats gives the correctly rounded float sum: 53 >= 2 * 24 + 2 */
            sum[c] = (float)element_round(call->sizes->type, (double)x[c] + residual[c]);
            reference_exact(f.sum, f.sum_condition, n * C + c, sum[c]);
        }
        forward_row(&f, n, sum ? sum : x, sum ? NULL : residual);
    }
    free(sum);
}

/* xhat = (out - bias) / weight has mean 0 in every row; the weights are above 0.2. */
bool layernorm_rows_are_normal(const struct op *op, const struct evidence_case *shown, struct failure *broken) {
    int N = shown->test.sizes.N, C = shown->test.sizes.C;
    const float *weight = shown->given[op_tensor_find(op, "weight")], *bias = shown->given[op_tensor_find(op, "bias")];
    for (long n = 0; n < N; n++) {
        const float *got = shown->got[op_tensor_find(op, "out")] + n * C;
        double sum = 0.0, tolerance = 0.0;
        if (isnan(shown->expected[0][n * C])) { continue; }
        for (int c = 0; c < C; c++) {
            sum += ((double)got[c] - bias[c]) / weight[c];
            tolerance += invariant_tolerance(shown, (size_t)(n * C + c), 1) / fabs((double)weight[c]);
        }
        if (!invariant_row(broken, n, 0.0, sum / C, tolerance / C + 1e-12, "the mean of (out - bias) / weight")) {
            return false;
        }
    }
    return true;
}

const struct op_reference op_reference_layernorm_forward = {
    .compute = layernorm_compute,
    .invariant = layernorm_rows_are_normal,
    .mistakes = {layernorm_mistakes, layernorm_mistakes_shown},
};
