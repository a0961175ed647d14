/* reference.h — every op in float64, plain loops, and how far a right float32 kernel may be from it.
 *
 * For each output element the reference gives the exact-enough value and a condition: the size of what is rounded on the
 * way, in units of one float32 rounding (2^-24). It grows with the magnitudes that cancel (|mean| / deviation for
 * LayerNorm, the largest |x| for softmax, the sum of |terms| for gradients) and with the square root of the number of
 * terms, because any order of summation in float32 is right. A condition of 0 asks for the exact float, an infinite one
 * for nothing (the contract leaves that element open).
 *
 * The conditions were chosen so that fused multiply-adds, __expf, rsqrtf and sequential sums pass, and so that rounding
 * the inputs or the sums to 16 bits or to TF32 does not.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "ops.h"

/* tensor[i]: inputs, and what accumulated outputs held before (others are not read). expected[i], condition[i]: arrays of
 * op_elements() for every output, which the caller owns. False if the op has no reference. */
bool reference_compute(const struct op *op, const struct op_sizes *sizes, const float *const tensor[],
                       double *const expected[], double *const condition[]);

/* |got - expected| allowed for a condition. Covers results that are flushed to zero below the smallest normal float. */
double reference_tolerance(double condition);

/* The one comparison: NaN matches NaN, an infinity the same infinity, and a NaN never passes a tolerance. */
bool reference_accepts(double expected, double condition, float got);

/* Mean and 1 / sqrt(variance + eps) of one row, two passes. */
void reference_row_statistics(const float *x, int C, double eps, double *mean, double *rstd);

#endif
