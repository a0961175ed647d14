/* check.h — is this op right? Calls it on one case after another and compares every element with the reference.
 *
 * Knows buffers, not processes: a device is a function that runs one job. What every call has shown is kept as evidence,
 * because the cause of a failure is seen in the pattern over several calls (diagnose.h).
 */
#ifndef CHECK_H
#define CHECK_H

#include "common/inputs.h"
#include "grader.h"
#include "job.h"

/* Runs one JOB_CALL as runner_call() does; `message` says why the last call gave something else than CHILD_OK. */
struct device {
    enum child_status (*call)(void *context, const struct job *job, void *const buffers[], struct result *result,
                              struct finding_record **findings);
    const char *(*message)(void *context);
    void *context;
    int guard; /* canary bytes on both sides of every buffer; 0 where the backend has its own red zones */
};

/* One call: what it is asked. */
struct test_case {
    struct op_sizes sizes;
    enum input_values values;
    int offset;     /* elements by which every pointer is moved */
    int in_place;   /* 0, or 1 + the tensor that an output shares its pointer with */
    int output;     /* that output; usually 0 */
    bool again;     /* the very call before it once more: the outputs must agree bit for bit */
    bool shuffled;  /* CPU backend: blocks in another order */
    bool rehearsed; /* called before on the same pointers with other inputs */
    bool refused;   /* CPU backend: every launch fails, and the launcher must return that */
    uint64_t seed;
};

/* One call: what it showed. The arrays hold op_elements() each; those that do not apply are NULL. */
struct evidence_case {
    struct test_case test;
    struct failure failure; /* the first thing that was wrong */
    enum child_status end;  /* of the process, where it gave no answer */
    int status;             /* the launcher's, or the error after it */
    uint64_t launches;      /* CPU backend */
    int finding_count;
    struct finding_record *findings; /* errors and notes of the backend */
    long wrong[OP_MAX_TENSORS];      /* elements outside their tolerance; of 16 bits also the misrounded, if too many */
    bool returned;                   /* got is there */
    bool misrounded[OP_MAX_TENSORS]; /* all are within a unit in the last place, but too many not the nearest */
    float *given[OP_MAX_TENSORS];    /* what every tensor held before the call, as floats */
    float *got[OP_MAX_TENSORS];      /* outputs after the call */
    double *expected[OP_MAX_TENSORS], *condition[OP_MAX_TENSORS];
};

enum { EVIDENCE_MAX_CASES = 96 };

struct evidence {
    const struct op *op;
    enum op_type type;
    int count;
    struct evidence_case *cases[EVIDENCE_MAX_CASES];
};

void evidence_init(struct evidence *evidence, const struct op *op, enum op_type type);
void evidence_free(struct evidence *evidence);
/* The first case of the evidence that failed, or NULL. */
const struct evidence_case *evidence_failure(const struct evidence *evidence);

/* Is element i of that output wrong? A misrounded one is where there are too many of them. */
bool evidence_is_wrong(const struct evidence *evidence, const struct evidence_case *shown, int tensor, size_t i);

/* The output's element i was left as it was before the call. */
bool evidence_untouched(const struct evidence_case *shown, int tensor, size_t i);

/* Runs one case and adds it to the evidence. True when it was right; else shown->failure says what was not. */
bool check_case(const struct device *device, const struct test_case *test, struct evidence *evidence);

/* Runs all cases of a correctness check (cases.c). Goes on after a wrong result, because the pattern over shapes tells
 * the cause, but not after a crash or a time-out. `secret` seeds CHECK_SECRET's shapes and values. */
enum verdict check_run(const struct device *device, enum check_kind kind, uint64_t seed, uint64_t secret,
                       struct evidence *evidence, struct failure *failure);

/* Calls once at these sizes for its counters (traffic, chains). False: it failed, and the failure says how. */
bool check_count(const struct device *device, const struct op_sizes *sizes, uint64_t seed, struct evidence *evidence,
                 struct result *result, struct failure *failure);

/* The cases of a check, in the order that explains best: count of them. cases.c */
int cases_of(const struct op *op, enum op_type type, enum check_kind kind, uint64_t seed, uint64_t secret,
             struct test_case *cases, int capacity);

/* What must hold whatever the reference says (row sums 1; mean 0). False: failure is filled.
 * invariants.c */
bool invariants_hold(const struct op *op, const struct evidence_case *shown, struct failure *failure);

#endif
