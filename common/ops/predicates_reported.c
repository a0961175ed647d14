/* predicates_reported.c — predicates over findings of the CPU backend, statuses, and endings of the process. */
#include <string.h>

#include "../runner/protocol.h"
#include "predicates.h"

enum { CUDA_INVALID_CONFIGURATION = 9, BLOCK_LIMIT = 1024, VECTOR = 4, VECTOR_BYTES = 16 };

bool shows_failure_kind(const struct evidence *evidence, int argument) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && (int)first->failure.kind == argument;
}

bool shows_late_timeout(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    if (!first || first->failure.kind != FAILURE_TIMEOUT || first == evidence->cases[0]) { return false; }
    size_t elements = op_elements(evidence->op, 0, &first->test.sizes);
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (shown != first && op_elements(evidence->op, 0, &shown->test.sizes) > elements) { return false; }
    }
    return true;
}

bool shows_finding(const struct evidence *evidence, int argument) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->failure.kind == FAILURE_FINDING && first->failure.finding == argument;
}

bool evidence_finding_says(const struct evidence *evidence, int kind, const char *words) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->failure.kind == FAILURE_FINDING && first->failure.finding == kind &&
           strstr(first->failure.text, words);
}

bool shows_out_of_bounds_by_one(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_finding_says(evidence, SIMT_OUT_OF_BOUNDS, "is 1 bytes after");
}

bool shows_shared_out_of_bounds(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_finding_says(evidence, SIMT_OUT_OF_BOUNDS, "__shared__");
}

bool shows_global_race(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_finding_says(evidence, SIMT_RACE, "__global__");
}

/* The race is there in the in-place calls alone. */
bool shows_race_in_place(const struct evidence *evidence, int argument) {
    (void)argument;
    if (!shows_global_race(evidence, 0)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (shown->failure.kind == FAILURE_FINDING && !shown->test.in_place) { return false; }
    }
    return true;
}

bool shows_ending(const struct evidence *evidence, int argument) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->failure.kind == FAILURE_CRASH && first->end == argument;
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
bool shows_own_memory(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    if (!evidence_finding_says(evidence, SIMT_OUT_OF_BOUNDS, "nearest allocation")) { return false; }
    const struct op_sizes *sizes = &first->test.sizes;
    long bytes = allocation_bytes(first->failure.text);
    for (int t = 0; t < op_tensor_count(evidence->op); t++) {
        size_t elements = op_elements(evidence->op, t, sizes) + (size_t)first->test.offset;
        if ((long)(elements * op_element_bytes(evidence->op, t, sizes->type)) == bytes) { return false; }
    }
    return bytes > 0;
}

/* The tensor that was left is one of a row's or a column's, and every (N, C) tensor is larger. */
bool shows_small_tensor(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    if (!evidence_finding_says(evidence, SIMT_OUT_OF_BOUNDS, "nearest allocation")) { return false; }
    const struct op_sizes *sizes = &first->test.sizes;
    long bytes = allocation_bytes(first->failure.text);
    bool small = false, smaller = true;
    for (int t = 0; t < op_tensor_count(evidence->op); t++) {
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
bool shows_out_of_bounds_tail(const struct evidence *evidence, int argument) {
    (void)argument;
    int tails = 0, wholes = 0;
    if (!evidence_finding_says(evidence, SIMT_OUT_OF_BOUNDS, "")) { return false; }
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
    return evidence_finding_says(evidence, SIMT_UNINITIALISED, "__global__") ? evidence_failure(evidence) : NULL;
}

bool shows_output_read(const struct evidence *evidence, int argument) {
    (void)argument;
    return output_read(evidence) != NULL;
}

static bool is_configuration_error(const struct evidence_case *shown) {
    return shown->failure.kind == FAILURE_STATUS && shown->status == CUDA_INVALID_CONFIGURATION;
}

/* The launch is refused for N == 0 alone. */
bool shows_zero_grid(const struct evidence *evidence, int argument) {
    (void)argument;
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
bool shows_grid_rounds_to_zero(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    bool worked = false;
    if (!evidence_finding_says(evidence, SIMT_LAUNCH, "gridDim") || first->test.sizes.N == 0) { return false; }
    if (!strstr(first->failure.text, " is 0,")) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        worked = worked || evidence->cases[i]->failure.finding != SIMT_LAUNCH ||
                 evidence->cases[i]->failure.kind != FAILURE_FINDING;
    }
    return worked;
}

bool shows_grid_too_tall(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    bool tall = evidence_finding_says(evidence, SIMT_LAUNCH, "gridDim.y") ||
                evidence_finding_says(evidence, SIMT_LAUNCH, "gridDim.z");
    return tall && !strstr(first->failure.text, " is 0,");
}

/* The launch is refused because of its threads: the backend says so, or it happens from more than 1024 columns on. */
bool shows_block_too_large(const struct evidence *evidence, int argument) {
    (void)argument;
    bool found = false;
    if (evidence_finding_says(evidence, SIMT_LAUNCH, "blockDim") ||
        evidence_finding_says(evidence, SIMT_LAUNCH, "threads")) {
        return true;
    }
    for (int i = 0; i < evidence->count; i++) {
        bool refused = is_configuration_error(evidence->cases[i]);
        if (refused && evidence->cases[i]->test.sizes.C <= BLOCK_LIMIT) { return false; }
        found = found || refused;
    }
    return found;
}

/* A 16-byte access leaves a tensor of 16-bit elements though 16 bytes divide its rows: counted as if of floats. */
bool shows_float4_of_halves(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    int per_vector = VECTOR_BYTES / 2;
    if (evidence->type == TYPE_F32 || !first || first->test.sizes.C % per_vector != 0) { return false; }
    for (int i = 0; i < first->finding_count; i++) { /* rows that are written into each other race, too */
        const struct finding_record *finding = &first->findings[i];
        if (finding->kind == SIMT_OUT_OF_BOUNDS && strstr(finding->text, "of size 16 bytes")) { return true; }
    }
    return false;
}
