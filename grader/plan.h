/* plan.h — the first stage of a grading: what a request means, decided before anything is built or called. */
#ifndef PLAN_H
#define PLAN_H

#include "build.h"
#include "grade.h"

enum { PLAN_PATH_BYTES = 1024 };

struct plan {
    const struct grade_request *request;
    bool cuda;                                            /* the backend that is marked */
    bool shows_figures;                                   /* the predictions are made, or none are required */
    const struct exercise *exercises[STEP_MAX_EXERCISES]; /* those that are marked, in order, ended by NULL */
    struct build_options marked;                          /* their programs */
    struct build_options counted;                         /* on a GPU: the same for the CPU backend, which counts */
    struct build_options traced;                          /* for the CPU backend: programs that report their branches */
    char out[PLAN_PATH_BYTES], counted_out[PLAN_PATH_BYTES + 16], traced_out[PLAN_PATH_BYTES + 16],
        names[PLAN_PATH_BYTES]; /* what the options refer to */
};

/* The plan's options point into it: it is not copied. */
void plan_make(const struct grade_request *request, struct plan *plan);

/* The folder of the built runners: request->out, or the usual one. */
void plan_out(const struct grade_request *request, char *out, size_t size);

#endif
