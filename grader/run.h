/* run.h — the third stage of a grading: call the programs of an exercise, and keep what they showed.
 *
 * Judging single calls is check.c's; nothing here decides about marks. Each function starts its programs and ends them.
 */
#ifndef RUN_H
#define RUN_H

#include "check.h"
#include "explore.h"
#include "rate.h"
#include "timed.h"

enum { CORRECTNESS_CHECKS = 4, PUBLISHED_SEED = 2024, GPU_GUARD_BYTES = 256 };

/* One exercise, ready to be called. */
struct task {
    const struct grade_request *request;
    const struct exercise *exercise;
    bool gpu;                /* the backend that is marked */
    bool shows_figures;      /* the predictions are made, or none are required: figures of a GPU are measured too */
    bool can_count;          /* there is a CPU build */
    const char *program;     /* path of the executable that is marked */
    const char *counted;     /* of the CPU build, whose counters give the traffic; NULL: it does not compile */
    const char *traced;      /* of the traced program, as far as it is needed; or NULL */
    const char *warning;     /* the compiler's, of a variable without a value; or "" */
    struct failure obstacle; /* what stops it before the first call; else of kind FAILURE_NONE */
};

/* What a report tells about the processes that ran. */
struct process {
    char device[128];
    char sandbox[128];  /* the layers that were active */
    char printed[2048]; /* what the learner's kernels and launchers printed */
    char fault[512];    /* a program cannot be started, which is no fault of the learner; else "" */
};

/* The correctness checks in order, up to the first that failed. */
struct checks {
    int count;
    enum verdict verdict[CORRECTNESS_CHECKS];
    struct failure failure[CORRECTNESS_CHECKS];
    struct evidence evidence; /* of all their calls; evidence_free */
    struct process process;
};

struct checks run_checks(const struct task *task);

/* The calls that the submission's own branches ask for, from its traced program. It has none if that cannot be started. */
void run_exploration(const struct task *task, struct exploration *found);

/* Those calls, as part of the last correctness check; the others have passed. */
void run_explored(const struct task *task, const struct exploration *found, struct checks *checks);
/* The same on the CPU backend, after a GPU has marked. */
void run_explored_confirmation(const struct task *task, const struct exploration *found, struct checks *checks);

/* One call. */
struct checks run_case(const struct task *task, const struct test_case *test);
/* The same on the CPU backend, after a GPU. */
struct checks run_case_confirmation(const struct task *task, const struct test_case *test);

/* After a GPU has marked: the same checks on the CPU backend, at most `most` of them. Nowhere else, and not without a CPU
 * build: count is 0. */
struct checks run_confirmation(const struct task *task, int most);

/* What an exercise that is right showed beyond that. */
struct performance {
    bool is_counted; /* one call on the CPU backend: traffic, launches, parallelism */
    struct result counted;
    struct failure failure;   /* of that call */
    struct evidence evidence; /* of that call; evidence_free */
    struct timing timing;     /* on a GPU: the op's times beside a copy's */
    struct rates rates;       /* on a GPU: of the whole program around the learner's files */
    struct process process;
};

/* Only what the exercise's checks need. */
struct performance run_performance(const struct task *task);

#endif
