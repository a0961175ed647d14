/* invariants.c — what must hold whatever the reference says. A second, independent look: the reference could be wrong. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "common/reference.h"

static bool report_row(struct failure *failure, long row, double expected, double got, double tolerance,
                       const char *what) {
    if (fabs(got - expected) <= tolerance) { return true; }
    failure->kind = FAILURE_INVARIANT;
    failure->tensor = 0;
    failure->row = row;
    failure->column = -1;
    failure->expected = expected;
    failure->got = got;
    failure->tolerance = tolerance;
    snprintf(failure->text, sizeof failure->text, "%s of row %ld is %.9g instead of %g", what, row, got, expected);
    return false;
}

static double sum_of_tolerances(const double *condition, int C) {
    double sum = 0.0;
    for (int c = 0; c < C; c++) { sum += reference_tolerance(condition[c]); }
    return sum;
}

static bool softmax_rows_sum_to_one(const struct evidence_case *shown, struct failure *failure) {
    int N = shown->test.sizes.N, C = shown->test.sizes.C;
    for (long n = 0; n < N; n++) {
        const float *got = shown->got[0] + n * C;
        double sum = 0.0;
        if (isnan(shown->expected[0][n * C])) { continue; }
        for (int c = 0; c < C; c++) { sum += got[c]; }
        double tolerance = sum_of_tolerances(shown->condition[0] + n * C, C);
        if (!report_row(failure, n, 1.0, sum, tolerance, "the sum")) { return false; }
    }
    return true;
}

/* xhat = (out - bias) / weight has mean 0 in every row; our weights stay above 0.2. */
static bool layernorm_rows_are_normal(const struct evidence_case *shown, struct failure *failure) {
    int N = shown->test.sizes.N, C = shown->test.sizes.C;
    const float *weight = shown->given[4], *bias = shown->given[5];
    for (long n = 0; n < N; n++) {
        const float *got = shown->got[0] + n * C;
        double sum = 0.0, tolerance = 0.0;
        if (isnan(shown->expected[0][n * C])) { continue; }
        for (int c = 0; c < C; c++) {
            sum += ((double)got[c] - bias[c]) / weight[c];
            tolerance += reference_tolerance(shown->condition[0][n * C + c]) / fabs((double)weight[c]);
        }
        if (!report_row(failure, n, 0.0, sum / C, tolerance / C + 1e-12, "the mean of (out - bias) / weight")) {
            return false;
        }
    }
    return true;
}

static const struct {
    const char *op;
    bool (*hold)(const struct evidence_case *, struct failure *);
} invariants[] = {
    {"softmax_forward", softmax_rows_sum_to_one},
    {"layernorm_forward", layernorm_rows_are_normal},
};

bool invariants_hold(const struct op *op, const struct evidence_case *shown, struct failure *failure) {
    for (size_t i = 0; i < sizeof invariants / sizeof invariants[0]; i++) {
        if (strcmp(invariants[i].op, op->name) == 0) { return invariants[i].hold(shown, failure); }
    }
    return true;
}
