/* rmsnorm_forward in float64, and its known mistakes. */
#include <float.h>
#include <math.h>

#include "ops/predicates.h"

static double mean_square(const float *x, int C) {
    double sum = 0.0;
    for (int c = 0; c < C; c++) { sum += (double)x[c] * x[c]; }
    return sum / C;
}

/* No term is negative, so nothing cancels, and all errors are relative. */
static void compute(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x"), *weight = call_given(call, "weight");
    double *out = call_expected(call, "out"), *out_condition = call_condition(call, "out");
    double *rstd = call_expected(call, "rstd"), *rstd_condition = call_condition(call, "rstd");
    int C = call->sizes->C;
    double growth = reference_growth(C);
    (void)variant;
    for (int n = 0; n < call->sizes->N; n++, x += C, out += C, out_condition += C) {
        rstd[n] = 1.0 / sqrt(mean_square(x, C) + (double)call->sizes->eps);
        rstd_condition[n] = isnan(rstd[n]) ? 0.0 : growth * rstd[n];
        for (int c = 0; c < C; c++) {
            out[c] = x[c] * rstd[n] * weight[c];
            out_condition[c] = isnan(out[c]) ? 0.0 : (growth + 4.0) * fabs(out[c]) + DBL_MIN;
        }
    }
}

/* (out / weight) has a mean square of 1 - eps * rstd^2 in every row; the weights are above 0.2. */
static bool rows_have_their_mean_square(const struct op *op, const struct evidence_case *shown,
                                        struct failure *broken) {
    const float *weight = shown->given[op_tensor_find(op, "weight")];
    int C = shown->test.sizes.C;
    for (long n = 0; n < shown->test.sizes.N; n++) {
        const float *got = shown->got[op_tensor_find(op, "out")] + n * C;
        double rstd = shown->expected[op_tensor_find(op, "rstd")][n], sum = 0.0, tolerance = 0.0;
        if (isnan(rstd)) { continue; }
        for (int c = 0; c < C; c++) {
            double normal = (double)got[c] / weight[c];
            sum += normal * normal;
            tolerance += invariant_tolerance(shown, (size_t)(n * C + c), 1) / weight[c] * (2.0 * fabs(normal) + 1e-30);
        }
        if (!invariant_row(broken, n, 1.0 - shown->test.sizes.eps * rstd * rstd, sum / C, tolerance / C + 1e-9,
                           "the mean square of out / weight")) {
            return false;
        }
    }
    return true;
}

/* ---- with one mistake ---- */

enum {
    NO_EPS = 1,
    EPS_AFTER_ROOT,
    EPS_FIXED, /* 1e-5 */
    MEAN_SUBTRACTED,
    SUM_NOT_DIVIDED,
    NO_ROOT,
    NO_WEIGHT,
    WEIGHT_BY_ROW,
    RSTD_IS_ROOT, /* rstd holds the root mean square itself */
};

static void mistaken(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x"), *weight = call_given(call, "weight");
    double *out = call_expected(call, "out"), *rstd = call_expected(call, "rstd");
    int C = call->sizes->C;
    for (int n = 0; n < call->sizes->N; n++, x += C, out += C) {
        double square = mean_square(x, C), eps = call->sizes->eps, mean = 0.0, deviation;
        for (int c = 0; c < C; c++) { mean += variant == MEAN_SUBTRACTED ? x[c] / (double)C : 0.0; }
        if (variant == NO_EPS) { eps = 0.0; }
        if (variant == EPS_FIXED) { eps = 1e-5; }
        if (variant == SUM_NOT_DIVIDED) { square *= C; }
        if (variant == MEAN_SUBTRACTED) { square -= mean * mean; }
        deviation = variant == EPS_AFTER_ROOT ? sqrt(square) + eps : sqrt(square + eps);
        if (variant == NO_ROOT) { deviation *= deviation; }
        rstd[n] = variant == RSTD_IS_ROOT ? deviation : 1.0 / deviation;
        for (int c = 0; c < C; c++) {
            double w = variant == NO_WEIGHT ? 1.0 : weight[variant == WEIGHT_BY_ROW ? n % C : c];
            out[c] = (x[c] - mean) / deviation * w;
        }
    }
}

static const struct op_mistake mistakes[] = {
    {.id = "rmsnorm-no-eps",
     .cause = "eps is not added to the mean square",
     .hint = 3,
     .kernel = "rmsnorm_forward/no_eps",
     .compute = mistaken,
     .variant = {NO_EPS}},
    {.id = "rmsnorm-eps-fixed",
     .cause = "eps is fixed in the code: use the launcher's argument",
     .hint = 3,
     .kernel = "rmsnorm_forward/eps_fixed",
     .compute = mistaken,
     .variant = {EPS_FIXED}},
    {.id = "rmsnorm-eps-outside",
     .cause = "eps is added outside the square root: rstd = 1 / sqrt(mean square + eps)",
     .hint = 3,
     .kernel = "rmsnorm_forward/eps_outside",
     .compute = mistaken,
     .variant = {EPS_AFTER_ROOT}},
    {.id = "rmsnorm-mean-subtracted",
     .cause = "the mean is subtracted, as in LayerNorm: RMSNorm divides x itself by its root mean square",
     .hint = 1,
     .kernel = "rmsnorm_forward/mean_subtracted",
     .compute = mistaken,
     .variant = {MEAN_SUBTRACTED}},
    {.id = "rmsnorm-sum-not-divided",
     .cause = "the sum of squares is used instead of its mean: divide it by C",
     .hint = 3,
     .kernel = "rmsnorm_forward/sum_not_divided",
     .compute = mistaken,
     .variant = {SUM_NOT_DIVIDED}},
    {.id = "rmsnorm-no-root",
     .cause = "the square root is missing: rstd = 1 / sqrt(mean square + eps)",
     .hint = 3,
     .kernel = "rmsnorm_forward/no_root",
     .compute = mistaken,
     .variant = {NO_ROOT}},
    {.id = "rmsnorm-no-weight",
     .cause = "the weight is not applied",
     .hint = 3,
     .kernel = "rmsnorm_forward/no_weight",
     .compute = mistaken,
     .variant = {NO_WEIGHT}},
    {.id = "rmsnorm-weight-by-row",
     .cause = "weight is indexed by the row: it has one entry per column",
     .hint = 3,
     .kernel = "rmsnorm_forward/weight_by_row",
     .compute = mistaken,
     .variant = {WEIGHT_BY_ROW}},
    {.id = "rmsnorm-rstd-is-root",
     .cause = "rstd holds the root mean square: it is the inverse, 1 / sqrt(mean square + eps)",
     .hint = 3,
     .kernel = "rmsnorm_forward/rstd_is_root",
     .compute = mistaken,
     .variant = {RSTD_IS_ROOT}},
    {.id = NULL},
};

const struct op_reference op_reference_rmsnorm_forward = {
    .compute = compute,
    .invariant = rows_have_their_mean_square,
    .mistakes = {mistakes},
};
