/* programs.h — the second stage of a grading: the programs of a plan, built, each exercise with its own. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "plan.h"
#include "run.h"

struct programs {
    struct build_report marked;
    struct build_report
        counted; /* the CPU build whose counters give traffic and parallelism; the same if that is marked */
    bool can_count;
    char message[2048]; /* for the report's note; or why nothing can be marked */
};

/* EXIT_FULL, or EXIT_USAGE (a tool or a GPU is missing) or EXIT_FAULT, and the message says why. */
enum exit_code programs_build(const struct plan *plan, struct programs *programs);

/* The exercise with its programs, or with the obstacle that stops it: no file, a compile error, a library that may not be
 * used. It refers to the plan and the programs. */
struct task programs_task(const struct plan *plan, const struct programs *programs, const struct exercise *exercise);

/* Builds the exercise's program that reports its branches; "" if it cannot be built. The path holds PLAN_PATH_BYTES. */
void programs_traced(const struct plan *plan, const struct exercise *exercise, char *path);

#endif
