/* LayerNorm's gradients in float64, and their known mistakes. */
#include <float.h>
#include <math.h>

#include "layernorm_backward.h"
#include "ops/predicates.h"

struct backward {
    const struct op_sizes *sizes;
    const float *dout, *dsum, *x, *weight, *mean, *rstd, *dweight_before, *dbias_before;
    double *dinp, *dweight, *dbias, *dinp_condition, *dweight_condition, *dbias_condition;
};

static struct backward backward_of(const struct op_call *call) {
    const float *sum = call_given(call, "sum");
    return (struct backward){.sizes = call->sizes,
                             .dout = call_given(call, "dout"),
                             .dsum = call_given(call, "dsum"),
                             .x = sum ? sum : call_given(call, "x"),
                             .weight = call_given(call, "weight"),
                             .mean = call_given(call, "mean"),
                             .rstd = call_given(call, "rstd"),
                             .dweight_before = call_given(call, "dweight"),
                             .dbias_before = call_given(call, "dbias"),
                             .dinp = call_expected(call, "dinp"),
                             .dweight = call_expected(call, "dweight"),
                             .dbias = call_expected(call, "dbias"),
                             .dinp_condition = call_condition(call, "dinp"),
                             .dweight_condition = call_condition(call, "dweight"),
                             .dbias_condition = call_condition(call, "dbias")};
}

static void backward_row(const struct backward *b, size_t n) {
    int N = b->sizes->N, C = b->sizes->C;
    size_t row = n * (size_t)C;
    const float *dout = b->dout + row, *x = b->x + row, *weight = b->weight, *dsum = b->dsum ? b->dsum + row : NULL;
    double mean = b->mean[n], rstd = b->rstd[n];
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
        double dinp = rstd * (g - g_mean - normal * gx_mean), growth = reference_growth(C);
        double condition = rstd * (4.0 * fabs(g) + growth * g_size + normal_error * fabs(gx_mean) +
                                   fabs(normal) * (growth * gx_size + gx_error)) +
                           fabs(dinp) + DBL_MIN;
        b->dinp[row + (size_t)c] = dinp + (dsum ? dsum[c] : 0.0);
        b->dinp_condition[row + (size_t)c] = condition + (dsum ? fabs(dinp + dsum[c]) + fabs((double)dsum[c]) : 0.0);
        b->dweight[c] += dout[c] * normal;
        b->dbias[c] += dout[c];
        b->dweight_condition[c] += reference_growth(N) * fabs(dout[c] * normal) + fabs((double)dout[c]) * normal_error;
        b->dbias_condition[c] += reference_growth(N) * fabs((double)dout[c]);
    }
}

void layernorm_backward_compute(const struct op_call *call, int variant) {
    (void)variant;
    struct backward b = backward_of(call);
    double growth = reference_growth(b.sizes->N);
    for (int c = 0; c < b.sizes->C; c++) {
        b.dweight[c] = b.dweight_before[c];
        b.dbias[c] = b.dbias_before[c];
        b.dweight_condition[c] = growth * fabs((double)b.dweight_before[c]) + DBL_MIN;
        b.dbias_condition[c] = growth * fabs((double)b.dbias_before[c]) + DBL_MIN;
    }
    for (size_t n = 0; n < (size_t)b.sizes->N; n++) { backward_row(&b, n); }
}

void layernorm_backward_complete(const struct op *op, const struct op_sizes *sizes, float *const tensor[]) {
    int sum = op_tensor_find(op, "sum"), x = sum >= 0 ? sum : op_tensor_find(op, "x");
    for (int n = 0; n < sizes->N; n++) {
        double mean, rstd;
        reference_row_statistics(tensor[x] + (size_t)n * (size_t)sizes->C, sizes->C, sizes->eps, &mean, &rstd);
        tensor[op_tensor_find(op, "mean")][n] = (float)mean;
        tensor[op_tensor_find(op, "rstd")][n] = (float)rstd;
    }
}

/* ---- with one mistake ---- */

enum {
    OVERWRITTEN = 1,
    NO_MEAN_TERMS,
    NO_FIRST_TERM,
    NO_SECOND_TERM,
    SUMS_FOR_MEANS,
    NO_WEIGHT,
    NO_RSTD,
    X_FOR_XHAT,
    SWAPPED,
    FIRST_ROW,
    LAST_ROW,
    WEIGHTED_DWEIGHT, /* dweight sums dout * weight * xhat */
};

void layernorm_backward_mistaken(const struct op_call *call, int variant) {
    struct backward b = backward_of(call);
    int N = b.sizes->N, C = b.sizes->C;
    const float *dout = b.dout, *x = b.x;
    for (int c = 0; c < C; c++) {
        b.dweight[c] = variant == OVERWRITTEN ? 0.0 : b.dweight_before[c];
        b.dbias[c] = variant == OVERWRITTEN ? 0.0 : b.dbias_before[c];
    }
    for (int n = 0; n < N; n++, dout += C, x += C) {
        double first = 0.0, second = 0.0, divisor = variant == SUMS_FOR_MEANS ? 1 : C;
        bool row_counts = variant == FIRST_ROW ? n == 0 : variant != LAST_ROW || n == N - 1;
        for (int c = 0; c < C; c++) {
            double g = dout[c] * (variant == NO_WEIGHT ? 1.0 : b.weight[c]);
            double normal = variant == X_FOR_XHAT ? x[c] : (x[c] - (double)b.mean[n]) * b.rstd[n];
            first += g / divisor;
            second += g * normal / divisor;
        }
        if (variant == NO_MEAN_TERMS || variant == NO_FIRST_TERM) { first = 0.0; }
        if (variant == NO_MEAN_TERMS || variant == NO_SECOND_TERM) { second = 0.0; }
        for (int c = 0; c < C; c++) {
            double g = dout[c] * (variant == NO_WEIGHT ? 1.0 : b.weight[c]);
            double normal = variant == X_FOR_XHAT ? x[c] : (x[c] - (double)b.mean[n]) * b.rstd[n];
            double dinp = (variant == NO_RSTD ? 1.0 : b.rstd[n]) * (g - first - normal * second);
            size_t i = (size_t)n * (size_t)C + (size_t)c;
            b.dinp[i] = dinp + (b.dsum ? b.dsum[i] : 0.0);
            if (!row_counts) { continue; }
            (variant == SWAPPED ? b.dbias : b.dweight)[c] += (variant == WEIGHTED_DWEIGHT ? g : dout[c]) * normal;
            (variant == SWAPPED ? b.dweight : b.dbias)[c] += dout[c];
        }
    }
}

const struct op_mistake layernorm_backward_mistakes[] = {
    {.id = "backward-overwritten",
     .cause = "dweight and dbias are overwritten: add to the values that they hold",
     .hint = 2,
     .kernel = "layernorm_backward/clears_first",
     .compute = layernorm_backward_mistaken,
     .variant = {OVERWRITTEN}},
    {.id = "backward-no-mean-terms",
     .cause = "dinp lacks the two means over the row: mean and rstd depend on x too",
     .hint = 1,
     .kernel = "layernorm_backward/no_means",
     .compute = layernorm_backward_mistaken,
     .variant = {NO_MEAN_TERMS}},
    {.id = "backward-one-mean-term",
     .cause = "one of dinp's two means over the row is missing",
     .hint = 2,
     .kernel = "layernorm_backward/one_mean",
     .compute = layernorm_backward_mistaken,
     .variant = {NO_FIRST_TERM, NO_SECOND_TERM}},
    {.id = "backward-sums-for-means",
     .cause = "dinp subtracts sums instead of means: divide them by C",
     .hint = 3,
     .kernel = "layernorm_backward/sums_for_means",
     .compute = layernorm_backward_mistaken,
     .variant = {SUMS_FOR_MEANS}},
    {.id = "backward-no-weight",
     .cause = "the gradient is not multiplied by weight before the means are taken",
     .hint = 2,
     .kernel = "layernorm_backward/no_weight",
     .compute = layernorm_backward_mistaken,
     .variant = {NO_WEIGHT}},
    {.id = "backward-no-rstd",
     .cause = "dinp is not multiplied by rstd",
     .hint = 3,
     .kernel = "layernorm_backward/no_rstd",
     .compute = layernorm_backward_mistaken,
     .variant = {NO_RSTD}},
    {.id = "backward-x-for-xhat",
     .cause = "x is used instead of xhat = (x - mean) * rstd",
     .hint = 3,
     .kernel = "layernorm_backward/x_for_xhat",
     .compute = layernorm_backward_mistaken,
     .variant = {X_FOR_XHAT}},
    {.id = "backward-gradients-swapped",
     .cause = "dweight and dbias are exchanged",
     .hint = 3,
     .kernel = "layernorm_backward/gradients_swapped",
     .compute = layernorm_backward_mistaken,
     .variant = {SWAPPED}},
    {.id = "backward-one-row",
     .cause = "dweight and dbias hold the terms of one row: they are sums over all rows",
     .hint = 2,
     .kernel = "layernorm_backward/one_row",
     .compute = layernorm_backward_mistaken,
     .variant = {FIRST_ROW, LAST_ROW}},
    {.id = "backward-weighted-dweight",
     .cause = "dweight includes the factor weight: it is the sum of dout * xhat",
     .hint = 3,
     .kernel = "layernorm_backward/weighted_dweight",
     .compute = layernorm_backward_mistaken,
     .variant = {WEIGHTED_DWEIGHT}},
    {.id = NULL},
};

/* ---- recognised by the output that is wrong ---- */

/* argument 0: dinp is right, and the parameters' gradients are wrong; 1: the opposite. */
static bool shows_direction(const struct evidence *evidence, int argument) {
    if (argument) {
        return evidence_only_wrong(evidence, "dinp", "dweight") && evidence_only_wrong(evidence, "dinp", "dbias");
    }
    return evidence_only_wrong(evidence, "dweight", "dinp") || evidence_only_wrong(evidence, "dbias", "dinp");
}

static bool has_other_eps(const struct evidence *evidence, const struct evidence_case *shown) {
    (void)evidence;
    return shown->test.sizes.eps != 1e-5f;
}

/* Only calls with another eps are wrong, although the op has no eps: it must use the rstd that is passed in. */
static bool shows_only_other_eps(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, has_other_eps);
}

const struct op_mistake layernorm_backward_mistakes_shown[] = {
    {.id = "backward-accumulated",
     .cause = "dinp is accumulated: overwrite it, because it is uninitialised before the call",
     .hint = 3,
     .kernel = "layernorm_backward/dinp_accumulates",
     .predicate = shows_output_read,
     .stage = MISTAKE_REPORTED},
    {.id = "backward-own-rstd",
     .fact = "only the call with another eps is wrong: use the rstd that is passed in, do not compute it again",
     .of_calls = true,
     .hint = 3,
     .kernel = "residual_layernorm_backward/own_rstd",
     .predicate = shows_only_other_eps,
     .stage = MISTAKE_VAGUE},
    {.id = "backward-columns",
     .fact =
         "dinp is right, dweight or dbias is wrong: each sums all rows once, and is added to the values that it holds",
     .hint = 2,
     .kernel = "residual_layernorm_backward/rows_left_out",
     .predicate = shows_direction,
     .argument = 0,
     .stage = MISTAKE_VAGUE},
    {.id = "backward-rows",
     .fact = "dweight and dbias are right, dinp is wrong: its two means are over the columns of a row",
     .hint = 2,
     .kernel = "layernorm_backward/rows",
     .predicate = shows_direction,
     .argument = 1,
     .stage = MISTAKE_VAGUE},
    {.id = NULL},
};

const struct op_reference op_reference_layernorm_backward = {
    .compute = layernorm_backward_compute,
    .complete = layernorm_backward_complete,
    .mistakes = {layernorm_backward_mistakes, layernorm_backward_mistakes_shown},
};
