/* batch.h — mark the submissions of a class: ./grader batch [STEP] SUBMISSIONS -o OUT. docs/classes.md describes it.
 *
 * Each submission is marked by a grader of its own (--submission), some at a time. A result is stored at once and carries a
 * key, the hash of the submission's files, of this grader and its course, and of the settings: a marking that was killed goes
 * on where it was, and what has changed is marked again. */
#ifndef BATCH_H
#define BATCH_H

#include "grader.h"

struct batch_request {
    const struct step *steps;
    const struct step *step; /* NULL: by the files that were handed in */
    const char *course, *submissions, *out;
    const char *backend; /* as on the command line */
    const char *config;  /* file, or NULL */
    bool has_seed;
    uint64_t seed;
    int jobs; /* at a time; 0: one for each processor, and one on a GPU */
};

/* EXIT_FULL: every submission has its points. EXIT_FEWER: one has none, by its own fault. EXIT_FAULT: one has none by the
 * grader's; the next run tries it again. EXIT_USAGE: nothing was marked, and `error` says why. */
enum exit_code batch_run(const struct batch_request *request, char *error, size_t error_size);

#endif
