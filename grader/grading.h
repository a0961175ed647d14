/* grading.h — one step on its way through grade.c and grade_performance.c. Inside grade.c's work. */
#ifndef GRADING_H
#define GRADING_H

#include "build.h"
#include "check.h"
#include "grade.h"

enum { PUBLISHED_SEED = 2024, GPU_GUARD_BYTES = 256, PATH_LENGTH = 1024 };

struct grading {
    const struct grade_request *request;
    struct report *report;
    struct build_report build; /* of the backend that is marked */
    struct build_options options;
    char out[PATH_LENGTH];
    char names[PATH_LENGTH];     /* of the files that are built */
    struct build_report counted; /* CPU build whose counters give the traffic; the same when that is marked */
    bool can_count;
    bool may_show;          /* figures: the predictions are there */
    struct runner *running; /* the one that is open */
    char *error;
    size_t error_size;
};

/* Sets the error of a fault of the grader itself; returns false. */
bool grading_fault(struct grading *grading, const char *message);

struct outcome *grading_add(struct grading *grading, const struct exercise *exercise, const struct check *check);

/* Adds the likely cause, if a signature matches. */
void grading_explain(struct failure *failure, const struct evidence *evidence);

/* A runner of the exercise's file as a device for check.c. False: it cannot be started, which is no learner's fault. */
bool grading_open(struct grading *grading, const struct build_file *file, bool gpu, struct runner *runner,
                  struct device *device);
void grading_close(struct grading *grading, struct runner *runner);

/* The exercise's file in a build, or NULL. */
const struct build_file *grading_file(const struct build_report *build, const struct exercise *exercise);

/* Traffic, parallelism and bands of an exercise that is right. False: a fault of the grader. */
bool grading_performance(struct grading *grading, const struct exercise *exercise, const struct build_file *file);

#endif
