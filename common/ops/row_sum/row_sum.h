/* row_sum.h — weighted row sums in float64, for the ops that contain them. */
#ifndef ROW_SUM_H
#define ROW_SUM_H

#include "ops/lanes.h"
#include "ops/reference.h"

/* out (N) = sum over c of x[n][c] * factor[n * stride + c], and its conditions; factor NULL: the sum of x. */
void row_sums(const struct op_call *call, const float *factor, size_t stride);

/* The same with one mistake of the loop or the reduction. */
void row_sums_mistaken(const struct op_call *call, const float *factor, size_t stride, int variant);

enum { ROW_WITHOUT_LAST = 1, ROW_WITHOUT_FIRST, ROW_OF_EVEN };

/* The records of these mistakes for an op that computes them by `function`. Lane 0 writes the sum. */
#define ROW_SUM_MISTAKES(function)                                                                                     \
    {.id = "sum-bounds", .compute = (function), .variant = {ROW_WITHOUT_LAST, ROW_WITHOUT_FIRST}},                     \
        {.id = "tree-step-missing", .compute = (function), .variant = {ROW_OF_EVEN}},                                  \
        {.id = "reduction-not-used", .compute = (function), .variant = {LANES_VARIANT(LANE_ALONE, LANE_BOTH, 1)}},     \
        {.id = "reduction-step-missing", .compute = (function), .variant = {LANES_VARIANT(LANE_NO_16, LANE_BOTH, 1)}}, \
    {                                                                                                                  \
        .id = "reduction-replaces", .compute = (function), .variant = { LANES_VARIANT(LANE_REPLACED, LANE_BOTH, 1) }   \
    }

/* An op_compute: the sum of x, which is also the known mistake of the other ops. */
op_compute row_sums_plain;

#endif
