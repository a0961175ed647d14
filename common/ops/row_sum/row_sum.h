/* row_sum.h — weighted row sums in float64, for the ops that contain them. */
#ifndef ROW_SUM_H
#define ROW_SUM_H

#include "ops/reference.h"

/* out (N) = sum over c of x[n][c] * factor[n * stride + c], and its conditions; factor NULL: the sum of x. */
void row_sums(const struct op_call *call, const float *factor, size_t stride);

/* An op_compute: the sum of x, which is also the known mistake of the other ops. */
op_compute row_sums_plain;

#endif
