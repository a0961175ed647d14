/* softmax.h — one row of softmax in float64, and the mistakes of any softmax, for the ops that contain it. */
#ifndef OP_SOFTMAX_H
#define OP_SOFTMAX_H

#include "ops/reference.h"

/* out (C) = softmax(scale * x), and its conditions; C >= 1. */
void softmax_row(const float *x, int C, double scale, double *out, double *condition);

/* out (C) with a mistake of a warp's reduction (ops/lanes.h) of the maximum or the sum. */
void softmax_by_lanes(int variant, const float *x, int C, double scale, double *out);

/* Mistakes of any softmax that are recognised without computing them. */
extern const struct op_mistake softmax_mistakes_shown[];

#endif
