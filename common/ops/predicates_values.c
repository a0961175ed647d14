/* predicates_values.c — predicates over the values of the wrong elements, and helpers for invariants. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "predicates.h"

/* ---- elements of the right result in the wrong place ---- */

static size_t element_count(const struct evidence *evidence, const struct evidence_case *shown) {
    return op_elements(evidence->op, 0, &shown->test.sizes);
}

static bool is_close(double a, double b) {
    return evidence_difference(a, b) < 1e-4;
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
        if (evidence_case_is_wrong(shown) && element_count(evidence, shown) >= 16) { return true; }
    }
    return false;
}

bool shows_shifted(const struct evidence *evidence, int argument) {
    (void)argument;
    return has_large_case(evidence) &&
           (evidence_all_wrong(evidence, shifted_left) || evidence_all_wrong(evidence, shifted_right));
}

static bool transposed(const struct evidence *evidence, const struct evidence_case *shown) {
    size_t N = (size_t)shown->test.sizes.N, C = (size_t)shown->test.sizes.C, alike = 0;
    (void)evidence;
    if (N == 1 || C == 1) { return false; } /* exchanged or not, the index is the same */
    for (size_t i = 0; i < N * C; i++) { alike += is_close(shown->got[0][i], shown->expected[0][i % N * C + i / N]); }
    return alike * 10 >= N * C * 9;
}

bool shows_transposed(const struct evidence *evidence, int argument) {
    (void)argument;
    return op_has_rows(evidence->op, 0) && has_large_case(evidence) && evidence_all_wrong(evidence, transposed);
}

/* ---- the right result times a constant, or added to the old value ---- */

/* got / expected, if it is the same for every element of output 0; else 0. */
static double ratio(const struct evidence *evidence, const struct evidence_case *shown) {
    double common = 0.0;
    for (size_t i = 0, end = element_count(evidence, shown); i < end; i++) {
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
    return here != 0.0 && fabs(here - 1.0) > 0.01; /* a factor closer to 1 is lost precision */
}

static bool is_halved_or_doubled(const struct evidence *evidence, const struct evidence_case *shown) {
    double here = ratio(evidence, shown);
    return fabs(here - 0.5) < 1e-3 || fabs(here - 2.0) < 1e-3;
}

bool shows_scaled(const struct evidence *evidence, int argument) {
    (void)argument;
    return has_large_case(evidence) && evidence_all_wrong(evidence, is_scaled);
}

bool shows_halved_or_doubled(const struct evidence *evidence, int argument) {
    (void)argument;
    return has_large_case(evidence) && evidence_all_wrong(evidence, is_halved_or_doubled);
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

/* Small results vanish in the poison. If no element has changed, nothing was added. */
bool shows_accumulated(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, is_accumulated) && !shows_untouched(evidence, 0);
}

/* ---- unexpected or missing NaN ---- */

static bool spoils_one_row(enum input_values values) {
    return values == VALUES_NAN || values == VALUES_PLUS_INF || values == VALUES_ROW_MINUS_INF;
}

/* Rows other than the one with the special value are wrong, and hold NaN. */
static bool nan_elsewhere(const struct evidence *evidence, const struct evidence_case *shown) {
    bool found = false;
    int C = op_is_list(evidence->op, 0) ? 1 : shown->test.sizes.C;
    if (!spoils_one_row(shown->test.values)) { return false; }
    for (size_t i = 0, end = element_count(evidence, shown); i < end; i++) {
        bool special = (int)(i / (size_t)C) == inputs_special_row(&shown->test.sizes);
        found = found || (!special && !isfinite(shown->got[0][i]) && isfinite(shown->expected[0][i]));
    }
    return found;
}

bool shows_nan_in_other_rows(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, nan_elsewhere);
}

/* Every wrong element should be NaN but is not. */
bool evidence_nan_missing(const struct evidence *evidence, const struct evidence_case *shown) {
    for (size_t i = 0, end = element_count(evidence, shown); i < end; i++) {
        if (evidence_is_wrong(evidence, shown, 0, i) && !isnan(shown->expected[0][i])) { return false; }
    }
    return spoils_one_row(shown->test.values);
}

bool shows_nan_hidden(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, evidence_nan_missing);
}

/* ---- lost precision ---- */

/* Every wrong element is off by at most 2 % of the largest element. */
static bool nearly_right(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 0; t < op_tensor_count(evidence->op); t++) {
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

/* In short rows 1 / sqrt(variance + eps) amplifies errors; in long ones sums of low precision stop growing. */
static bool is_ordinary(const struct evidence_case *shown) {
    return shown->test.values == VALUES_NORMAL && shown->test.sizes.C >= 16 && shown->test.sizes.C <= 2048;
}

static bool ordinary_nearly_right(const struct evidence *evidence, const struct evidence_case *shown) {
    return !is_ordinary(shown) || nearly_right(evidence, shown);
}

bool shows_low_precision(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    bool some = false;
    for (int i = 0; i < evidence->count; i++) {
        some |= is_ordinary(evidence->cases[i]) && evidence_case_is_wrong(evidence->cases[i]);
    }
    return some && evidence_case_is_wrong(first) && nearly_right(evidence, first) &&
           evidence_all_wrong(evidence, ordinary_nearly_right);
}

/* ---- rounding ---- */

/* In some 16-bit output every wrong element is the right one's neighbour towards 0. */
static bool is_cut_off(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 0; t < op_tensor_count(evidence->op); t++) {
        enum op_type type = element_type(evidence->op, t, shown->test.sizes.type);
        bool cut = type != TYPE_F32 && shown->wrong[t] > 0;
        for (size_t i = 0, end = op_elements(evidence->op, t, &shown->test.sizes); cut && i < end; i++) {
            double expected = shown->expected[t][i], got = shown->got[t][i];
            double unit = type == TYPE_F16 ? 0x1p-10 : 0x1p-7;
            bool beneath = fabs(got) < fabs(expected) && fabs(expected - got) <= unit * fabs(expected);
            cut = !evidence_is_wrong(evidence, shown, t, i) || beneath;
        }
        if (cut) { return true; }
    }
    return false;
}

static long wrong_elements(const struct evidence *evidence) {
    long count = 0;
    for (int i = 0; i < evidence->count; i++) {
        for (int t = 0; t < OP_MAX_TENSORS; t++) { count += evidence->cases[i]->wrong[t]; }
    }
    return count;
}

bool shows_cut_off(const struct evidence *evidence, int argument) {
    enum { ENOUGH = 50 }; /* to exclude chance */
    (void)argument;
    return wrong_elements(evidence) >= ENOUGH && evidence_all_wrong(evidence, is_cut_off);
}

bool evidence_only_wrong(const struct evidence *evidence, const char *wrong, const char *right) {
    int w = op_tensor_find(evidence->op, wrong), r = op_tensor_find(evidence->op, right);
    bool found = false;
    if (w < 0 || r < 0) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!evidence_case_is_wrong(shown)) { continue; }
        if (shown->wrong[r]) { return false; }
        found = found || shown->wrong[w];
    }
    return found;
}

/* ---- invariants ---- */

bool invariant_row(struct failure *broken, long row, double expected, double got, double tolerance, const char *what) {
    if (fabs(got - expected) <= tolerance) { return true; }
    broken->kind = FAILURE_INVARIANT;
    broken->tensor = 0;
    broken->row = row;
    broken->column = -1;
    broken->expected = expected;
    broken->got = got;
    broken->tolerance = tolerance;
    snprintf(broken->text, sizeof broken->text, "%s of row %ld is %.9g instead of %g", what, row, got, expected);
    return false;
}

double invariant_tolerance(const struct evidence_case *shown, size_t i, long count) {
    double sum = 0.0;
    for (size_t k = i; k < i + (size_t)count; k++) {
        sum += reference_allowance(shown->test.sizes.type, shown->expected[0][k], shown->condition[0][k]);
    }
    return sum;
}

bool invariant_sum_is_one(const struct op *op, const struct evidence_case *shown, long n, long count,
                          struct failure *broken) {
    size_t first = (size_t)n * (size_t)shown->test.sizes.C;
    double sum = 0.0;
    (void)op;
    if (count == 0 || isnan(shown->expected[0][first])) { return true; }
    for (long c = 0; c < count; c++) { sum += shown->got[0][first + (size_t)c]; }
    return invariant_row(broken, n, 1.0, sum, invariant_tolerance(shown, first, count), "the sum");
}
