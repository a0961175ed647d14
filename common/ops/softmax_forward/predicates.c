/* Mistakes of any softmax that are recognised by the elements that are wrong, and by their errors. */
#include <math.h>

#include "ops/predicates.h"
#include "softmax.h"

enum { WARP = 32 };

/* ---- infinities ---- */

static bool all_masked(const struct evidence *evidence, const struct evidence_case *shown) {
    return shown->test.values == VALUES_ROW_MINUS_INF && evidence_nan_missing(evidence, shown);
}

static bool shows_all_masked(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_all_wrong(evidence, all_masked);
}

/* Every wrong element is NaN and should be a number. (Inputs with +inf and NaN are not considered.) */
static bool nan_instead(const struct evidence *evidence, const struct evidence_case *shown) {
    if (shown->test.values == VALUES_PLUS_INF || shown->test.values == VALUES_NAN) { return true; }
    for (size_t i = 0, end = op_elements(evidence->op, 0, &shown->test.sizes); i < end; i++) {
        bool is_nan = isnan(shown->got[0][i]) && isfinite(shown->expected[0][i]);
        if (evidence_is_wrong(evidence, shown, 0, i) && !is_nan) { return false; }
    }
    return true;
}

/* The first failure has lanes without a column, or rows with -inf entries, and inputs of ordinary magnitude. */
static bool shows_inf_minus_inf(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    if (!first) { return false; }
    enum input_values values = first->test.values;
    return (values == VALUES_NORMAL || values == VALUES_MINUS_INF || values == VALUES_ROW_MINUS_INF) &&
           evidence_all_wrong(evidence, nan_instead);
}

/* Rows of ordinary magnitude are right, as are those without one, and rows of large magnitude are wrong. */
static bool shows_not_the_maximum(const struct evidence *evidence, int argument) {
    (void)argument;
    bool found = false;
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        enum input_values values = shown->test.values;
        if (!evidence_case_is_wrong(shown)) { continue; }
        bool is_ordinary = values == VALUES_NORMAL || values == VALUES_SMALL || values == VALUES_EQUAL ||
                           values == VALUES_DENORMAL || values == VALUES_NAN || values == VALUES_ROW_MINUS_INF;
        if (is_ordinary) { return false; }
        found = found || values == VALUES_LARGE || values == VALUES_NEGATIVE || values == VALUES_SHIFTED;
    }
    return found;
}

/* ---- sums: got / expected is the quotient of the right sum and the kernel's ---- */

/* got / expected; 0 if expected is not significant or the element is not to be written; -1 if got is not positive and
 * finite. */
static double factor(const struct evidence_case *shown, long row, long column) {
    long i = row * shown->test.sizes.C + column;
    double expected = shown->expected[0][i], got = shown->got[0][i];
    if (!isfinite(expected) || expected < 1e-30 || expected == shown->given[0][i]) { return 0.0; }
    return isfinite(got) && got > 0.0 ? got / expected : -1.0;
}

/* In every row the factor is a function of c % period. `several`: in some row it is not the same for all columns. */
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

/* Do all wrong elements have a factor? */
static bool wrong_by_factor(const struct evidence *evidence, const struct evidence_case *shown) {
    long C = shown->test.sizes.C;
    for (long i = 0; i < shown->test.sizes.N * C; i++) {
        if (evidence_is_wrong(evidence, shown, 0, (size_t)i) && factor(shown, i / C, i % C) <= 0.0) { return false; }
    }
    return true;
}

/* One factor per row (argument 1) or per lane of a warp (argument 32), in enough ordinary cases. */
static bool shows_row_factor(const struct evidence *evidence, int argument) {
    int cases = 0;
    bool several = false;
    if (shows_low_precision(evidence, 0)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!evidence_case_is_wrong(shown) || shown->test.values != VALUES_NORMAL) { continue; }
        if (shown->test.sizes.C <= 2) { continue; } /* with one or two terms, a wrong sum may have none of them */
        if (!wrong_by_factor(evidence, shown) || !same_factor(shown, argument, &several)) { return false; }
        cases += shown->test.sizes.C > 2 * WARP;
    }
    return cases > 0 && (several || argument == 1);
}

const struct op_mistake softmax_mistakes_shown[] = {
    {.id = "softmax-all-masked-row",
     .fact = "a row that is all -inf is not NaN: the contract requires NaN",
     .hint = 3,
     .kernel = "softmax_forward/masked_row_is_zero",
     .predicate = shows_all_masked,
     .stage = MISTAKE_SPECIAL},
    {.id = "softmax-not-the-maximum",
     .fact = "only rows of large magnitude are wrong: is the row's own maximum subtracted, and are small results kept?",
     .hint = 2,
     .kernel = "softmax_forward/max_of_magnitudes",
     .predicate = shows_not_the_maximum},
    {.id = "softmax-inf-minus-inf",
     .fact = "results are NaN where they must be numbers: -INFINITY - (-INFINITY), inf / inf and 0 / 0 are NaN",
     .hint = 3,
     .kernel = "softmax_forward/inf_minus_inf",
     .predicate = shows_inf_minus_inf},
    {.id = "reduction-incomplete",
     .fact = "columns with the same c % 32 are off by one factor, others by another one: do all threads divide by the "
             "same sum?",
     .hint = 2,
     .kernel = "softmax_forward/two_steps_missing",
     .predicate = shows_row_factor,
     .argument = 32,
     .stage = MISTAKE_VAGUE},
    {.id = "softmax-sum-wrong",
     .fact = "each row is off by one factor: check its sum, and that both passes subtract the same maximum",
     .hint = 2,
     .kernel = "softmax_forward/element_counts_exp",
     .predicate = shows_row_factor,
     .argument = 1,
     .stage = MISTAKE_VAGUE},
    {.id = NULL},
};
