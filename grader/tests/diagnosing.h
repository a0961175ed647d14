/* diagnosing.h — the diagnosis of a fake kernel, for the tests of diagnose.c and of the patterns. */
#ifndef DIAGNOSING_H
#define DIAGNOSING_H

#include <criterion/parameterized.h>

#include "../diagnose.h"
#include "fakes.h"

/* Whether a check failed, and the diagnosis. */
static inline bool diagnose_fake(struct fake *fake, const char *op, enum op_type type, int guard,
                                 struct diagnosis *diagnosis) {
    static const enum check_kind correctness[] = {CHECK_SHAPES, CHECK_VALUES, CHECK_MEMORY, CHECK_SECRET};
    struct evidence evidence;
    struct failure failure;
    struct device device = fake_device(fake, guard);
    bool failed = false;
    evidence_init(&evidence, op_find(op), type);
    for (int i = 0; i < 4 && !failed; i++) {
        failed = check_run(&device, correctness[i], 2024, 77, &evidence, &failure) != VERDICT_PASS;
    }
    if (failed) { *diagnosis = diagnose(&evidence); }
    evidence_free(&evidence);
    return failed;
}

/* The id of the diagnosis; "" if no check fails, "none" if no mistake matches. */
static inline const char *diagnosis_of(struct fake *fake, const char *op, enum op_type type, int guard) {
    struct diagnosis diagnosis;
    if (!diagnose_fake(fake, op, type, guard, &diagnosis)) { return ""; }
    return diagnosis.found ? diagnosis.found->id : "none";
}

static inline const char *diagnosis(struct fake *fake, const char *op, int guard) {
    return diagnosis_of(fake, op, TYPE_F32, guard);
}

/* All fakes are tested; with sanitizers only every fifth, because sanitizers test the code, which all fakes share. */
#ifdef __SANITIZE_ADDRESS__
enum { EVERY = 5 };
#else
enum { EVERY = 1 };
#endif

/* Criterion copies parameters byte by byte to another process, so they are indices. */
static inline struct criterion_test_params indices(int count) {
    static int index[1024];
    cr_assert(count <= 1024, "%d parameters", count);
    for (int i = 0; i < count; i++) { index[i] = i; }
    return cr_make_param_array(int, index, (size_t)count);
}

#endif
