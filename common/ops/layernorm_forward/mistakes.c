/* The known mistakes of any LayerNorm's forward pass. */
#include <math.h>
#include <stdlib.h>

#include "layernorm.h"
#include "ops/elements.h"
#include "ops/lanes.h"
#include "ops/predicates.h"

enum { WARP = 32 };

enum {
    UNBIASED = 1,
    NO_EPS,
    EPS_AFTER_ROOT,
    EPS_AFTER_INVERSE,
    EPS_IGNORED, /* 1e-5 */
    EPS_1E_6,
    RSTD_IS_VARIANCE,
    RSTD_IS_DEVIATION,
    NO_ROOT,
    STATS_SWAPPED,
    AFFINE_SWAPPED,
    AFFINE_BY_ROW,
    NO_WEIGHT,
    NO_BIAS,
    NO_AFFINE,
    MEAN_NOT_SUBTRACTED,
    NOT_CENTRED,
    SUM_NOT_DIVIDED,
    SQUARES_NOT_DIVIDED,
    SUM_NOT_RESET,
    SQUARES_NOT_RESET,
    PADDING,         /* lanes past C add (0 - mean)^2 */
    TIMES_DEVIATION, /* multiplied by the deviation instead of its inverse */
    MEAN_BY_ROWS,    /* divided by N */
    VARIANCE_BY_ROWS,
    MEAN_IS_0, /* sum * (1 / C) in integers */
    VARIANCE_IS_0,
    BIAS_SCALED, /* (xhat + bias) * weight */
    EPS_1E_8,
    EPS_1E_12,
    EPS_AS_MINIMUM, /* max(variance, eps) */
    ABSOLUTE,       /* |x - mean| is summed instead of its square */
    AFFINE_INSIDE,  /* (x - mean) * (rstd * weight + bias) */
    MEAN_SCALED,    /* x - mean * rstd * weight + bias */
    BIAS_SUBTRACTED,
    BIAS_IS_WEIGHT,
    WEIGHT_IS_BIAS,
    SUM_STORED, /* mean holds the sum */
    INVERSE_VARIANCE_STORED,
    MEAN_UNBIASED, /* divided by C - 1 */
    MEAN_TWICE,    /* divided by C twice */
    MEAN_BY_32,
    VARIANCE_BY_32,
    LARGEST_LANE,    /* of the lanes' sums of squares: a maximum instead of a sum */
    FIRST_WARP = 64, /* + log2 of the block */
    OWN_WARP = 80,
};

struct row {
    double mean, variance, rstd;     /* used for out */
    double stored_mean, stored_rstd; /* written to mean and rstd */
};

/* Is column c in the sum, which is over all columns, or over those of one warp of the block? */
static bool counted(int variant, int c, int warp) {
    if (variant < FIRST_WARP || variant >= LANES) { return true; }
    int log2_block = variant >= OWN_WARP ? variant - OWN_WARP : variant - FIRST_WARP;
    return c % (1 << log2_block) / WARP == warp;
}

/* Mean and variance as each lane gets them. */
static void lane_statistics(int variant, const struct op_sizes *sizes, const float *x, double mean[WARP],
                            double variance[WARP]) {
    int C = sizes->C;
    for (int lane = 0; lane < WARP; lane++) { mean[lane] = variance[lane] = 0.0; }
    for (int c = 0; c < C; c++) { mean[lanes_of(variant, c)] += x[c]; }
    lanes_reduce(lanes_has(variant, LANE_FIRST) ? lanes_mistake(variant) : 0, false, mean);
    for (int lane = 0; lane < WARP; lane++) { mean[lane] /= C; }
    for (int c = 0; c < C; c++) {
        double distance = x[c] - mean[lanes_of(variant, c)];
        variance[lanes_of(variant, c)] += distance * distance;
    }
    lanes_reduce(lanes_has(variant, LANE_SECOND) ? lanes_mistake(variant) : 0, false, variance);
    for (int lane = 0; lane < WARP; lane++) { variance[lane] /= C; }
}

/* The largest of the lanes' sums. */
static double largest_of_lanes(const float *x, int C, double mean) {
    double sum[WARP] = {0}, largest = 0.0;
    for (int c = 0; c < C; c++) { sum[c % WARP] += (x[c] - mean) * (x[c] - mean); }
    for (int lane = 0; lane < WARP; lane++) { largest = fmax(largest, sum[lane]); }
    return largest;
}

static struct row statistics(int variant, const struct op_sizes *sizes, const float *x, double *carried, int warp) {
    int C = sizes->C;
    double eps = sizes->eps;
    double sum = 0.0, squares = 0.0;
    for (int c = 0; c < C; c++) {
        if (counted(variant, c, warp)) { sum += x[c]; }
    }
    if (variant == SUM_NOT_RESET) { sum = carried[0] += sum; }
    struct row row = {.mean = variant == SUM_NOT_DIVIDED ? sum
                              : variant == MEAN_BY_ROWS  ? sum / sizes->N
                              : variant == MEAN_IS_0     ? sum * (1 / C)
                              : variant == MEAN_UNBIASED ? sum / (C - 1)
                              : variant == MEAN_TWICE    ? sum / C / C
                              : variant == MEAN_BY_32    ? sum / WARP
                                                         : sum / C};
    double centre = variant == NOT_CENTRED ? 0.0 : row.mean;
    for (int c = 0; c < C; c++) {
        double distance = x[c] - centre;
        if (counted(variant, c, warp)) { squares += variant == ABSOLUTE ? fabs(distance) : distance * distance; }
    }
    if (variant == LARGEST_LANE) { squares = largest_of_lanes(x, C, centre); }
    if (variant == SQUARES_NOT_RESET) { squares = carried[1] += squares; }
    if (variant == PADDING) { squares += ((C + WARP - 1) / WARP * WARP - C) * row.mean * row.mean; }
    double divisor = variant == UNBIASED ? C - 1 : variant == SQUARES_NOT_DIVIDED ? 1 : C;
    if (variant == VARIANCE_BY_ROWS) { divisor = sizes->N; }
    if (variant == VARIANCE_BY_32) { divisor = WARP; }
    row.variance = variant == VARIANCE_IS_0 ? squares * (1 / C) : squares / divisor;
    double deviation = sqrt(row.variance + eps);
    row.rstd = 1.0 / deviation;
    switch (variant) {
        case NO_EPS: row.rstd = 1.0 / sqrt(row.variance); break;
        case EPS_AFTER_ROOT: row.rstd = 1.0 / (sqrt(row.variance) + eps); break;
        case EPS_AFTER_INVERSE: row.rstd = 1.0 / sqrt(row.variance) + eps; break;
        case EPS_IGNORED: row.rstd = 1.0 / sqrt(row.variance + 1e-5); break;
        case EPS_1E_6: row.rstd = 1.0 / sqrt(row.variance + 1e-6); break;
        case EPS_1E_8: row.rstd = 1.0 / sqrt(row.variance + 1e-8); break;
        case EPS_1E_12: row.rstd = 1.0 / sqrt(row.variance + 1e-12); break;
        case EPS_AS_MINIMUM: row.rstd = 1.0 / sqrt(fmax(row.variance, eps)); break;
        case NO_ROOT: row.rstd = 1.0 / (row.variance + eps); break;
        case TIMES_DEVIATION: row.rstd = deviation; break;
        default: break;
    }
    row.stored_mean = row.mean;
    row.stored_rstd = row.rstd;
    if (variant == RSTD_IS_VARIANCE) { row.stored_rstd = row.variance; }
    if (variant == RSTD_IS_DEVIATION) { row.stored_rstd = deviation; }
    if (variant == SUM_STORED) { row.stored_mean = sum; }
    if (variant == INVERSE_VARIANCE_STORED) { row.stored_rstd = 1.0 / (row.variance + eps); }
    if (variant == STATS_SWAPPED) {
        row.stored_mean = row.rstd;
        row.stored_rstd = row.mean;
    }
    return row;
}

static double affine(int variant, double x, const struct row *row, double w, double b) {
    double centre = variant == MEAN_NOT_SUBTRACTED ? 0.0 : row->mean;
    switch (variant) {
        case BIAS_SCALED: return (x - centre) * row->rstd * w + b * w;
        case AFFINE_INSIDE: return (x - centre) * (row->rstd * w + b);
        case MEAN_SCALED: return x - centre * row->rstd * w + b;
        case BIAS_SUBTRACTED: return (x - centre) * row->rstd * w - b;
        default: return (x - centre) * row->rstd * w + b;
    }
}

/* Normalises the rows of `values` with that mistake. */
void layernorm_mistaken_rows(int variant, const struct layernorm_rows *rows) {
    const struct op_sizes *sizes = rows->sizes;
    const float *x = rows->x;
    int C = sizes->C;
    double carried[2] = {0.0, 0.0}, mean[WARP], variance[WARP];
    for (int n = 0; n < sizes->N; n++, x += C) {
        struct row row = statistics(variant, sizes, x, carried, 0);
        if (variant >= LANES) {
            lane_statistics(variant, sizes, x, mean, variance);
            row.stored_mean = mean[0];
            row.stored_rstd = 1.0 / sqrt(variance[0] + sizes->eps);
        }
        rows->mean[n] = row.stored_mean;
        rows->rstd[n] = row.stored_rstd;
        int block = variant >= OWN_WARP && variant < LANES ? 1 << (variant - OWN_WARP) : 0;
        for (int c = 0; c < C; c++) {
            if (block && c % WARP == 0) { row = statistics(variant, sizes, x, carried, c % block / WARP); }
            if (variant >= LANES) {
                row.mean = mean[lanes_of(variant, c)];
                row.rstd = 1.0 / sqrt(variance[lanes_of(variant, c)] + sizes->eps);
            }
            double w = rows->weight[c], b = rows->bias[c];
            if (variant == AFFINE_SWAPPED) { w = rows->bias[c], b = rows->weight[c]; }
            if (variant == AFFINE_BY_ROW) { w = rows->weight[n % C], b = rows->bias[n % C]; }
            if (variant == NO_WEIGHT || variant == NO_AFFINE) { w = 1.0; }
            if (variant == NO_BIAS || variant == NO_AFFINE) { b = 0.0; }
            if (variant == BIAS_IS_WEIGHT) { b = w; }
            if (variant == WEIGHT_IS_BIAS) { w = b; }
            rows->out[(size_t)n * (size_t)C + (size_t)c] = affine(variant, x[c], &row, w, b);
        }
    }
}

/* For ops that add a residual: before LayerNorm if they write the sum, else after it. */
static void mistaken(const struct op_call *call, int variant) {
    const float *x = call_given(call, "x"), *residual = call_given(call, "residual");
    size_t count = (size_t)call->sizes->N * (size_t)call->sizes->C;
    double *sum = call_expected(call, "sum"), *out = call_expected(call, "out");
    float *values = calloc(count + 1, sizeof *values);
    if (!values) { abort(); }
    for (size_t i = 0; i < count; i++) {
        values[i] = sum ? (float)element_round(call->sizes->type, (double)x[i] + residual[i]) : x[i];
        if (sum) { sum[i] = values[i]; }
    }
    struct layernorm_rows rows = {call->sizes,
                                  values,
                                  call_given(call, "weight"),
                                  call_given(call, "bias"),
                                  out,
                                  call_expected(call, "mean"),
                                  call_expected(call, "rstd")};
    layernorm_mistaken_rows(variant, &rows);
    for (size_t i = 0; residual && !sum && i < count; i++) { out[i] += residual[i]; }
    free(values);
}

const struct op_mistake layernorm_mistakes[] = {
    {.id = "other-warps-lost",
     .compute = mistaken,
     .variant = {FIRST_WARP + 6, FIRST_WARP + 7, FIRST_WARP + 8, FIRST_WARP + 9, FIRST_WARP + 10, OWN_WARP + 7,
                 OWN_WARP + 8, OWN_WARP + 9, OWN_WARP + 10}},
    {.id = "layernorm-unbiased",
     .cause = "the variance is divided by C - 1: LayerNorm divides it by C",
     .hint = 3,
     .kernel = "layernorm_forward/unbiased",
     .compute = mistaken,
     .variant = {UNBIASED}},
    {.id = "layernorm-eps-ignored",
     .cause = "eps is fixed in the code: use the launcher's argument",
     .hint = 3,
     .kernel = "layernorm_forward/eps_fixed",
     .compute = mistaken,
     .variant = {EPS_IGNORED, EPS_1E_6, EPS_1E_8, EPS_1E_12}},
    {.id = "layernorm-eps-as-minimum",
     .cause = "eps is the variance's lower bound, max(variance, eps): add it, rstd = 1 / sqrt(variance + eps)",
     .hint = 3,
     .kernel = "layernorm_forward/eps_as_minimum",
     .compute = mistaken,
     .variant = {EPS_AS_MINIMUM}},
    {.id = "layernorm-no-eps",
     .cause = "eps is not added to the variance",
     .hint = 3,
     .kernel = "layernorm_forward/no_eps",
     .compute = mistaken,
     .variant = {NO_EPS}},
    {.id = "layernorm-eps-outside",
     .cause = "eps is added outside the square root: rstd = 1 / sqrt(variance + eps)",
     .hint = 3,
     .kernel = "layernorm_forward/eps_outside",
     .compute = mistaken,
     .variant = {EPS_AFTER_ROOT, EPS_AFTER_INVERSE}},
    {.id = "layernorm-rstd-is-variance",
     .cause = "rstd holds the variance: it is 1 / sqrt(variance + eps)",
     .hint = 3,
     .kernel = "layernorm_forward/rstd_holds_variance",
     .compute = mistaken,
     .variant = {RSTD_IS_VARIANCE}},
    {.id = "layernorm-rstd-is-deviation",
     .cause = "rstd is the standard deviation instead of its inverse: rstd = 1 / sqrt(variance + eps)",
     .hint = 3,
     .kernel = "layernorm_forward/rstd_holds_deviation",
     .compute = mistaken,
     .variant = {RSTD_IS_DEVIATION, TIMES_DEVIATION}},
    {.id = "layernorm-no-root",
     .cause = "the square root is missing: rstd = 1 / sqrt(variance + eps)",
     .hint = 3,
     .kernel = "layernorm_forward/no_root",
     .compute = mistaken,
     .variant = {NO_ROOT}},
    {.id = "layernorm-stats-swapped",
     .cause = "mean and rstd are exchanged",
     .hint = 3,
     .kernel = "layernorm_forward/stats_swapped",
     .compute = mistaken,
     .variant = {STATS_SWAPPED}},
    {.id = "layernorm-affine-swapped",
     .cause = "weight and bias are exchanged",
     .hint = 3,
     .kernel = "layernorm_forward/affine_swapped",
     .compute = mistaken,
     .variant = {AFFINE_SWAPPED}},
    {.id = "layernorm-affine-by-row",
     .cause = "weight and bias are indexed by the row: they have one entry per column",
     .hint = 3,
     .kernel = "layernorm_forward/affine_by_row",
     .compute = mistaken,
     .variant = {AFFINE_BY_ROW}},
    {.id = "layernorm-no-affine",
     .cause = "weight and bias are not applied",
     .hint = 3,
     .kernel = "layernorm_forward/no_affine",
     .compute = mistaken,
     .variant = {NO_AFFINE}},
    {.id = "layernorm-no-weight",
     .cause = "the weight is not applied",
     .hint = 3,
     .kernel = "layernorm_forward/no_weight",
     .compute = mistaken,
     .variant = {NO_WEIGHT}},
    {.id = "layernorm-no-bias",
     .cause = "the bias is not added",
     .hint = 3,
     .kernel = "layernorm_forward/no_bias",
     .compute = mistaken,
     .variant = {NO_BIAS}},
    {.id = "layernorm-mean-not-subtracted",
     .cause = "the mean is not subtracted before the multiplication by rstd",
     .hint = 2,
     .kernel = "layernorm_forward/mean_not_subtracted",
     .compute = mistaken,
     .variant = {MEAN_NOT_SUBTRACTED}},
    {.id = "layernorm-variance-not-centred",
     .cause = "the variance sums x^2 instead of (x - mean)^2",
     .hint = 2,
     .kernel = "layernorm_forward/squares_not_centred",
     .compute = mistaken,
     .variant = {NOT_CENTRED}},
    {.id = "layernorm-sum-not-divided",
     .cause = "a sum is used instead of its mean: divide by C",
     .hint = 3,
     .kernel = "layernorm_forward/sum_not_divided",
     .compute = mistaken,
     .variant = {SUM_NOT_DIVIDED, SQUARES_NOT_DIVIDED}},
    {.id = "layernorm-divided-by-rows",
     .cause = "a sum over C columns is divided by N: divide by C",
     .hint = 3,
     .kernel = "layernorm_forward/mean_by_rows",
     .compute = mistaken,
     .variant = {MEAN_BY_ROWS, VARIANCE_BY_ROWS}},
    {.id = "layernorm-integer-division",
     .cause = "the mean or the variance counts as 0, as with sum * (1 / C), an integer division: divide the sum by C",
     .hint = 3,
     .kernel = "layernorm_forward/integer_division",
     .compute = mistaken,
     .variant = {MEAN_IS_0, VARIANCE_IS_0}},
    {.id = "layernorm-not-squared",
     .cause = "the distances from the mean are added without being squared: their sum is 0, or that of |x - mean|",
     .hint = 3,
     .kernel = "layernorm_forward/absolute",
     .compute = mistaken,
     .variant = {VARIANCE_IS_0, ABSOLUTE}},
    {.id = "layernorm-bias-inside",
     .cause = "(x - mean) is multiplied by (rstd * weight + bias): the bias is added last, outside the product",
     .hint = 3,
     .kernel = "layernorm_forward/bias_inside",
     .compute = mistaken,
     .variant = {AFFINE_INSIDE}},
    {.id = "layernorm-mean-scaled",
     .cause = "x - mean * rstd * weight is computed: parentheses are missing, (x - mean) * rstd * weight",
     .hint = 3,
     .kernel = "layernorm_forward/mean_scaled",
     .compute = mistaken,
     .variant = {MEAN_SCALED}},
    {.id = "layernorm-bias-subtracted",
     .cause = "the bias is subtracted: add it",
     .hint = 3,
     .kernel = "layernorm_forward/bias_subtracted",
     .compute = mistaken,
     .variant = {BIAS_SUBTRACTED}},
    {.id = "layernorm-affine-alike",
     .cause = "weight and bias are read from the same tensor",
     .hint = 3,
     .kernel = "residual_layernorm_forward/bias_is_weight",
     .compute = mistaken,
     .variant = {BIAS_IS_WEIGHT, WEIGHT_IS_BIAS}},
    {.id = "layernorm-sum-stored",
     .cause = "mean holds the row's sum: divide it by C before it is stored",
     .hint = 3,
     .kernel = "layernorm_forward/sum_stored",
     .compute = mistaken,
     .variant = {SUM_STORED}},
    {.id = "layernorm-inverse-variance-stored",
     .cause = "rstd holds 1 / (variance + eps): store its square root",
     .hint = 3,
     .kernel = "layernorm_forward/inverse_variance_stored",
     .compute = mistaken,
     .variant = {INVERSE_VARIANCE_STORED}},
    {.id = "layernorm-mean-divisor",
     .cause = "a sum is divided by C - 1, C * C or 32: divide it by C, once",
     .hint = 3,
     .kernel = "layernorm_forward/mean_divided_twice",
     .compute = mistaken,
     .variant = {MEAN_UNBIASED, MEAN_TWICE, MEAN_BY_32, VARIANCE_BY_32}},
    {.id = "layernorm-largest-lane",
     .cause = "the variance is the largest of the 32 lanes' sums: add them, with warp_sum instead of warp_max",
     .hint = 3,
     .kernel = "layernorm_forward/largest_lane",
     .compute = mistaken,
     .variant = {LARGEST_LANE}},
    LANES_MISTAKES(mistaken),
    {.id = "layernorm-bias-scaled",
     .cause = "the bias is multiplied by the weight: add it after the multiplication",
     .hint = 3,
     .kernel = "layernorm_forward/bias_scaled",
     .compute = mistaken,
     .variant = {BIAS_SCALED}},
    {.id = "layernorm-sum-not-reset",
     .cause = "a sum continues from the previous row: set it to 0 at the start of every row",
     .hint = 3,
     .kernel = "layernorm_forward/sum_not_reset",
     .compute = mistaken,
     .variant = {SUM_NOT_RESET, SQUARES_NOT_RESET}},
    {.id = "layernorm-padding-counted",
     .cause = "lanes past the last column add (0 - mean)^2 to the variance",
     .hint = 3,
     .kernel = "layernorm_forward/padding_lanes",
     .compute = mistaken,
     .variant = {PADDING}},
    {.id = NULL},
};

/* ---- recognised by the rows and outputs that are wrong ---- */

static bool has_large_mean(enum input_values values) {
    return values == VALUES_SHIFTED || values == VALUES_TINY_VARIANCE || values == VALUES_NEGATIVE ||
           values == VALUES_CONSTANT_ROWS;
}

/* Rows of one or two elements have a variance near 0, so any mean is large in comparison. */
static bool only_large_mean(const struct evidence *evidence, const struct evidence_case *shown) {
    bool spoiled = shown->test.values == VALUES_PLUS_INF || shown->test.values == VALUES_NAN;
    bool short_rows = shown->test.sizes.C <= 2 && !isnan(shown->failure.got);
    (void)evidence;
    return has_large_mean(shown->test.values) || short_rows || spoiled; /* fmaxf(variance, 0) hides NaN */
}

static bool shows_one_pass(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    return first && isfinite(first->failure.expected) && evidence_all_wrong(evidence, only_large_mean);
}

static bool wrong_are_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 0; t < op_tensor_count(evidence->op); t++) {
        size_t count = shown->wrong[t] ? op_elements(evidence->op, t, &shown->test.sizes) : 0;
        for (size_t i = 0; i < count; i++) {
            if (evidence_is_wrong(evidence, shown, t, i) && !evidence_untouched(shown, t, i)) { return false; }
        }
    }
    return true;
}

/* out is right and the statistics are wrong; argument 1: their wrong elements are unwritten. */
static bool shows_statistics(const struct evidence *evidence, int argument) {
    bool wrong = evidence_only_wrong(evidence, "mean", "out") || evidence_only_wrong(evidence, "rstd", "out");
    return wrong && (!argument || evidence_all_wrong(evidence, wrong_are_untouched));
}

/* Every wrong row has a variance near 0, so 1 / sqrt(variance + eps) is large. */
static bool rows_are_flat(const struct evidence *evidence, const struct evidence_case *shown) {
    enum { LARGE = 30 };
    int rstd = op_tensor_find(evidence->op, "rstd");
    size_t C = (size_t)shown->test.sizes.C;
    if (!shown->wrong[rstd]) { return false; }
    for (int t = 0; t < op_tensor_count(evidence->op); t++) {
        size_t count = shown->wrong[t] ? op_elements(evidence->op, t, &shown->test.sizes) : 0;
        for (size_t i = 0; i < count; i++) {
            size_t n = op_is_list(evidence->op, t) ? i : i / C;
            if (evidence_is_wrong(evidence, shown, t, i) && !(shown->expected[rstd][n] > LARGE)) { return false; }
        }
    }
    return true;
}

static bool shows_flat_rows(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, rows_are_flat);
}

const struct op_mistake layernorm_mistakes_shown[] = {
    {.id = "layernorm-one-pass",
     .fact =
         "only rows with a small deviation beside their mean are wrong: E[x^2] - E[x]^2 cancels there, and a rounded "
         "mean or eps matters",
     .hint = 1,
     .kernel = "layernorm_forward/one_pass",
     .predicate = shows_one_pass,
     .stage = MISTAKE_SPECIAL},
    {.id = "layernorm-flat-rows",
     .fact = "only rows with a small variance are wrong, where eps matters: rstd = 1 / sqrt(variance + eps)",
     .hint = 3,
     .kernel = "layernorm_forward/flat_rows",
     .predicate = shows_flat_rows},
    {.id = "statistics-not-written",
     .fact = "out is right, but mean or rstd is not written for every row: one thread of each row writes it",
     .hint = 3,
     .kernel = "residual_layernorm_forward/statistics_of_first_warp",
     .predicate = shows_statistics,
     .argument = 1,
     .stage = MISTAKE_VAGUE},
    {.id = "statistics-wrong",
     .fact = "out is right, mean or rstd is wrong: check the value that is stored, and the thread that stores it",
     .hint = 3,
     .kernel = "residual_layernorm_forward/statistics_of_lane_31",
     .predicate = shows_statistics,
     .argument = 0,
     .stage = MISTAKE_VAGUE},
    {.id = NULL},
};
