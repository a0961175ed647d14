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

/* What the elements i .. i + C - 1 of output 0 may be off by together. */
static double sum_of_tolerances(const struct evidence_case *shown, size_t i, int C) {
    double sum = 0.0;
    for (size_t k = i; k < i + (size_t)C; k++) {
        sum += reference_allowance(shown->test.sizes.type, shown->expected[0][k], shown->condition[0][k]);
    }
    return sum;
}

static bool softmax_rows_sum_to_one(const struct op *op, const struct evidence_case *shown, struct failure *failure) {
    (void)op;
    int N = shown->test.sizes.N, C = shown->test.sizes.C;
    for (long n = 0; n < N; n++) {
        const float *got = shown->got[0] + n * C;
        double sum = 0.0;
        if (isnan(shown->expected[0][n * C])) { continue; }
        for (int c = 0; c < C; c++) { sum += got[c]; }
        double tolerance = sum_of_tolerances(shown, (size_t)(n * C), C);
        if (!report_row(failure, n, 1.0, sum, tolerance, "the sum")) { return false; }
    }
    return true;
}

/* A causal row's keys sum to 1, unless there is none. */
static bool causal_rows_sum_to_one(const struct op *op, const struct evidence_case *shown, struct failure *failure) {
    int N = shown->test.sizes.N, C = shown->test.sizes.C;
    const float *lengths = shown->given[op_tensor_find(op, "lengths")];
    for (long n = 0; n < N; n++) {
        const float *got = shown->got[0] + n * C;
        int keys = reference_keys(&shown->test.sizes, lengths, (int)n);
        double sum = 0.0;
        if (keys == 0 || isnan(shown->expected[0][n * C])) { continue; }
        for (int c = 0; c < keys; c++) { sum += got[c]; }
        double tolerance = sum_of_tolerances(shown, (size_t)(n * C), keys);
        if (!report_row(failure, n, 1.0, sum, tolerance, "the sum")) { return false; }
    }
    return true;
}

/* xhat = (out - bias) / weight has mean 0 in every row; our weights stay above 0.2. */
static bool layernorm_rows_are_normal(const struct op *op, const struct evidence_case *shown, struct failure *failure) {
    int N = shown->test.sizes.N, C = shown->test.sizes.C;
    const float *weight = shown->given[op_tensor_find(op, "weight")], *bias = shown->given[op_tensor_find(op, "bias")];
    for (long n = 0; n < N; n++) {
        const float *got = shown->got[0] + n * C;
        double sum = 0.0, tolerance = 0.0;
        if (isnan(shown->expected[0][n * C])) { continue; }
        for (int c = 0; c < C; c++) {
            sum += ((double)got[c] - bias[c]) / weight[c];
            tolerance += sum_of_tolerances(shown, (size_t)(n * C + c), 1) / fabs((double)weight[c]);
        }
        if (!report_row(failure, n, 0.0, sum / C, tolerance / C + 1e-12, "the mean of (out - bias) / weight")) {
            return false;
        }
    }
    return true;
}

static const struct {
    const char *op;
    bool (*hold)(const struct op *, const struct evidence_case *, struct failure *);
} invariants[] = {
    {"softmax_forward", softmax_rows_sum_to_one},
    {"causal_softmax_forward", causal_rows_sum_to_one},
    {"layernorm_forward", layernorm_rows_are_normal},
    {"residual_layernorm_forward", layernorm_rows_are_normal},
};

bool invariants_hold(const struct op *op, const struct evidence_case *shown, struct failure *failure) {
    for (size_t i = 0; i < sizeof invariants / sizeof invariants[0]; i++) {
        if (strcmp(invariants[i].op, op->name) == 0) { return invariants[i].hold(op, shown, failure); }
    }
    return true;
}
