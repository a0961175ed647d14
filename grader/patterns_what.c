/* patterns_what.c — signatures in what the wrong elements hold. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/elements.h"
#include "common/reference.h"
#include "mistakes.h"
#include "patterns.h"

enum { MISTAKE_CASES = 10, MISTAKE_ELEMENTS = 9000 };

/* ---- distances: 0 alike, 1 as different as can be, summed over the elements ---- */

static double difference(double a, double b) {
    if (!isfinite(a) || !isfinite(b)) { return (isnan(a) && isnan(b)) || a == b ? 0.0 : 1.0; }
    double size = fmax(fabs(a), fabs(b));
    return size == 0.0 ? 0.0 : fmin(fabs(a - b) / size, 1.0);
}

static double distance(const struct op *op, const struct evidence_case *shown, double *const values[]) {
    double sum = 0.0;
    for (int t = 0; t < op->tensor_count; t++) {
        if (!shown->got[t]) { continue; }
        for (size_t i = 0; i < op_elements(op, t, &shown->test.sizes); i++) {
            double rounding = reference_tolerance(shown->condition[t][i]);
            if (isinf(rounding) || fabs(shown->got[t][i] - values[t][i]) <= rounding) { continue; }
            sum += difference(shown->got[t][i], values[t][i]);
        }
    }
    return sum;
}

/* ---- mistakes ---- */

/* How far what the case shows is from what the mistake would have given. */
static double distance_of(const struct mistake *mistake, const struct op *op, const struct evidence_case *shown) {
    double *out[OP_MAX_TENSORS] = {0};
    for (int t = 0; t < op->tensor_count; t++) {
        size_t count = op_elements(op, t, &shown->test.sizes);
        if (shown->got[t]) { out[t] = calloc(count + 1, sizeof(double)); }
        if (shown->got[t] && !out[t]) { abort(); }
    }
    mistake->compute(mistake->variant, &shown->test.sizes, (const float *const *)shown->given, out);
    for (int t = 0; t < op->tensor_count; t++) { /* as a kernel would have stored it */
        enum op_type type = element_type(op, t, shown->test.sizes.type);
        for (size_t i = 0; out[t] && i < op_elements(op, t, &shown->test.sizes); i++) {
            out[t][i] = element_round(type, out[t][i]);
        }
    }
    double sum = distance(op, shown, out);
    for (int t = 0; t < op->tensor_count; t++) { free(out[t]); }
    return sum;
}

/* A wrong case holds what the mistake gives; a right one does not tell against it: there it changes next to nothing. */
static bool agrees(const struct mistake *mistake, const struct op *op, const struct evidence_case *shown) {
    double measure = pattern_case_is_wrong(shown) ? distance(op, shown, shown->expected)
                                                  : (double)op_elements(op, 0, &shown->test.sizes);
    return distance_of(mistake, op, shown) <= 0.05 * measure;
}

static bool agrees_with_all(const struct mistake *mistake, const struct evidence *evidence, bool wrong) {
    int looked = 0;
    for (int i = 0; i < evidence->count && (!wrong || looked < MISTAKE_CASES); i++) {
        const struct evidence_case *shown = evidence->cases[i];
        long count = (long)shown->test.sizes.N * shown->test.sizes.C;
        bool usable = wrong ? pattern_case_is_wrong(shown) : shown->returned && shown->failure.kind == FAILURE_NONE;
        if (!usable || shown->test.in_place || count > MISTAKE_ELEMENTS) { continue; }
        if (!agrees(mistake, evidence->op, shown)) { return false; }
        looked++;
    }
    return looked > 0 || !wrong;
}

bool pattern_mistake(const struct signature *signature, const struct evidence *evidence) {
    for (const struct mistake *mistake = mistakes; mistake->id; mistake++) {
        if (strcmp(mistake->id, signature->id) != 0 || !pattern_is_op(evidence, mistake->op)) { continue; }
        if (agrees_with_all(mistake, evidence, true) && agrees_with_all(mistake, evidence, false)) { return true; }
    }
    return false;
}

/* ---- elements of the right result in the wrong place ---- */

static size_t element_count(const struct evidence *evidence, const struct evidence_case *shown) {
    return op_elements(evidence->op, 0, &shown->test.sizes);
}

static bool is_close(double a, double b) {
    return difference(a, b) < 1e-4;
}

static bool shifted_by(const struct evidence *evidence, const struct evidence_case *shown, long by) {
    long count = (long)element_count(evidence, shown), alike = 0, compared = 0;
    for (long i = 1; i + 1 < count; i++) {
        compared++;
        alike += is_close(shown->got[0][i], shown->expected[0][i + by]);
    }
    return compared == 0 || alike * 20 >= compared * 17;
}

static bool shifted_left(const struct evidence *evidence, const struct evidence_case *shown) {
    return shifted_by(evidence, shown, 1);
}

static bool shifted_right(const struct evidence *evidence, const struct evidence_case *shown) {
    return shifted_by(evidence, shown, -1);
}

static bool has_large_case(const struct evidence *evidence) {
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (pattern_case_is_wrong(shown) && element_count(evidence, shown) >= 16) { return true; }
    }
    return false;
}

bool pattern_shifted(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return has_large_case(evidence) &&
           (pattern_all_wrong(evidence, shifted_left) || pattern_all_wrong(evidence, shifted_right));
}

static bool transposed(const struct evidence *evidence, const struct evidence_case *shown) {
    size_t N = (size_t)shown->test.sizes.N, C = (size_t)shown->test.sizes.C, alike = 0;
    (void)evidence;
    for (size_t i = 0; i < N * C; i++) { alike += is_close(shown->got[0][i], shown->expected[0][i % N * C + i / N]); }
    return alike * 10 >= N * C * 9;
}

bool pattern_transposed(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return op_has_rows(evidence->op, 0) && has_large_case(evidence) && pattern_all_wrong(evidence, transposed);
}

/* ---- the right result times a constant, or added to what was there ---- */

/* got / expected, the same for every element of output 0; 0 when it is not. */
static double ratio(const struct evidence *evidence, const struct evidence_case *shown) {
    double common = 0.0;
    for (size_t i = 0; i < element_count(evidence, shown); i++) {
        double expected = shown->expected[0][i], got = shown->got[0][i];
        if (!isfinite(expected) || fabs(expected) < 1e-30) { continue; }
        double here = got / expected;
        if (!isfinite(here) || here == 0.0 || (common != 0.0 && fabs(here / common - 1.0) > 1e-3)) { return 0.0; }
        common = here;
    }
    return common;
}

static bool is_scaled(const struct evidence *evidence, const struct evidence_case *shown) {
    double here = ratio(evidence, shown);
    return here != 0.0 && fabs(here - 1.0) > 0.01; /* nearer to 1 it is precision */
}

static bool is_halved_or_doubled(const struct evidence *evidence, const struct evidence_case *shown) {
    double here = ratio(evidence, shown);
    return fabs(here - 0.5) < 1e-3 || fabs(here - 2.0) < 1e-3;
}

bool pattern_scaled(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return has_large_case(evidence) && pattern_all_wrong(evidence, is_scaled);
}

bool pattern_halved_or_doubled(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return has_large_case(evidence) && pattern_all_wrong(evidence, is_halved_or_doubled);
}

/* An output that should be overwritten holds the poison plus the result. */
static bool is_accumulated(const struct evidence *evidence, const struct evidence_case *shown) {
    size_t count = element_count(evidence, shown);
    if (evidence->op->tensor[0].role != ROLE_OUT || !shown->wrong[0] || shown->test.in_place) { return false; }
    for (size_t i = 0; i < count; i++) {
        double added = (double)shown->got[0][i] - shown->given[0][i];
        if (!isfinite(shown->expected[0][i])) { continue; }
        if (!(fabs(added - shown->expected[0][i]) <= 0.01 + 1e-3 * fabs(shown->expected[0][i]))) { return false; }
    }
    return true;
}

/* Small results vanish in the poison: where nothing has changed at all, nothing was added either. */
bool pattern_accumulated(const struct signature *signature, const struct evidence *evidence) {
    return pattern_all_wrong(evidence, is_accumulated) && !pattern_untouched(signature, evidence);
}

/* ---- NaN where there should be none, or none where it should be ---- */

static bool spoils_one_row(enum input_values values) {
    return values == VALUES_NAN || values == VALUES_PLUS_INF || values == VALUES_ROW_MINUS_INF;
}

/* Wrong rows beside the spoiled one, and NaN in them. */
static bool nan_elsewhere(const struct evidence *evidence, const struct evidence_case *shown) {
    bool found = false;
    int C = evidence->op->tensor[0].shape == SHAPE_N ? 1 : shown->test.sizes.C;
    if (!spoils_one_row(shown->test.values)) { return false; }
    for (size_t i = 0; i < element_count(evidence, shown); i++) {
        bool special = (int)(i / (size_t)C) == inputs_special_row(&shown->test.sizes);
        found = found || (!special && !isfinite(shown->got[0][i]) && isfinite(shown->expected[0][i]));
    }
    return found;
}

bool pattern_nan_in_other_rows(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, nan_elsewhere);
}

/* Every wrong element should be NaN and is not. */
bool pattern_nan_missing(const struct evidence *evidence, const struct evidence_case *shown) {
    for (size_t i = 0; i < element_count(evidence, shown); i++) {
        if (evidence_is_wrong(evidence, shown, 0, i) && !isnan(shown->expected[0][i])) { return false; }
    }
    return spoils_one_row(shown->test.values);
}

bool pattern_nan_hidden(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, pattern_nan_missing);
}

/* ---- digits lost ---- */

static bool has_large_mean(enum input_values values) {
    return values == VALUES_SHIFTED || values == VALUES_TINY_VARIANCE || values == VALUES_NEGATIVE ||
           values == VALUES_CONSTANT_ROWS;
}

/* Rows of one or two elements have a variance of nearly nothing, so there any mean is large. */
static bool only_large_mean(const struct evidence *evidence, const struct evidence_case *shown) {
    bool spoiled = shown->test.values == VALUES_PLUS_INF || shown->test.values == VALUES_NAN;
    (void)evidence;
    return has_large_mean(shown->test.values) || shown->test.sizes.C <= 2 || spoiled; /* fmaxf(variance, 0) hides NaN */
}

bool pattern_one_pass(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    bool forward =
        pattern_is_op(evidence, "layernorm_forward") || pattern_is_op(evidence, "residual_layernorm_forward");
    const struct evidence_case *first = evidence_failure(evidence);
    return forward && first && isfinite(first->failure.expected) && pattern_all_wrong(evidence, only_large_mean);
}

/* Nearly right everywhere: off by more than float32 allows and by less than a hundredth of the largest element. */
static bool nearly_right(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 0; t < evidence->op->tensor_count; t++) {
        double largest = 0.0;
        size_t count = shown->got[t] ? op_elements(evidence->op, t, &shown->test.sizes) : 0;
        for (size_t i = 0; i < count; i++) {
            if (isfinite(shown->expected[t][i])) { largest = fmax(largest, fabs(shown->expected[t][i])); }
        }
        for (size_t i = 0; i < count; i++) {
            if (!evidence_is_wrong(evidence, shown, t, i)) { continue; }
            if (!(fabs(shown->got[t][i] - shown->expected[t][i]) <= 0.02 * largest)) { return false; }
        }
    }
    return true;
}

static bool ordinary_nearly_right(const struct evidence *evidence, const struct evidence_case *shown) {
    /* in a row of a few elements 1 / sqrt(variance + eps) makes small errors large, in a long one coarse sums stand still */
    bool ordinary = shown->test.values == VALUES_NORMAL && shown->test.sizes.C >= 16 && shown->test.sizes.C <= 2048;
    return !ordinary || nearly_right(evidence, shown);
}

bool pattern_low_precision(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    return first && pattern_case_is_wrong(first) && nearly_right(evidence, first) &&
           pattern_all_wrong(evidence, ordinary_nearly_right);
}
