/* report_element.c — how a report names the element that is wrong, and says what it holds. */
#include <stdio.h>
#include <string.h>

#include "report.h"

/* Of a model, after the tensor's name: "[0][1][3][5]" of a cache, " after layer 1's attention [4][5]" of a hidden state. */
static void wired_element(const struct op *op, const struct failure *failure, char *text, size_t size) {
    const struct op_sizes *sizes = &failure->sizes;
    const char *shape = op->tensor[failure->tensor].shape;
    long row = failure->row, N = sizes->N;
    int length = 0;
    if (strcmp(shape, "B, H, S, D") == 0) {
        snprintf(text, size, "[%ld][%ld][%ld][%ld]", row / sizes->S / sizes->H, row / sizes->S % sizes->H,
                 row % sizes->S, failure->column);
    } else if (strcmp(shape, "2L+1, N, C") == 0 && row / N == 2L * sizes->L) {
        snprintf(text, size, " state, last LayerNorm [%ld][%ld]", row % N, failure->column);
    } else if (strcmp(shape, "2L+1, N, C") == 0) {
        snprintf(text, size, " state, block %ld, %s [%ld][%ld]", row / N / 2,
                 row / N % 2 ? "branch of the MLP" : "residual after attention", row % N, failure->column);
    } else if (strcmp(shape, "K+1, B") == 0) {
        snprintf(text, size, ", step %ld, sequence %ld", row, failure->column);
    } else if (strncmp(shape, "K+1, B", strlen("K+1, B")) == 0) {
        snprintf(text, size, ", step %ld, sequence %ld [%ld]", row / sizes->B, row % sizes->B, failure->column);
    } else {
        if (row >= 0) { length = snprintf(text, size, "[%ld]", row); }
        if (failure->column >= 0) { snprintf(text + length, size - (size_t)length, "[%ld]", failure->column); }
    }
}

/* "out[2][33]", "rstd[2]", "dweight[33]"; of (B, H, T, T): "out[1][0][2][33]" */
void report_element(const struct op *op, const struct failure *failure, char *name, size_t size) {
    const struct op_sizes *sizes = &failure->sizes;
    int length = snprintf(name, size, "%s", op->tensor[failure->tensor].name);
    if (op_is_wiring(op) && sizes->S > 0) { /* there was a call */
        wired_element(op, failure, name + length, size - (size_t)length);
        return;
    }
    if (op_is_causal(op) && op_has_rows(op, failure->tensor) && failure->row >= 0 && sizes->T > 0) {
        long matrix = failure->row / sizes->T;
        snprintf(name + length, size - (size_t)length, "[%ld][%ld][%ld][%ld]", matrix / sizes->H, matrix % sizes->H,
                 failure->row % sizes->T, failure->column);
        return;
    }
    if (failure->row >= 0) { length += snprintf(name + length, size - (size_t)length, "[%ld]", failure->row); }
    if (failure->column >= 0) { snprintf(name + length, size - (size_t)length, "[%ld]", failure->column); }
}

/* Nine digits; a NaN has no sign that anybody chose. */
static const char *number(double value, char text[32]) {
    snprintf(text, 32, "%.9g", value);
    return value == value ? text : "NaN";
}

void report_values(FILE *out, const struct op *op, const struct failure *failure) {
    char name[96], expected_text[32], got_text[32];
    const char *expected = number(failure->expected, expected_text), *got = number(failure->got, got_text);
    report_element(op, failure, name, sizeof name);
    if (failure->kind == FAILURE_WRONG && failure->misrounded) {
        fprintf(out, "    %s: expected %s, got %s, which is not the nearest %s; so are %ld of %ld elements\n", name,
                expected, got, op_type_name(failure->sizes.type), failure->wrong, failure->total);
    } else if (failure->kind == FAILURE_WRONG) {
        fprintf(out, "    %s: expected %s, got %s (off by more than %.2g); %ld of %ld elements are wrong\n", name,
                expected, got, failure->tolerance, failure->wrong, failure->total);
    } else if (failure->kind == FAILURE_REPEAT) {
        fprintf(out, "    %s: first %s, then %s\n", name, expected, got);
    } else if (failure->kind == FAILURE_MODIFIED || failure->kind == FAILURE_OVERRUN) {
        fprintf(out, "    was %s, is %s\n", expected, got);
    }
}
