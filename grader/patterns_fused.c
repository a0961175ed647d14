/* patterns_fused.c — signatures of lab 3's ops: which part of a causal matrix is wrong, which lengths, which type. */
#include <math.h>
#include <string.h>

#include "common/reference.h"
#include "patterns.h"

enum { VECTOR_BYTES = 16 };

/* Where an element of output 0 stands. */
enum part { ALLOWED, PADDED /* on or below the diagonal, past the length */, ABOVE };

static enum part part_of(const struct evidence *evidence, const struct evidence_case *shown, size_t i) {
    const struct op_sizes *sizes = &shown->test.sizes;
    int row = (int)(i / (size_t)sizes->C), column = (int)(i % (size_t)sizes->C);
    const float *lengths = shown->given[op_tensor_find(evidence->op, "lengths")];
    if (column > row % sizes->C) { return ABOVE; }
    return column < reference_keys(sizes, lengths, row) ? ALLOWED : PADDED;
}

/* Every wrong element of output 0 is in that part, and in a row of the given kind. */
static bool all_wrong_in(const struct evidence *evidence, const struct evidence_case *shown, enum part part,
                         bool (*holds)(const struct evidence_case *, size_t)) {
    if (!op_is_causal(evidence->op)) { return false; }
    for (size_t i = 0; i < op_elements(evidence->op, 0, &shown->test.sizes); i++) {
        if (!evidence_is_wrong(evidence, shown, 0, i)) { continue; }
        if (part_of(evidence, shown, i) != part || (holds && !holds(shown, i))) { return false; }
    }
    return true;
}

static bool is_untouched(const struct evidence_case *shown, size_t i) {
    return evidence_untouched(shown, 0, i);
}

static bool above_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    return !shown->test.sizes.upper && all_wrong_in(evidence, shown, ABOVE, NULL);
}

bool pattern_upper_not_zeroed(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, above_untouched);
}

static bool above_written(const struct evidence *evidence, const struct evidence_case *shown) {
    return shown->test.sizes.upper && all_wrong_in(evidence, shown, ABOVE, NULL);
}

bool pattern_upper_written(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, above_written);
}

static bool padding_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    return all_wrong_in(evidence, shown, PADDED, is_untouched);
}

bool pattern_padding_not_zeroed(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, padding_untouched);
}

static bool has_no_keys(const struct evidence_case *shown, size_t i) {
    const struct op_sizes *sizes = &shown->test.sizes;
    float length = sizes->lengths ? 0.0f : 1.0f;
    for (int t = 0; t < OP_MAX_TENSORS && sizes->lengths; t++) {
        /* lengths is the one tensor that is given with B elements: the last of a causal op */
        if (shown->given[t]) { length = shown->given[t][i / (size_t)sizes->C / (size_t)(sizes->H * sizes->T)]; }
    }
    return length <= 0.0f && !isfinite(shown->got[0][i]);
}

static bool empty_rows_wrong(const struct evidence *evidence, const struct evidence_case *shown) {
    for (size_t i = 0; i < op_elements(evidence->op, 0, &shown->test.sizes); i++) {
        if (evidence_is_wrong(evidence, shown, 0, i) && !has_no_keys(shown, i)) { return false; }
    }
    return op_is_causal(evidence->op);
}

/* Rows without a key hold NaN, and nothing else is wrong. */
bool pattern_empty_row(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, empty_rows_wrong);
}

static bool is_wrong_at_all(const struct evidence_case *shown) {
    return shown->failure.kind != FAILURE_NONE;
}

/* Every call that went wrong, whichever way, is of these values. */
bool pattern_only_values(const struct signature *signature, const struct evidence *evidence) {
    bool found = false;
    for (int i = 0; i < evidence->count; i++) {
        if (!is_wrong_at_all(evidence->cases[i])) { continue; }
        if ((int)evidence->cases[i]->test.values != signature->argument) { return false; }
        found = true;
    }
    return found;
}

/* Every call that went wrong has lengths, and there were right ones without. */
bool pattern_only_lengths(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    bool found = false, right = false;
    for (int i = 0; i < evidence->count; i++) {
        bool wrong = is_wrong_at_all(evidence->cases[i]), lengths = evidence->cases[i]->test.sizes.lengths;
        if (wrong && !lengths) { return false; }
        found = found || wrong;
        right = right || (!wrong && !lengths);
    }
    return found && right;
}

/* Every call that went wrong is of the form that keeps what is above the diagonal. */
bool pattern_only_upper_kept(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    bool found = false;
    for (int i = 0; i < evidence->count; i++) {
        if (!is_wrong_at_all(evidence->cases[i])) { continue; }
        if (!evidence->cases[i]->test.sizes.upper) { return false; }
        found = true;
    }
    return found && op_is_causal(evidence->op);
}

/* A 16-byte access leaves a tensor of 16-bit elements though 16 bytes divide its rows: counted as if of floats. */
bool pattern_float4_of_halves(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    int per_vector = VECTOR_BYTES / 2;
    if (evidence->type == TYPE_F32 || !first || first->test.sizes.C % per_vector != 0) { return false; }
    for (int i = 0; i < first->finding_count; i++) { /* rows that are written into each other race, too */
        const struct finding_record *finding = &first->findings[i];
        if (finding->kind == SIMT_OUT_OF_BOUNDS && strstr(finding->text, "of size 16 bytes")) { return true; }
    }
    return false;
}

/* Of a causal op the one small tensor is lengths. */
bool pattern_lengths_index(const struct signature *signature, const struct evidence *evidence) {
    return op_is_causal(evidence->op) && pattern_small_tensor(signature, evidence);
}

static bool sum_untouched(const struct evidence *evidence, const struct evidence_case *shown) {
    int sum = op_tensor_find(evidence->op, "sum");
    if (sum < 0 || !shown->got[sum] || shown->test.in_place) { return shown->test.in_place && sum >= 0; }
    for (size_t i = 0; i < op_elements(evidence->op, sum, &shown->test.sizes); i++) {
        if (!evidence_untouched(shown, sum, i)) { return false; }
    }
    return shown->wrong[0] == 0;
}

bool pattern_sum_untouched(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    return first && !first->test.in_place && pattern_all_wrong(evidence, sum_untouched);
}
