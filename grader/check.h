/* check.h — is this op right? Calls it on one case after another and compares every element with the reference.
 *
 * It handles buffers, not processes: a device is a function that runs one job. Every call is recorded as evidence,
 * because the cause of a failure is recognised by the pattern over several calls (diagnose.h).
 */
#ifndef CHECK_H
#define CHECK_H

#include "common/ops/evidence.h"
#include "grader.h"
#include "job.h"

/* Runs one JOB_CALL as runner_call() does; `message` says why the last call did not return CHILD_OK. */
struct device {
    enum child_status (*call)(void *context, const struct job *job, void *const buffers[], struct result *result,
                              struct finding_record **findings);
    const char *(*message)(void *context);
    void *context;
    const struct device *small; /* the same on a small device; NULL: there is none, and such cases are left out */
    const struct device *huge;  /* a traced program, for such calls; NULL: they are left out */
    int guard; /* canary bytes on both sides of every buffer; 0 where the backend has its own red zones */
};

void evidence_init(struct evidence *evidence, const struct op *op, enum op_type type);
void evidence_free(struct evidence *evidence);

/* Only calls, without a reference. False: the process did not answer. */
bool check_only_call(const struct device *device, const struct op *op, const struct test_case *test,
                     struct result *result);

/* Runs one case and adds it to the evidence. False if it is wrong; shown->failure describes the failure. */
bool check_case(const struct device *device, const struct test_case *test, struct evidence *evidence);

/* Runs all cases of a correctness check (cases.c). It continues after a wrong result, because the pattern over shapes
 * shows the cause, but not after a crash or a time-out. `secret` seeds CHECK_SECRET's shapes and values. */
enum verdict check_run(const struct device *device, enum check_kind kind, uint64_t seed, uint64_t secret,
                       struct evidence *evidence, struct failure *failure);

/* The same for given cases, up to the first that fails: of that one, the properties that it fails without are taken away. */
enum verdict check_cases(const struct device *device, const struct test_case *cases, int count,
                         struct evidence *evidence, struct failure *failure);

/* Makes the call of one case again, with the call before it that it is compared with. VERDICT_NOT_RUN: not on this device. */
enum verdict check_again(const struct device *device, const struct test_case *test, struct evidence *evidence,
                         struct failure *failure);

/* Calls once at these sizes for its counters (traffic, chains). False if it fails; then the failure describes it. */
bool check_count(const struct device *device, const struct op_sizes *sizes, uint64_t seed, struct evidence *evidence,
                 struct result *result, struct failure *failure);

/* Fills in the cases of a check, simple ones first, and returns their number. cases.c */
int cases_of(const struct op *op, enum op_type type, enum check_kind kind, uint64_t seed, uint64_t secret,
             struct test_case *cases, int capacity);

#endif
