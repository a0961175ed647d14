/* lab.h — the labs of a course: each is described by a text file beside its sheet, stepN_subject/lab.conf.
 *
 * The format, read by lab_read.c, is documented in docs/lab-conf.md. The files are trusted: they lie in the course's own
 * folder, never in a learner's. All of them are read once, when the grader starts.
 */
#ifndef LAB_H
#define LAB_H

#include <stdio.h>

#include "grader.h"

#define LAB_FILE         "lab.conf"
#define PREDICTIONS_FILE "predictions.txt"

/* Reads every step[0-9]*_* folder of the course that has a description. Returns the steps in the order of their numbers,
 * ended by one without name, or NULL: `error` names file, line, mistake and remedy. labs_free releases them. */
const struct step *labs_load(const char *course, char *error, size_t error_size);
void labs_free(const struct step *steps);

/* Reads one description from memory into `step`, whose pointers refer to memory of its own; lab_free releases it. `path`
 * stands in messages. False: `error` says why, and there is nothing to release. */
bool lab_read(const char *folder, const char *path, const char *text, size_t length, struct step *step, char *error,
              size_t error_size);
void lab_free(struct step *step);

/* The step of that name ("step1"), or NULL. */
const struct step *step_find(const struct step *steps, const char *name);

/* The step after it in the same array, or NULL. */
const struct step *step_after(const struct step *step);

/* The lab's exercise with an open problem, or NULL. */
const struct exercise *step_open(const struct step *step);

/* Leaves the lab's open problem as its only exercise, optional, with the goal as its traffic. False: it has none. */
bool step_keep_open(struct step *step);

/* Is this the exercise's op ("softmax_forward"), or the launcher that it marks ("softmax_forward_bf16")? */
bool exercise_is(const struct exercise *exercise, const char *name);

enum { EXERCISE_NAME_BYTES = 64 };

/* The shortest name for --kernel that means this exercise alone: its op, or its launcher where the step marks the op in
 * several types. Writes and returns `name`. */
const char *exercise_name(const struct step *step, const struct exercise *exercise, char name[EXERCISE_NAME_BYTES]);

/* The first exercise of that name, or NULL. */
const struct exercise *exercise_find(const struct step *step, const char *name);

/* The script of that name, or NULL. */
const struct script *script_find(const struct step *step, const char *name);

/* File number `index` of those that a learner edits and hands in: the predictions, then each exercise's file, headers and
 * parts, then the scripts'. A file may come more than once. NULL: there are no more. */
const char *step_file(const struct step *step, int index);

/* Is this such a file? */
bool step_owns_file(const struct step *step, const char *file);

/* The check of that kind, or NULL. */
const struct check *exercise_check(const struct exercise *exercise, enum check_kind kind);

/* Requests that the busiest warp may make one after the other: twice the reference's. */
uint64_t exercise_longest_chain(const struct exercise *exercise);

/* "shapes", "traffic", ...: as it reads in a report and in a description. */
const char *check_name(enum check_kind kind);

/* One of the four correctness checks. */
bool check_is_correctness(enum check_kind kind);

/* Counted by the CPU backend in one call. */
bool check_is_counted(enum check_kind kind);

/* One that measures, which only a GPU can show. */
bool check_needs_gpu(enum check_kind kind);

/* What --list prints: every step, its exercises, their files and points. lab_show.c */
void labs_list(FILE *out, const struct step *steps);

/* What --describe prints: points, targets and bands of one step as Markdown tables. lab_show.c */
void lab_describe(FILE *out, const struct step *step);

#endif
