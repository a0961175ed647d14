/* judge.h — what one answered call shows: every byte that came back is looked at. Inside check.c's work. */
#ifndef JUDGE_H
#define JUDGE_H

#include "check.h"

/* One call on its way: the job, its buffers with guards, and the answer. */
struct exchange {
    struct job job;
    struct result result;
    float *buffer[OP_MAX_TENSORS];
    size_t floats[OP_MAX_TENSORS];
};

/* What guards and offsets hold: element i of a tensor's buffer. */
float judge_canary(uint64_t seed, int tensor, size_t i);

/* Floats before the tensor's first element in its buffer. */
size_t judge_lead(const struct job *job);

/* Starts a failure of that kind with the case's description. */
void judge_describe(struct failure *failure, enum failure_kind kind, const struct test_case *test);

/* Fills shown->failure with what explains most: a finding, an error, a missing launcher, a write where none is allowed, a
 * wrong element, a difference from the call before (evidence's last), a broken invariant. shown->got is filled. */
void judge_call(const struct exchange *exchange, const struct evidence *evidence, struct evidence_case *shown);

#endif
