/* checking.h — all correctness checks of a fake kernel: for the tests of check.c and judge.c. */
#ifndef CHECKING_H
#define CHECKING_H

#include "fakes.h"

static const enum check_kind correctness[] = {CHECK_SHAPES, CHECK_VALUES, CHECK_MEMORY, CHECK_SECRET};

/* The first check that fails, or 0; `failure` describes it. */
static inline enum check_kind first_failing_of(struct fake *fake, const char *op, enum op_type type, int guard,
                                               struct failure *failure) {
    struct evidence evidence;
    enum check_kind failing = 0;
    struct device device = fake_device(fake, guard);
    evidence_init(&evidence, op_find(op), type);
    *failure = (struct failure){0};
    for (int i = 0; i < 4 && !failing; i++) {
        if (check_run(&device, correctness[i], 2024, 77, &evidence, failure) != VERDICT_PASS) {
            failing = correctness[i];
        }
    }
    evidence_free(&evidence);
    return failing;
}

static inline enum check_kind first_failing(struct fake *fake, const char *op, int guard, struct failure *failure) {
    return first_failing_of(fake, op, TYPE_F32, guard, failure);
}

#endif
