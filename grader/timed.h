/* timed.h — GPU only: the measured band of an exercise, with the outputs of timed calls checked row by row. */
#ifndef TIMED_H
#define TIMED_H

#include "grader.h"
#include "measure.h"

/* Checks sampled rows of a timed call against the reference; a measure_check. */
bool timed_check(void *context, const struct op *op, const struct op_sizes *sizes, uint64_t seed, int set, int calls,
                 const int *rows, int row_count, const void *data);

/* Measures the exercise at its band's sizes and fills verdict, figure, measured and target of the outcome. */
void timed_band(struct runner *runner, struct outcome *outcome);

#endif
