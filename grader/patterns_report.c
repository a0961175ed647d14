/* patterns_report.c — signatures in what the backend, the launch and the process said. */
#include <string.h>

#include "patterns.h"

enum { CUDA_INVALID_CONFIGURATION = 9, BLOCK_LIMIT = 1024, VECTOR = 4 };

bool pattern_failure_kind(const struct signature *signature, const struct evidence *evidence) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && (int)first->failure.kind == signature->argument;
}

bool pattern_late_timeout(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    if (!first || first->failure.kind != FAILURE_TIMEOUT || first == evidence->cases[0]) { return false; }
    size_t elements = op_elements(evidence->op, 0, &first->test.sizes);
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (shown != first && op_elements(evidence->op, 0, &shown->test.sizes) > elements) { return false; }
    }
    return true;
}

bool pattern_finding(const struct signature *signature, const struct evidence *evidence) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->failure.kind == FAILURE_FINDING && first->failure.finding == signature->argument;
}

static bool finding_says(const struct evidence *evidence, int kind, const char *words) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->failure.kind == FAILURE_FINDING && first->failure.finding == kind &&
           strstr(first->failure.text, words);
}

bool pattern_out_of_bounds_by_one(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return finding_says(evidence, SIMT_OUT_OF_BOUNDS, "is 1 bytes after");
}

bool pattern_shared_out_of_bounds(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return finding_says(evidence, SIMT_OUT_OF_BOUNDS, "__shared__");
}

bool pattern_global_race(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return finding_says(evidence, SIMT_RACE, "__global__");
}

/* The race is there in the in-place calls alone. */
bool pattern_race_in_place(const struct signature *signature, const struct evidence *evidence) {
    if (!pattern_global_race(signature, evidence)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (shown->failure.kind == FAILURE_FINDING && !shown->test.in_place) { return false; }
    }
    return true;
}

bool pattern_ending(const struct signature *signature, const struct evidence *evidence) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->failure.kind == FAILURE_CRASH && (int)first->end == signature->argument;
}

/* "of size 4,092 bytes": the number; 0 when the text has none. */
static long allocation_bytes(const char *text) {
    long bytes = 0;
    const char *at = strstr(text, "of size ");
    const char *last = at; /* the access has a size as well: the allocation's comes last */
    while (at) {
        last = at;
        at = strstr(at + 1, "of size ");
    }
    for (const char *c = last ? last + strlen("of size ") : ""; *c == ',' || (*c >= '0' && *c <= '9'); c++) {
        if (*c != ',') { bytes = 10 * bytes + (*c - '0'); }
    }
    return bytes;
}

/* The allocation that was left is none of the tensors: the launcher's own. */
bool pattern_own_memory(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    if (!finding_says(evidence, SIMT_OUT_OF_BOUNDS, "nearest allocation")) { return false; }
    const struct op_sizes *sizes = &first->test.sizes;
    long bytes = allocation_bytes(first->failure.text);
    for (int t = 0; t < evidence->op->tensor_count; t++) {
        size_t elements = op_elements(evidence->op, t, sizes) + (size_t)first->test.offset;
        if ((long)(elements * op_element_bytes(evidence->op, t, sizes->type)) == bytes) { return false; }
    }
    return bytes > 0;
}

/* The tensor that was left is one of a row's or a column's, and every (N, C) tensor is larger. */
bool pattern_small_tensor(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    if (!finding_says(evidence, SIMT_OUT_OF_BOUNDS, "nearest allocation")) { return false; }
    const struct op_sizes *sizes = &first->test.sizes;
    long bytes = allocation_bytes(first->failure.text);
    bool small = false, smaller = true;
    for (int t = 0; t < evidence->op->tensor_count; t++) {
        long own = (long)(op_elements(evidence->op, t, sizes) * op_element_bytes(evidence->op, t, sizes->type));
        if (op_has_rows(evidence->op, t)) {
            smaller = smaller && bytes < own;
        } else {
            small = small || own == bytes;
        }
    }
    return small && smaller;
}

/* Out of bounds only where the number of elements, or of columns, is no multiple of a vector, and never elsewhere. */
bool pattern_out_of_bounds_tail(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    int tails = 0, wholes = 0;
    if (!finding_says(evidence, SIMT_OUT_OF_BOUNDS, "")) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        long N = shown->test.sizes.N, C = shown->test.sizes.C;
        bool outside = shown->failure.kind == FAILURE_FINDING && shown->failure.finding == SIMT_OUT_OF_BOUNDS;
        if (N == 0 || (!outside && shown->failure.kind != FAILURE_NONE)) { continue; }
        int vector = evidence->type == TYPE_F32 ? VECTOR : 2 * VECTOR;
        bool tail = N * C % vector != 0 || C % vector != 0;
        if (outside && !tail) { return false; }
        tails += outside;
        wholes += !outside && !tail;
    }
    return tails > 0 && wholes > 2;
}

static const struct evidence_case *output_read(const struct evidence *evidence) {
    return finding_says(evidence, SIMT_UNINITIALISED, "__global__") ? evidence_failure(evidence) : NULL;
}

bool pattern_output_read(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return output_read(evidence) != NULL;
}

bool pattern_backward_output_read(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    bool backward = strstr(evidence->op->name, "layernorm_backward") != NULL;
    return backward && output_read(evidence) != NULL;
}

static bool is_configuration_error(const struct evidence_case *shown) {
    return shown->failure.kind == FAILURE_STATUS && shown->status == CUDA_INVALID_CONFIGURATION;
}

/* The launch is refused for N == 0 alone. */
bool pattern_zero_grid(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    bool found = false;
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        bool empty = shown->test.sizes.N == 0;
        if (shown->failure.kind == FAILURE_STATUS || shown->failure.kind == FAILURE_FINDING) {
            if (!empty) { return false; }
            found = true;
        }
    }
    return found;
}

/* The launch is refused for its empty grid where there is something to do, and works where there is more. */
bool pattern_grid_rounds_to_zero(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    bool worked = false;
    if (!finding_says(evidence, SIMT_LAUNCH, "gridDim") || first->test.sizes.N == 0) { return false; }
    if (!strstr(first->failure.text, " is 0,")) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        worked = worked || evidence->cases[i]->failure.finding != SIMT_LAUNCH ||
                 evidence->cases[i]->failure.kind != FAILURE_FINDING;
    }
    return worked;
}

bool pattern_grid_too_tall(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    const struct evidence_case *first = evidence_failure(evidence);
    bool tall = finding_says(evidence, SIMT_LAUNCH, "gridDim.y") || finding_says(evidence, SIMT_LAUNCH, "gridDim.z");
    return tall && !strstr(first->failure.text, " is 0,");
}

/* The launch is refused because of its threads: the backend says so, or it happens from more than 1024 columns on. */
bool pattern_block_too_large(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    bool found = false;
    if (finding_says(evidence, SIMT_LAUNCH, "blockDim") || finding_says(evidence, SIMT_LAUNCH, "threads")) {
        return true;
    }
    for (int i = 0; i < evidence->count; i++) {
        bool refused = is_configuration_error(evidence->cases[i]);
        if (refused && evidence->cases[i]->test.sizes.C <= BLOCK_LIMIT) { return false; }
        found = found || refused;
    }
    return found;
}
