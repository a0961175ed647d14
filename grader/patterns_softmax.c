/* patterns_softmax.c — signatures in what a wrong softmax holds. */
#include <math.h>

#include "patterns.h"

enum { WARP = 32 };

static bool is_softmax(const struct evidence *evidence) {
    return pattern_is_op(evidence, "softmax_forward") || pattern_is_op(evidence, "causal_softmax_forward");
}

/* ---- infinities ---- */

static bool all_masked(const struct evidence *evidence, const struct evidence_case *shown) {
    return shown->test.values == VALUES_ROW_MINUS_INF && pattern_nan_missing(evidence, shown);
}

bool pattern_all_masked(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, all_masked);
}

/* Every wrong element is NaN and should be a number. (What becomes of +inf and NaN is another question.) */
static bool nan_instead(const struct evidence *evidence, const struct evidence_case *shown) {
    if (shown->test.values == VALUES_PLUS_INF || shown->test.values == VALUES_NAN) { return true; }
    for (size_t i = 0; i < op_elements(evidence->op, 0, &shown->test.sizes); i++) {
        bool is_nan = isnan(shown->got[0][i]) && isfinite(shown->expected[0][i]);
        if (evidence_is_wrong(evidence, shown, 0, i) && !is_nan) { return false; }
    }
    return true;
}

/* It shows first where a lane has no column at all, or where the row has -inf entries; magnitude has no part in it. */
bool pattern_inf_minus_inf(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    if (!is_softmax(evidence) || !first) { return false; }
    enum input_values values = first->test.values;
    return (values == VALUES_NORMAL || values == VALUES_MINUS_INF || values == VALUES_ROW_MINUS_INF) &&
           pattern_all_wrong(evidence, nan_instead);
}

/* Rows of ordinary size are right, and large ones are not. */
bool pattern_not_the_maximum(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    bool found = false;
    if (!is_softmax(evidence)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        enum input_values values = shown->test.values;
        if (!pattern_case_is_wrong(shown)) { continue; }
        if (values == VALUES_NORMAL || values == VALUES_SMALL || values == VALUES_EQUAL || values == VALUES_DENORMAL) {
            return false;
        }
        found = found || values == VALUES_LARGE || values == VALUES_NEGATIVE || values == VALUES_SHIFTED;
    }
    return found;
}

/* ---- sums: what is divided by shows in the quotient of got and expected ---- */

/* got / expected; 0 where that says nothing (or nothing is to be written), negative where got is no quotient at all. */
static double factor(const struct evidence_case *shown, long row, long column) {
    long i = row * shown->test.sizes.C + column;
    double expected = shown->expected[0][i], got = shown->got[0][i];
    if (!isfinite(expected) || expected < 1e-30 || expected == shown->given[0][i]) { return 0.0; }
    return isfinite(got) && got > 0.0 ? got / expected : -1.0;
}

/* In every row the factor is the same at all columns c that agree in c % period. `several`: and in some row it is not the
 * same at all columns. */
static bool same_factor(const struct evidence_case *shown, long period, bool *several) {
    long C = shown->test.sizes.C;
    for (long n = 0; n < shown->test.sizes.N; n++) {
        double seen[WARP] = {0};
        for (long c = 0; c < C; c++) {
            double here = factor(shown, n, c), *first = &seen[c % period];
            if (here == 0.0) { continue; }
            if (here < 0.0) { return false; }
            if (*first == 0.0) { *first = here; }
            if (fabs(here / *first - 1.0) > 1e-3) { return false; }
            *several = *several || (seen[0] > 0.0 && fabs(here / seen[0] - 1.0) > 1e-2);
        }
    }
    return true;
}

/* A factor for each row (argument 1), or one for each lane of a warp (argument 32): enough ordinary cases show it. */
bool pattern_row_factor(const struct signature *signature, const struct evidence *evidence) {
    int cases = 0;
    bool several = false;
    if (!is_softmax(evidence) || pattern_low_precision(signature, evidence)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!pattern_case_is_wrong(shown) || shown->test.values != VALUES_NORMAL) { continue; }
        if (shown->test.sizes.C <= 2) { continue; } /* of one or two terms a wrong sum may hold none */
        if (!same_factor(shown, signature->argument, &several)) { return false; }
        cases += shown->test.sizes.C > 2 * WARP;
    }
    return cases > 0 && (several || signature->argument == 1);
}
