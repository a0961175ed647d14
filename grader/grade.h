/* grade.h — mark one step: build, run every check of every exercise, collect the outcomes. */
#ifndef GRADE_H
#define GRADE_H

#include "grader.h"
#include "predict.h"

struct grade_request {
    const struct step *step;
    const char *course;           /* folder of common/ */
    const char *files;            /* folder of the step's .cu files */
    const char *out;              /* folder of the built runners; NULL: build/BACKEND/STEP_FOLDER */
    const char *backend;          /* "auto", "cpu" or "cuda" */
    const char *kernel;           /* one op, or NULL */
    const struct test_case *test; /* only this call of it, or NULL */
    bool official;                /* a submission: figures are measured even without a prediction */
    uint64_t seed;                /* of the secret shapes and values */
};

/* EXIT_FULL or EXIT_FEWER with a filled report; EXIT_USAGE (a tool is missing) or EXIT_FAULT with the reason in `error`. */
enum exit_code grade_step(const struct grade_request *request, struct report *report, char *error, size_t error_size);

#endif
