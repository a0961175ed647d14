/* registry.h — the one table of steps, exercises and checks, with every target and every point. */
#ifndef REGISTRY_H
#define REGISTRY_H

#include "grader.h"

/* In the order of the course, ended by one without name. */
extern const struct step steps[];

/* The step of that name ("step1"), or NULL. */
const struct step *step_find(const char *name);

/* The step after it, or NULL. */
const struct step *step_after(const struct step *step);

/* Is this the exercise's op ("softmax_forward"), or the launcher that it marks ("softmax_forward_bf16")? */
bool exercise_is(const struct exercise *exercise, const char *name);

enum { EXERCISE_NAME_BYTES = 64 };

/* The shortest name for --kernel that means this exercise alone: its op, or its launcher where the step marks the op in
 * several types. Writes and returns `name`. */
const char *exercise_name(const struct step *step, const struct exercise *exercise, char name[EXERCISE_NAME_BYTES]);

/* The first exercise of that name, or NULL. */
const struct exercise *exercise_find(const struct step *step, const char *name);

/* Is this a file that a learner edits and hands in: a .cu or header of an exercise, or the predictions? */
bool step_owns_file(const struct step *step, const char *file);

/* "shapes", "traffic", ...: as it reads in a report. */
const char *check_name(enum check_kind kind);

/* One of the four correctness checks. */
bool check_is_correctness(enum check_kind kind);

/* One that measures, which only a GPU can show. */
bool check_needs_gpu(enum check_kind kind);

#define PREDICTIONS_FILE "predictions.txt"

#endif
