/* timed.h — GPU only: the times of an exercise, with the outputs of timed calls checked row by row. */
#ifndef TIMED_H
#define TIMED_H

#include "grader.h"
#include "measure.h"

/* Checks sampled rows of a timed call against the reference; a measure_check. */
bool timed_check(void *context, const struct op *op, const struct op_sizes *sizes, uint64_t seed, int set, int calls,
                 const int *rows, int row_count, const void *data);

struct timing {
    enum measure_verdict verdict;
    struct measurement measurement;
    char message[256]; /* one sentence about the verdict */
};

/* Measures the exercise at the sizes of its bands. */
struct timing timed_measure(struct runner *runner, const struct exercise *exercise);

#endif
