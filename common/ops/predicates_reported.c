/* predicates_reported.c — predicates over findings of the CPU backend, statuses, and endings of the process. */
#include <stdlib.h>
#include <string.h>

#include "../runner/protocol.h"
#include "../status.h"
#include "predicates.h"

enum { BLOCK_LIMIT = 1024, VECTOR = 4, VECTOR_BYTES = 16 };

bool shows_failure_kind(const struct evidence *evidence, int argument) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && (int)first->failure.kind == argument;
}

/* On a GPU a launcher may return the fault of its kernel: cudaErrorIllegalAddress (700) to cudaErrorLaunchFailure (719), apart
 * from those that say that a launch has too many resources (701) or blocks (720). */
bool shows_refused(const struct evidence *evidence, int argument) {
    enum { ILLEGAL_ADDRESS = 700, TOO_MANY_RESOURCES = 701, LAUNCH_FAILURE = 719 };
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    if (!first || first->failure.kind != FAILURE_STATUS) { return false; }
    return first->status < ILLEGAL_ADDRESS || first->status == TOO_MANY_RESOURCES || first->status > LAUNCH_FAILURE;
}

/* A launcher on sequences may have launched kernels that the lab gives. */
bool shows_leftover(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    bool said = first && first->failure.kind == FAILURE_STATUS && first->status == CUDA_NOT_SUPPORTED;
    return said && first->launches > 0 && !op_is_on_sequences(evidence->op);
}

bool shows_endless(const struct evidence *evidence, int argument) {
    enum { FEW = 1 << 17 };
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->end != argument && first->failure.kind == FAILURE_TIMEOUT &&
           op_elements(evidence->op, 0, &first->test.sizes) <= FEW;
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

bool shows_huge(const struct evidence *evidence, int argument) {
    const struct evidence_case *first = evidence_failure(evidence);
    return first && first->test.huge && (int)first->failure.kind == argument;
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

/* A loop or a guard that is wrong by one is wrong in most calls. */
bool shows_out_of_bounds_by_one(const struct evidence *evidence, int argument) {
    (void)argument;
    int right = 0, outside = 0;
    if (!evidence_finding_says(evidence, SIMT_OUT_OF_BOUNDS, "is 1 bytes after")) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        right += shown->failure.kind == FAILURE_NONE && shown->test.sizes.N > 0;
        outside += shown->failure.kind == FAILURE_FINDING && shown->failure.finding == SIMT_OUT_OF_BOUNDS;
    }
    return outside >= right;
}

bool shows_shared_out_of_bounds(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_finding_says(evidence, SIMT_OUT_OF_BOUNDS, "__shared__");
}

bool shows_freed(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_finding_says(evidence, SIMT_OUT_OF_BOUNDS, "has been freed");
}

bool shows_copy_not_awaited(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_finding_says(evidence, SIMT_UNINITIALISED, "asynchronous copy");
}

bool shows_race_with_host(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_finding_says(evidence, SIMT_RACE, "by the host");
}

bool shows_global_race(const struct evidence *evidence, int argument) {
    (void)argument;
    return evidence_finding_says(evidence, SIMT_RACE, "__global__");
}

/* Only in-place calls have the race. */
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

/* The number in "of size 4,092 bytes"; 0 if the text has none. */
static long allocation_bytes(const char *text) {
    long bytes = 0;
    const char *at = strstr(text, "of size ");
    const char *last = at; /* the access has a size too; the allocation's is the last one */
    while (at) {
        last = at;
        at = strstr(at + 1, "of size ");
    }
    for (const char *c = last ? last + strlen("of size ") : ""; *c == ',' || (*c >= '0' && *c <= '9'); c++) {
        if (*c != ',') { bytes = 10 * bytes + (*c - '0'); }
    }
    return bytes;
}

/* The access is past an allocation that is not a tensor's, so it is the launcher's own. */
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

/* An index that counts elements fits only where there is one row or one column. */
static bool fails_with_rows_and_columns(const struct evidence *evidence) {
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        bool computes = shown->test.sizes.N > 1 && shown->test.sizes.C > 1 && !shown->test.refused;
        if (computes && shown->failure.kind == FAILURE_NONE) { return false; }
    }
    return true;
}

/* The access is past a tensor with one element per row or column; every (N, C) tensor is larger. */
bool shows_past_small_tensor(const struct evidence *evidence, int argument) {
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

bool shows_small_tensor(const struct evidence *evidence, int argument) {
    return shows_past_small_tensor(evidence, argument) && fails_with_rows_and_columns(evidence);
}

/* The size of the access in "Invalid __global__ read of size 16 bytes". */
static long access_bytes(const char *text) {
    const char *at = strstr(text, "of size ");
    return at ? strtol(at + strlen("of size "), NULL, 10) : 0;
}

/* Accesses are out of bounds only if the number of elements, or of columns, is no multiple of a vector, and then mostly.
 * argument 1: the first of them is wider than an element. */
bool shows_out_of_bounds_tail(const struct evidence *evidence, int argument) {
    int tails = 0, right_tails = 0, wholes = 0, vector = evidence->type == TYPE_F32 ? VECTOR : 2 * VECTOR;
    if (!evidence_finding_says(evidence, SIMT_OUT_OF_BOUNDS, "")) { return false; }
    if (argument && access_bytes(evidence_failure(evidence)->failure.text) <= VECTOR_BYTES / vector) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        long N = shown->test.sizes.N, C = shown->test.sizes.C;
        bool outside = shown->failure.kind == FAILURE_FINDING && shown->failure.finding == SIMT_OUT_OF_BOUNDS;
        if (N == 0 || (!outside && shown->failure.kind != FAILURE_NONE)) { continue; }
        bool tail = N * C % vector != 0 || C % vector != 0;
        if (outside && !tail) { return false; }
        tails += outside;
        right_tails += !outside && tail;
        wholes += !outside && !tail;
    }
    return tails > 0 && tails >= right_tails && wholes > 2;
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

static bool is_reported(const struct evidence_case *shown) {
    return shown->failure.kind == FAILURE_STATUS || shown->failure.kind == FAILURE_FINDING;
}

/* The first failure, and every other one that is reported, is a launch for N == 0. */
bool shows_zero_grid(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    if (!first || !is_reported(first)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        if (is_reported(evidence->cases[i]) && evidence->cases[i]->test.sizes.N != 0) { return false; }
    }
    return true;
}

/* A launch with work to do is refused for its empty grid, and launches with more work succeed. */
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

/* The launch is refused for its number of threads: the backend reports it, or it happens above 1024 columns. */
bool shows_block_too_large(const struct evidence *evidence, int argument) {
    (void)argument;
    if (evidence_finding_says(evidence, SIMT_LAUNCH, "blockDim") ||
        evidence_finding_says(evidence, SIMT_LAUNCH, "threads")) {
        return true;
    }
    const struct evidence_case *first = evidence_failure(evidence);
    if (!first || !is_configuration_error(first)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        bool refused = is_configuration_error(evidence->cases[i]);
        if (refused && evidence->cases[i]->test.sizes.C <= BLOCK_LIMIT) { return false; }
    }
    return true;
}

/* A 16-byte access is past the end of a tensor of 16-bit elements whose rows are multiples of 16 bytes: the elements
 * were counted as floats. */
bool shows_float4_of_halves(const struct evidence *evidence, int argument) {
    (void)argument;
    const struct evidence_case *first = evidence_failure(evidence);
    int per_vector = VECTOR_BYTES / 2;
    if (evidence->type == TYPE_F32 || !first || first->test.sizes.C % per_vector != 0) { return false; }
    for (int i = 0; i < first->finding_count; i++) { /* rows that overlap race, too */
        const struct finding_record *finding = &first->findings[i];
        if (finding->kind == SIMT_OUT_OF_BOUNDS && strstr(finding->text, "of size 16 bytes")) { return true; }
    }
    return false;
}
