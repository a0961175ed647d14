/* residual_layernorm_forward in float64, and the mistakes of the sum. Those of LayerNorm are layernorm_forward's. */
#include <math.h>
#include <stdlib.h>

#include "ops/elements.h"
#include "ops/layernorm_forward/layernorm.h"
#include "ops/predicates.h"

enum {
    NO_RESIDUAL = 1,
    SUBTRACTED,
    X_TWICE,
    RESIDUAL_TWICE,
    OF_X,        /* x is normalised; the sum is written, but not used */
    OTHER_ORDER, /* LayerNorm(x) + residual */
    SUM_IS_OUT,
    SUM_IS_X,
    SWAPPED,
    UNROUNDED, /* the sum is normalised before it is rounded */
    UNROUNDED_STATISTICS,
    STATISTICS_IN_T,
    STATISTICS_IN_T_USED,
    ROUNDED_BEFORE_GAMMA,
    ROUNDED_BEFORE_BETA,
};

/* The sum before it is rounded, with some mistakes of one term. */
static double sum_of(int variant, float x, float residual) {
    switch (variant) {
        case NO_RESIDUAL: return x;
        case SUBTRACTED: return (double)x - residual;
        case X_TWICE: return 2.0 * x;
        case RESIDUAL_TWICE: return 2.0 * residual;
        default: return (double)x + residual;
    }
}

/* The values that are normalised: the rounded sum, except with some mistakes. */
static void normalised_values(int variant, const struct op_call *call, float *values) {
    const float *x = call_given(call, "x"), *residual = call_given(call, "residual");
    for (size_t i = 0; i < (size_t)call->sizes->N * (size_t)call->sizes->C; i++) {
        double sum = sum_of(variant, x[i], residual[i]);
        bool wide = variant == UNROUNDED || variant == UNROUNDED_STATISTICS;
        values[i] = wide ? (float)sum : (float)element_round(call->sizes->type, sum);
        if (variant == OF_X || variant == OTHER_ORDER) { values[i] = x[i]; }
    }
}

static void round_statistics(const struct layernorm_rows *rows) {
    for (int n = 0; n < rows->sizes->N; n++) {
        rows->mean[n] = element_round(rows->sizes->type, rows->mean[n]);
        rows->rstd[n] = element_round(rows->sizes->type, rows->rstd[n]);
    }
}

/* Computes the outputs again from the rounded sum, with extra roundings to T. */
static void from_statistics(int variant, const struct layernorm_rows *rows) {
    size_t C = (size_t)rows->sizes->C;
    for (size_t i = 0; i < (size_t)rows->sizes->N * C; i++) {
        double normal = (rows->x[i] - rows->mean[i / C]) * rows->rstd[i / C];
        if (variant == ROUNDED_BEFORE_GAMMA) { normal = element_round(rows->sizes->type, normal); }
        double scaled = normal * rows->weight[i % C];
        if (variant == ROUNDED_BEFORE_BETA) { scaled = element_round(rows->sizes->type, scaled); }
        rows->out[i] = scaled + rows->bias[i % C];
    }
}

static void mistaken(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x"), *residual = call_given(call, "residual");
    double *out = call_expected(call, "out"), *sum = call_expected(call, "sum");
    size_t count = (size_t)call->sizes->N * (size_t)call->sizes->C;
    float *values = calloc(count + 1, sizeof *values);
    if (!values) { abort(); }
    struct layernorm_rows rows = {call->sizes,
                                  values,
                                  call_given(call, "weight"),
                                  call_given(call, "bias"),
                                  out,
                                  call_expected(call, "mean"),
                                  call_expected(call, "rstd")};
    normalised_values(variant, call, values);
    layernorm_mistaken_rows(-1, &rows);
    for (size_t i = 0; i < count; i++) {
        double rounded = element_round(call->sizes->type, sum_of(variant, x[i], residual[i]));
        sum[i] = variant == SUM_IS_OUT ? out[i] : variant == SUM_IS_X ? x[i] : rounded;
        if (variant == OTHER_ORDER) { out[i] += residual[i]; }
        values[i] = (float)rounded;
    }
    if (variant == STATISTICS_IN_T || variant == STATISTICS_IN_T_USED) { round_statistics(&rows); }
    bool rounds = variant == ROUNDED_BEFORE_GAMMA || variant == ROUNDED_BEFORE_BETA;
    if (rounds || variant == UNROUNDED_STATISTICS || variant == STATISTICS_IN_T_USED) {
        from_statistics(variant, &rows);
    }
    for (size_t i = 0; variant == SWAPPED && i < count; i++) {
        double swapped = out[i];
        out[i] = sum[i];
        sum[i] = swapped;
    }
    free(values);
}

/* out is right, and no element of sum is written. */
static bool sum_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    int sum = op_tensor_find(evidence->op, "sum");
    if (!shown->got[sum] || shown->test.in_place) { return shown->test.in_place; }
    for (size_t i = 0, end = evidence_elements(evidence, shown, sum); i < end; i++) {
        if (!evidence_untouched(shown, sum, i)) { return false; }
    }
    return shown->wrong[op_tensor_find(evidence->op, "out")] == 0;
}

static bool shows_sum_untouched(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    return first && !first->test.in_place && evidence_all_wrong(evidence, sum_untouched);
}

static const struct op_mistake mistakes[] = {
    {.id = "sum-not-written",
     .fact = "out is right, but sum, which the next layer needs, is not written",
     .hint = 3,
     .kernel = "residual_layernorm_forward/sum_not_written",
     .predicate = shows_sum_untouched,
     .stage = MISTAKE_PLACED},
    {.id = "fused-no-residual",
     .cause = "the residual is not added",
     .hint = 2,
     .kernel = "residual_layernorm_forward/no_residual",
     .compute = mistaken,
     .variant = {NO_RESIDUAL}},
    {.id = "fused-subtracted",
     .cause = "the residual is subtracted",
     .hint = 3,
     .kernel = "residual_layernorm_forward/subtracted",
     .compute = mistaken,
     .variant = {SUBTRACTED}},
    {.id = "fused-added-twice",
     .cause = "x or residual is added to itself: the sum is x + residual",
     .hint = 3,
     .kernel = "residual_layernorm_forward/x_twice",
     .compute = mistaken,
     .variant = {X_TWICE, RESIDUAL_TWICE}},
    {.id = "fused-normalises-x",
     .cause = "x alone is normalised: the statistics and the result are computed from the sum",
     .hint = 2,
     .kernel = "residual_layernorm_forward/normalises_x",
     .compute = mistaken,
     .variant = {OF_X}},
    {.id = "fused-other-order",
     .cause = "LayerNorm(x) + residual is computed: add first, then normalise the sum",
     .hint = 1,
     .kernel = "residual_layernorm_forward/other_order",
     .compute = mistaken,
     .variant = {OTHER_ORDER}},
    {.id = "fused-sum-is-out",
     .cause = "sum holds the normalised row: it is x + residual, before LayerNorm",
     .hint = 2,
     .kernel = "residual_layernorm_forward/sum_is_out",
     .compute = mistaken,
     .variant = {SUM_IS_OUT}},
    {.id = "fused-sum-is-x",
     .cause = "sum holds x: it is x + residual",
     .hint = 3,
     .kernel = "residual_layernorm_forward/sum_is_x",
     .compute = mistaken,
     .variant = {SUM_IS_X}},
    {.id = "fused-outputs-swapped",
     .cause = "out and sum are exchanged",
     .hint = 3,
     .kernel = "residual_layernorm_forward/outputs_swapped",
     .compute = mistaken,
     .variant = {SWAPPED}},
    {.id = "fused-unrounded-sum",
     .cause = "the sum is normalised before it is rounded: normalise the rounded sum, which the next layer gets",
     .hint = 2,
     .kernel = "residual_layernorm_forward/unrounded_sum",
     .compute = mistaken,
     .variant = {UNROUNDED, UNROUNDED_STATISTICS}},
    {.id = "statistics-in-16-bits",
     .cause = "mean and rstd are rounded to 16 bits: they are float in every type",
     .hint = 2,
     .kernel = "residual_layernorm_forward/statistics_in_bf16",
     .compute = mistaken,
     .variant = {STATISTICS_IN_T, STATISTICS_IN_T_USED}},
    {.id = "rounded-before-gamma",
     .cause = "the normalised value is rounded to 16 bits before weight and bias: round once, at the end",
     .hint = 2,
     .kernel = "residual_layernorm_forward/rounded_before_gamma",
     .compute = mistaken,
     .variant = {ROUNDED_BEFORE_GAMMA, ROUNDED_BEFORE_BETA}},
    {.id = NULL},
};

const struct op_reference op_reference_residual_layernorm_forward = {
    .compute = layernorm_compute,
    .invariant = layernorm_rows_are_normal,
    .mistakes = {mistakes, layernorm_mistakes, layernorm_mistakes_shown},
};
