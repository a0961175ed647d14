/* evidence.h — the record of calls: the request, the result and the failure; and predicates over several records, from
 * which the cause of a failure is derived. The grader fills it (grader/check.c, judge.c).
 */
#ifndef EVIDENCE_H
#define EVIDENCE_H

#include "inputs.h"

struct finding_record; /* of the CPU backend: runner/protocol.h */

/* ---- one call: the request ---- */

struct test_case {
    struct op_sizes sizes;
    enum input_values values;
    int offset;     /* elements by which pointers are moved: */
    int moved;      /* 0: of all tensors; else 1 + the only tensor */
    int in_place;   /* 0, or 1 + the tensor that an output shares its pointer with */
    int output;     /* that output; usually 0 */
    bool again;     /* repeats the previous call: the outputs must agree bit for bit */
    bool shuffled;  /* CPU backend: blocks in another order */
    bool rehearsed; /* preceded by a call on the same pointers with other inputs */
    bool refused;   /* CPU backend: every launch fails, and the launcher must return the error */
    bool huge;      /* more elements than an int counts; only some blocks run, on zeros, and nothing is compared */
    bool small;     /* CPU backend: a device with fewer multiprocessors and less shared memory */
    uint64_t seed;
};

/* ---- failures ---- */

enum failure_kind {
    FAILURE_NONE,
    FAILURE_BUILD,   /* does not compile: text is the compiler's */
    FAILURE_MISSING, /* the file does not define the launcher */
    FAILURE_CRASH,   /* signal, early exit, broken protocol: text says which */
    FAILURE_TIMEOUT,
    FAILURE_STATUS,   /* the launcher or the launch returned an error */
    FAILURE_FINDING,  /* a check of the CPU backend: text, file and line are the backend's */
    FAILURE_WRONG,    /* an element is wrong */
    FAILURE_MODIFIED, /* an input was written */
    FAILURE_OVERRUN,  /* a canary beside a buffer was written */
    FAILURE_REPEAT,   /* two calls differ */
    FAILURE_INVARIANT,
    FAILURE_SILENT,    /* a launch was refused, and the launcher returned 0 */
    FAILURE_UNWRITTEN, /* nothing is written to a part of an output */
    FAILURE_ON_HOST,   /* the result is right, but computed on the host */
    FAILURE_SLOW,      /* traffic or parallelism misses its target */
    FAILURE_UNCOUNTED, /* less traffic was counted than the results need */
};

/* The first failure, in enough detail to explain it without another run. */
struct failure {
    enum failure_kind kind;
    struct test_case test; /* the call, if `values` is set */
    struct op_sizes sizes;
    const char *values; /* the rows' name: "normal", "large", ... (inputs.h) */
    int offset;         /* elements by which the pointers were moved */
    bool in_place;
    int output;       /* the output that is written in place */
    int tensor;       /* index into the op's tensors */
    long row, column; /* of the first wrong element; column -1 for (N), row -1 for (C) */
    double expected, got, tolerance;
    long wrong, total; /* elements of this tensor */
    bool misrounded;   /* all are within one unit in the last place of the type, but not the nearest values */
    int finding;       /* enum simt_finding_kind, for FAILURE_FINDING */
    int line;
    char file[256];
    char text[2048];
    const char *diagnosis; /* the id of the cause or of the fact, or NULL */
    const char *cause;     /* the likely cause in one sentence, or NULL */
    const char *fact;      /* where no cause is named: what is seen, or NULL */
    char warning[200];     /* the compiler's, of a variable without a value, where no cause is named; or empty */
    char calls[256];       /* which calls are wrong, and what is wrong in them (grader/calls.h); or empty */
    char results[256];
    const char *other_diagnosis, *other_cause; /* of another mistake that shows itself in the same way, or NULL */
    int hint;                                  /* level of the hint to read, 1 to 3 */
};

/* ---- one call: the request and the result ---- */

/* The arrays hold op_elements() each; those that do not apply are NULL. */
struct evidence_case {
    struct test_case test;
    struct failure failure; /* the first one of this call */
    int end;                /* enum child_status of the process, if it did not answer */
    int status;             /* the launcher's, or the error after it */
    uint64_t launches;      /* CPU backend */
    int finding_count;
    struct finding_record *findings; /* errors and notes of the backend */
    long wrong[OP_MAX_TENSORS]; /* elements outside their tolerance; with 16 bits also misrounded ones, if too many */
    bool returned;              /* got is filled */
    bool misrounded[OP_MAX_TENSORS]; /* all are within one unit in the last place, but too many are not the nearest */
    float *given[OP_MAX_TENSORS];    /* every tensor before the call, as floats */
    float *got[OP_MAX_TENSORS];      /* outputs after the call */
    double *expected[OP_MAX_TENSORS], *condition[OP_MAX_TENSORS];
};

enum { EVIDENCE_MAX_CASES = 512 };

struct evidence {
    const struct op *op;
    enum op_type type;
    uint64_t bytes; /* CPU backend: that all calls accessed, in global and shared memory */
    uint64_t
        exchanges; /* CPU backend: instructions with which threads pass values to each other, or wait for each other */
    int count;
    struct evidence_case *cases[EVIDENCE_MAX_CASES];
};

/* ---- predicates over recorded calls; `argument` chooses within a family ---- */

typedef bool evidence_predicate(const struct evidence *evidence, int argument);

/* A property of one wrong call. */
typedef bool evidence_property(const struct evidence *evidence, const struct evidence_case *shown);

/* The first case that failed, or NULL. */
const struct evidence_case *evidence_failure(const struct evidence *evidence);

/* The call returned results, and some element is outside its tolerance. */
bool evidence_case_is_wrong(const struct evidence_case *shown);

/* There is a wrong call, and the property holds for all wrong calls. */
bool evidence_all_wrong(const struct evidence *evidence, evidence_property *holds);

/* Is element i of that output wrong? Misrounded elements count as wrong if there are too many of them. */
bool evidence_is_wrong(const struct evidence *evidence, const struct evidence_case *shown, int tensor, size_t i);

/* Is the output's element i unchanged by the call? */
bool evidence_untouched(const struct evidence_case *shown, int tensor, size_t i);

/* Elements of a tensor in that call. */
size_t evidence_elements(const struct evidence *evidence, const struct evidence_case *shown, int tensor);

/* |a - b| / max(|a|, |b|): 0 for equal values, 1 for the largest difference. */
double evidence_difference(double a, double b);

#endif
