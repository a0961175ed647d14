/* patterns_where.c — signatures in where the wrong elements are: rows, columns, shapes, calls. */
#include <string.h>

#include "common/reference.h"
#include "patterns.h"

enum { WARP = 32, LARGEST_BLOCK = 1024 };

bool pattern_is_op(const struct evidence *evidence, const char *op) {
    return strcmp(evidence->op->name, op) == 0;
}

bool pattern_case_is_wrong(const struct evidence_case *shown) {
    if (!shown->returned) { return false; }
    for (int t = 0; t < OP_MAX_TENSORS; t++) {
        if (shown->wrong[t]) { return true; }
    }
    return false;
}

bool pattern_all_wrong(const struct evidence *evidence,
                       bool (*holds)(const struct evidence *, const struct evidence_case *)) {
    bool found = false;
    for (int i = 0; i < evidence->count; i++) {
        if (!pattern_case_is_wrong(evidence->cases[i])) { continue; }
        if (!holds(evidence, evidence->cases[i])) { return false; }
        found = true;
    }
    return found;
}

/* ---- outputs that still hold what was there before ---- */

static size_t elements(const struct evidence *evidence, const struct evidence_case *shown, int tensor) {
    return op_elements(evidence->op, tensor, &shown->test.sizes);
}

static size_t untouched(const struct evidence *evidence, const struct evidence_case *shown, int tensor) {
    size_t count = 0;
    for (size_t i = 0; i < elements(evidence, shown, tensor); i++) { count += evidence_untouched(shown, tensor, i); }
    return count;
}

static bool all_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 0; t < evidence->op->tensor_count; t++) {
        if (shown->got[t] && untouched(evidence, shown, t) != elements(evidence, shown, t)) { return false; }
    }
    return true;
}

bool pattern_untouched(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, all_untouched);
}

/* Output 0 was written everywhere, another output nowhere. */
static bool one_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    bool found = false;
    if (untouched(evidence, shown, 0) > 0 && shown->wrong[0]) { return false; }
    for (int t = 1; t < evidence->op->tensor_count; t++) {
        if (!shown->got[t] || !shown->wrong[t]) { continue; }
        if (untouched(evidence, shown, t) != elements(evidence, shown, t)) { return false; }
        found = true;
    }
    return found;
}

bool pattern_one_output_untouched(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, one_untouched);
}

static bool some_wrong_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    for (size_t i = 0; i < elements(evidence, shown, 0); i++) {
        if (evidence_is_wrong(evidence, shown, 0, i) && evidence_untouched(shown, 0, i)) { return true; }
    }
    return false;
}

/* Some elements are left in every wrong case, though not all in all of them. */
bool pattern_partly_untouched(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, some_wrong_untouched) && !pattern_all_wrong(evidence, all_untouched);
}

/* ---- which rows, columns and shapes ---- */

/* Wrong elements of output 0 are exactly where `selected` says, give or take a tenth that is right by chance. */
static bool wrong_where(const struct evidence *evidence, const struct evidence_case *shown,
                        bool (*selected)(long row, long column, long argument), long argument) {
    long C = shown->test.sizes.C;
    size_t chosen = 0, wrong = 0, count = elements(evidence, shown, 0);
    if (!op_has_rows(evidence->op, 0)) { return false; }
    for (size_t i = 0; i < count; i++) {
        bool here = selected((long)i / C, (long)i % C, argument), bad = evidence_is_wrong(evidence, shown, 0, i);
        if (bad && !here) { return false; }
        chosen += here;
        wrong += bad;
    }
    return chosen < count && wrong * 10 >= chosen * 9;
}

static bool past_row_0(long row, long column, long argument) {
    (void)column, (void)argument;
    return row > 0;
}

static bool row_0_right(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 1; t < evidence->op->tensor_count; t++) {
        if (shown->wrong[t] && evidence_is_wrong(evidence, shown, t, 0)) { return false; }
    }
    /* where C is 1, LayerNorm's out is the bias whichever row was read */
    return shown->wrong[0] == 0 || wrong_where(evidence, shown, past_row_0, 0);
}

bool pattern_only_row_0(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->wrong[0] > 0 && pattern_all_wrong(evidence, row_0_right);
}

static bool other_lane(long row, long column, long block) {
    (void)row;
    return column % block != 0;
}

static bool other_warp(long row, long column, long block) {
    (void)row;
    return column % block >= WARP;
}

static bool some_block(const struct evidence *evidence, bool (*selected)(long, long, long), long smallest) {
    for (long block = smallest; block <= LARGEST_BLOCK; block *= 2) {
        bool found = false, all = true;
        for (int i = 0; i < evidence->count && all; i++) {
            const struct evidence_case *shown = evidence->cases[i];
            if (!pattern_case_is_wrong(shown)) { continue; }
            all = wrong_where(evidence, shown, selected, block);
            found = true;
        }
        if (found && all) { return true; }
    }
    return false;
}

bool pattern_only_lane_0(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return some_block(evidence, other_lane, WARP);
}

bool pattern_first_warp_right(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return some_block(evidence, other_warp, 2 * WARP);
}
