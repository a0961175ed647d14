/* softmax_backward.h — one row of softmax's gradient in float64, for the ops that contain it. */
#ifndef OP_SOFTMAX_BACKWARD_H
#define OP_SOFTMAX_BACKWARD_H

#include "ops/reference.h"

/* dx (C) = scale * out * (dout - sum of out * dout), and its conditions. */
void softmax_backward_row(const float *dout, const float *out, int C, double scale, double *dx, double *condition);

/* An op_reference's `complete`: replaces the input `out` by its softmax, with the op's mask; some weights are 0. */
void softmax_complete(const struct op *op, const struct op_sizes *sizes, float *const tensor[]);

#endif
