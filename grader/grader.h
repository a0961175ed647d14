/* grader.h — what flows through the grader, one way:
 *
 *   request → plan → build → run → judge → diagnose → score → report
 *
 * A step is a lab; an exercise is one op of ops.h in one type, written in one file of the lab; a check is one thing that
 * earns points. Everything about a step is data in its folder's lab.conf; no source file knows a step's or an op's name.
 */
#ifndef GRADER_H
#define GRADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ops/evidence.h"
#include "common/runner/protocol.h"
#include "not_run.h"

/* ---- lab.h: what is graded ------------------------------------------------------------------------------------- */

enum {
    STEP_MAX_EXERCISES = 24,
    EXERCISE_MAX_CHECKS = 11, /* one of each kind but predictions, and the end */
    EXERCISE_MAX_INCLUDES = 8,
    EXERCISE_MAX_PARTS = 4,
    EXERCISE_TITLE_BYTES = 31, /* the width of its column in a report, and the end */
    MOST_TIERS = 3,
    STEP_MAX_QUESTIONS = 8,
    STEP_MAX_SCRIPTS = 4,
};

enum check_kind {
    CHECK_SHAPES = 1, /* published shapes, seeded normal values */
    CHECK_VALUES,     /* hard rows: large, tiny variance on a huge mean, -inf, NaN in one row, ...; invariants */
    CHECK_MEMORY,     /* pointers off by one element, in place, twice the same, empty input */
    CHECK_SECRET,     /* secret shapes and seeds */
    CHECK_TRAFFIC,    /* counted bytes or sectors of the (N, C) tensors against the floor */
    CHECK_LAUNCHES,   /* counted kernel launches of the same call */
    CHECK_BARRIERS,   /* counted warps that wait at a barrier in the same call, per row */
    CHECK_PARALLEL,   /* enough warps, and no warp with a much longer chain of requests than the reference's */
    CHECK_BAND,       /* GPU: measured fraction of a same-footprint copy; no points unless an instructor gives some */
    CHECK_RATE,       /* GPU: a whole program around the learner's files, beside the naive kernels; no points */
    CHECK_PREDICTION, /* made before the first measurement */
    CHECK_CASE,       /* one call of a correctness check, made again with --case; no points */
};

struct check {
    enum check_kind kind;
    int points;
};

enum traffic_unit { TRAFFIC_BYTES, TRAFFIC_SECTORS };

/* A counted figure of at most limit[i] gives percent[i] of the points. */
struct tiers {
    double limit[MOST_TIERS];
    int percent[MOST_TIERS];
    const char *rung[MOST_TIERS]; /* the kernel that reaches it ("kernel 4: a warp per row"), or NULL */
};

/* Counted traffic in multiples of the byte floor. */
struct traffic_target {
    enum traffic_unit unit;
    struct op_sizes sizes;
    struct tiers tiers;
    bool everything; /* scratch memory and small tensors are counted, too, and nothing may move uncounted */
};

/* Parallelism, on the same shape as the traffic. */
struct parallel_target {
    uint64_t warps;           /* the largest launch has at least so many warps */
    uint64_t reference_chain; /* global requests of the reference's busiest warp; twice that is allowed */
};

enum { GPU_BANDS = 3 };

/* GPU bands: fractions of a same-footprint copy; they carry no points unless an instructor says so. */
struct band_target {
    struct op_sizes sizes;
    double pass, good, speed_of_light;
    int points[GPU_BANDS]; /* of each band; all 0: the check's points, for every band */
};

/* A whole program around the learner's files, which prints how fast it is; shown beside its plain kernels' figure. */
struct rate_target {
    const char *program;   /* of a learner: beside the lab's folder ("gpt2") */
    const char *reference; /* of the solution: below the course's folder ("build/gpt2/cuda/gpt2") */
    const char *arguments; /* separated by blanks; the name of a kernel set is added to them */
    const char *row;       /* the printed line with this word ... */
    int column;            /* ... has the figure as its word of this number, from 1 */
};

/* A problem on an exercise's op whose answer is not in the course: without points, judged by bytes alone. */
struct open_problem {
    const char *title; /* NULL: none */
    struct traffic_target goal;
};

struct exercise {
    const char *op;                   /* ops.h; also the name of its hints: hints/<op>.<level>.md */
    enum op_type type;                /* of the launcher that is marked; also the type in all sizes below */
    char title[EXERCISE_TITLE_BYTES]; /* "softmax, forward" */
    const char *file;                 /* "softmax.cu": the learner's file and, without .cu, the runner program */
    const char *includes[EXERCISE_MAX_INCLUDES]; /* headers of the lab that the file includes ("reduce.cuh") */
    const char *parts[EXERCISE_MAX_PARTS];       /* files of the lab that the program is linked with ("attention.cu") */
    const char *library;                         /* what a lab file may not use elsewhere, and may here ("cuBLAS") */
    bool optional;                               /* track B: marked, without points */
    struct check checks[EXERCISE_MAX_CHECKS];
    struct traffic_target traffic;
    struct tiers launches; /* of the traffic's call, including given kernels; those of libraries are not counted */
    struct tiers barriers; /* of the same call, per row */
    struct parallel_target parallel;
    struct band_target bands;
    struct rate_target rate;
    struct open_problem open; /* marked with --open alone */
    bool is_open;             /* this is the open problem: step_open */
};

/* A question of --predict. `counted` names the exercise whose counted traffic the report later shows beside the answer,
 * by its op or its launcher. */
struct question {
    const char *key;     /* "softmax_bytes" */
    const char *text;    /* what is asked */
    const char *unit;    /* "bytes", "x", "%" */
    double low, high;    /* a plausible answer */
    double truth;        /* computed answer, or 0 when the run counts it */
    const char *counted; /* exercise whose counted multiple of the floor is the answer, or NULL */
};

/* An optional exercise in Python: a program of the course runs the learner's file, and judges it in another process. script.h */
struct script {
    const char *name;    /* "debug-integration": what --kernel names, and its hints */
    const char *title;   /* "debug an integration" */
    const char *file;    /* "debug_integration.py": the learner's */
    const char *harness; /* the program, below the course's folder of the step */
};

struct step {
    const char *name;   /* "step1" */
    const char *folder; /* "step1_naive" */
    const char *title;  /* "naive kernels" */
    struct check predictions;
    struct exercise exercises[STEP_MAX_EXERCISES]; /* ended by one without op */
    struct question questions[STEP_MAX_QUESTIONS]; /* ended by one without key */
    struct script scripts[STEP_MAX_SCRIPTS];       /* ended by one without name */
    void *memory;                                  /* of the strings */
};

/* ---- outcomes: what one check gave ----------------------------------------------------------------------------- */

enum verdict {
    VERDICT_NOT_RUN, /* an earlier check failed, or this machine cannot run it */
    VERDICT_PASS,
    VERDICT_PARTIAL, /* traffic: some of the points */
    VERDICT_FAIL,
    VERDICT_NOT_STARTED, /* the skeleton as it was handed out */
    VERDICT_WAITING,     /* measured after the learner's prediction */
};

struct outcome {
    const struct exercise *exercise; /* NULL: of the whole step (predictions) */
    const struct check *check;
    enum verdict verdict;
    double points;
    double figure;     /* traffic: multiples of the floor; parallelism: warps; launches, barriers: their number */
    double limit;      /* that gives full marks, in the figure's unit; 0: none */
    double floor;      /* traffic: bytes of the floor; 0: none */
    char measured[96]; /* "2.00x the floor" */
    char target[96];   /* "<= 2.1x" */
    struct failure failure;
    const char *next_rung; /* of a counted figure without all points: the kernel that gets more, or NULL */
};

/* What is known about the branches of an exercise's files, after it has passed: a note for the learner. */
struct explored {
    const struct exercise *exercise;
    int branches;
    uint64_t fixed_bytes, bytes; /* that the fixed calls accessed, and those for the branches */
    int untried[64];             /* for each property (property.h): branches that no call has reached with it */
    struct not_run not_run;
};

enum { REPORT_MAX_OUTCOMES = STEP_MAX_EXERCISES * EXERCISE_MAX_CHECKS + 2 };

struct report {
    const struct step *step;
    bool is_gpu;
    char device[128];
    char sandbox[128]; /* the layers that were active */
    uint64_t seed;     /* --seed repeats this run */
    double seconds;
    int outcome_count;
    struct outcome outcomes[REPORT_MAX_OUTCOMES];
    int explored_count;
    struct explored explored[STEP_MAX_EXERCISES];
    double points, points_max;
    char note[1024];    /* what was rebuilt, what could not be run here and why */
    char printed[2048]; /* what the learner's kernels and launchers printed */
    char next[512];     /* what to do next */
};

/* ---- exit codes -------------------------------------------------------------------------------------------------- */

enum exit_code { EXIT_FULL = 0, EXIT_FEWER = 1, EXIT_USAGE = 2, EXIT_FAULT = 3 };

#endif
