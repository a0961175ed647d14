/* patterns_wiring.c — signatures of lab 4 that say where a wiring first goes wrong. */
#include <string.h>

#include "patterns.h"

enum { CUDA_NOT_SUPPORTED = 801, BLAS_ERROR = 100000 };

static int status_of_failure(const struct evidence *evidence) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->failure.kind == FAILURE_STATUS ? first->status : 0;
}

bool pattern_part_not_started(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return status_of_failure(evidence) == CUDA_NOT_SUPPORTED;
}

bool pattern_product_refused(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return status_of_failure(evidence) > BLAS_ERROR;
}

/* The first output that is wrong in that case, or -1: outputs stand in the order in which they are computed. */
static int first_wrong(const struct evidence *evidence, const struct evidence_case *shown) {
    for (int t = 0; t < evidence->op->tensor_count; t++) {
        if (shown->wrong[t]) { return t; }
    }
    return -1;
}

static bool is_wired(const struct signature *signature, const struct evidence *evidence) {
    return op_is_wiring(evidence->op) && !pattern_untouched(signature, evidence);
}

bool pattern_wired_tensor(const struct signature *signature, const struct evidence *evidence) {
    if (!is_wired(signature, evidence) || pattern_low_precision(signature, evidence)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!pattern_case_is_wrong(shown)) { continue; }
        char name = evidence->op->tensor[first_wrong(evidence, shown)].name[0];
        return name == signature->argument || (name == 'v' && signature->argument == 'k');
    }
    return false;
}

/* "dmlp_weight": 'm'; "dln2_bias": '2' */
static char gradient_of(const char *name) {
    return name[1] == 'l' ? name[3] : name[1];
}

bool pattern_gradient(const struct signature *signature, const struct evidence *evidence) {
    if (strcmp(evidence->op->name, "block_backward") != 0 || !is_wired(signature, evidence)) { return false; }
    if (pattern_low_precision(signature, evidence)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!pattern_case_is_wrong(shown)) { continue; }
        return gradient_of(evidence->op->tensor[first_wrong(evidence, shown)].name) == signature->argument;
    }
    return false;
}

bool pattern_product_unwritten(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->failure.kind == FAILURE_FINDING && first->failure.finding == SIMT_UNINITIALISED &&
           strncmp(first->failure.text, "cublas", strlen("cublas")) == 0;
}

bool pattern_wired_unwritten(const struct signature *signature, const struct evidence *evidence) {
    return op_is_wiring(evidence->op) && pattern_output_read(signature, evidence);
}

bool pattern_sequence_index(const struct signature *signature, const struct evidence *evidence) {
    return op_is_wiring(evidence->op) && pattern_small_tensor(signature, evidence);
}

/* Of the first output that is wrong in a case: does it hold for every wrong element? */
static bool all_elements(const struct evidence *evidence, const struct evidence_case *shown,
                         bool (*holds)(const struct evidence_case *, int t, size_t i)) {
    int t = first_wrong(evidence, shown);
    for (size_t i = 0; i < op_elements(evidence->op, t, &shown->test.sizes); i++) {
        if (evidence_is_wrong(evidence, shown, t, i) && !holds(shown, t, i)) { return false; }
    }
    return true;
}

static bool is_anothers(const struct evidence_case *shown, int t, size_t i) {
    return shown->expected[t][i] == (double)shown->given[t][i];
}

static bool anothers_alone(const struct evidence *evidence, const struct evidence_case *shown) {
    return evidence->op->tensor[first_wrong(evidence, shown)].shape == SHAPE_BHSD &&
           all_elements(evidence, shown, is_anothers);
}

bool pattern_cache_overwritten(const struct signature *signature, const struct evidence *evidence) {
    return is_wired(signature, evidence) && pattern_all_wrong(evidence, anothers_alone);
}

static bool untouched_alone(const struct evidence *evidence, const struct evidence_case *shown) {
    return evidence->op->tensor[first_wrong(evidence, shown)].role == ROLE_OUT &&
           all_elements(evidence, shown, evidence_untouched);
}

bool pattern_wired_untouched(const struct signature *signature, const struct evidence *evidence) {
    return is_wired(signature, evidence) && pattern_all_wrong(evidence, untouched_alone);
}

bool pattern_wired_repeated(const struct signature *signature, const struct evidence *evidence) {
    return is_wired(signature, evidence) && pattern_only_repeated(signature, evidence);
}

bool pattern_wired_values(const struct signature *signature, const struct evidence *evidence) {
    return is_wired(signature, evidence) && pattern_only_values(signature, evidence);
}

/* Output 0 is right for sequence 0, and its other sequences, each a B-th of it, are where it is wrong. */
static bool only_first_right(const struct evidence *evidence, const struct evidence_case *shown) {
    size_t count = op_elements(evidence->op, 0, &shown->test.sizes), B = (size_t)shown->test.sizes.B;
    if (B < 2 || !shown->wrong[0]) { return false; }
    for (size_t i = 0; i < count / B; i++) {
        if (evidence_is_wrong(evidence, shown, 0, i)) { return false; }
    }
    return true;
}

/* hidden (K + 1, B, C): step 0 is the prompt's end. */
static bool prompt_is_right(const struct evidence *evidence, const struct evidence_case *shown) {
    int hidden = op_tensor_find(evidence->op, "hidden");
    for (size_t i = 0; i < (size_t)shown->test.sizes.B * (size_t)shown->test.sizes.C; i++) {
        if (evidence_is_wrong(evidence, shown, hidden, i)) { return false; }
    }
    return shown->wrong[hidden] > 0;
}

bool pattern_wired_steps(const struct signature *signature, const struct evidence *evidence) {
    return pattern_is_op(evidence, "gpt2_decode") && is_wired(signature, evidence) &&
           pattern_all_wrong(evidence, prompt_is_right);
}

bool pattern_wired_first_sequence(const struct signature *signature, const struct evidence *evidence) {
    bool by_sequence = evidence->op->tensor[0].shape == SHAPE_BHSD || evidence->op->tensor[0].shape == SHAPE_NC;
    return is_wired(signature, evidence) && by_sequence && pattern_all_wrong(evidence, only_first_right);
}
