/* patterns_when.c — signatures in which calls go wrong. */
#include "patterns.h"

/* The first call is right; of the calls after it nearly all are wrong, also at shapes that were right before. */
bool pattern_state_kept(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    int wrong = 0, calls = 0;
    const struct evidence_case *first = evidence_failure(evidence);
    if (first && first->failure.kind == FAILURE_REPEAT && first->test.again) { return false; }
    if (evidence->count < 4 || evidence->cases[0]->failure.kind != FAILURE_NONE) { return false; }
    for (int i = 1; i < evidence->count; i++) {
        if (evidence->cases[i]->test.sizes.N == 0) { continue; }
        calls++;
        wrong += pattern_case_is_wrong(evidence->cases[i]);
    }
    return wrong * 10 >= calls * 9;
}

static bool is_in_place(const struct evidence *evidence, const struct evidence_case *shown) {
    (void)evidence;
    return shown->test.in_place != 0;
}

bool pattern_only_in_place(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, is_in_place);
}

static bool is_offset(const struct evidence *evidence, const struct evidence_case *shown) {
    (void)evidence;
    return shown->test.offset != 0;
}

bool pattern_only_offset(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, is_offset);
}

static bool is_repeated(const struct evidence *evidence, const struct evidence_case *shown) {
    (void)evidence;
    return shown->test.again || shown->test.rehearsed;
}

bool pattern_only_repeated(const struct signature *signature, const struct evidence *evidence) {
    (void)signature;
    return pattern_all_wrong(evidence, is_repeated);
}
