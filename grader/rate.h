/* rate.h — how fast a whole program around a learner's files is on a GPU: with their kernels, and with the naive ones.
 *
 * The lab's description says which program, how it is called and where it prints its figure. The figure is shown and gives
 * no points: the program is the learner's, and could print anything.
 */
#ifndef RATE_H
#define RATE_H

#include "grade.h"

struct rates {
    bool is_measured;
    double own, naive;
    char reason[128]; /* why it is not measured */
};

/* The learner's program, beside their folder of files, or the course's own where the solution is marked; and the name of
 * its kernel set. False: it is not built; reason says what to type. */
bool rate_program(const struct grade_request *request, const struct rate_target *target, char *path, size_t size,
                  const char **kernels, struct rates *rates);

/* Runs the program twice, in the sandbox. False: reason. */
bool rate_measure(const struct rate_target *target, const char *program, const char *kernels, struct rates *rates);

/* The figure in what the program printed, or a negative number. */
double rate_parse(const struct rate_target *target, const char *printed);

/* All of it. */
struct rates rate_run(const struct grade_request *request, const struct exercise *exercise);

#endif
