/* judge.h — judges one answered call, every byte of its buffers. Private to check.c and its helpers. */
#ifndef JUDGE_H
#define JUDGE_H

#include "check.h"

/* One call: the job, its buffers with guards, and the answer. */
struct exchange {
    struct job job;
    struct result result;
    void *buffer[OP_MAX_TENSORS]; /* in the tensors' own types */
    size_t bytes[OP_MAX_TENSORS];
};

/* The canary in guards and offsets: byte i of a tensor's buffer. */
unsigned char judge_canary(uint64_t seed, int tensor, size_t i);

/* A tensor's whole buffer before the call: canaries, and the values in the tensor's type. The caller frees it. */
unsigned char *judge_buffer_make(const struct job *job, const struct op *op, int tensor, const float *values,
                                 uint64_t seed);

/* Starts a failure of that kind with the case's description. */
void judge_describe(struct failure *failure, enum failure_kind kind, const struct test_case *test);

/* Fills shown->failure with the failure that explains most: a finding, an error, a missing launcher, a forbidden write,
 * a wrong element, a difference from the previous call (the last one in evidence), a violated invariant. Fills
 * shown->got. */
void judge_call(const struct exchange *exchange, const struct evidence *evidence, struct evidence_case *shown);

/* Of a call without buffers (huge.h): only the findings, an output of which a part is not written, and the status. */
void judge_huge(const struct op *op, const struct result *result, struct evidence_case *shown);

#endif
