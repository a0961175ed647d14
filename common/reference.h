/* reference.h — every op in float64, plain loops, and how far a right kernel may be from it.
 *
 * For each output element the reference gives the exact-enough value and a condition: the size of what is rounded on
 * the way, in units of one float32 rounding (2^-24). It grows with the magnitudes that cancel (|mean| / deviation for
 * LayerNorm, the largest |x| for softmax, the sum of |terms| for gradients) and with the square root of the number of
 * terms, because any order of summation in float32 is right. A condition of 0 asks for the exact result, rounded once;
 * an infinite one for nothing (the contract leaves that element open).
 *
 * The conditions were chosen so that fused multiply-adds, __expf, rsqrtf and sequential sums pass, and so that rounding
 * the inputs or the sums to 16 bits or to TF32 does not.
 *
 * Results in 16-bit types are computed in float32 and rounded once, so nearly all of them are the rounding of a value
 * that is within the float32 tolerance. Each must be within one unit in the last place of that, and the share of those
 * that are no such rounding is bounded: it is what tells a second rounding on the way (before gamma, of the statistics,
 * of partial sums).
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "ops.h"

/* tensor[i]: inputs, and what outputs held before the call (what is accumulated, and what a causal op leaves alone).
 * expected[i], condition[i]: arrays of op_elements() for every output, which the caller owns. False if the op has
 * no reference. */
bool reference_compute(const struct op *op, const struct op_sizes *sizes, const float *const tensor[],
                       double *const expected[], double *const condition[]);

/* The same for some rows of a larger call alone: sizes->N of them, and row n of every tensor is row rows[n] of the
 * whole. (A causal row's mask depends on which row it is. Sums over rows are over these.) */
bool reference_compute_rows(const struct op *op, const struct op_sizes *sizes, const int *rows,
                            const float *const tensor[], double *const expected[], double *const condition[]);

/* |computed - expected| allowed for a condition before the result is rounded to its type. Covers results that are flushed
 * to zero below the smallest normal float. */
double reference_tolerance(double condition);

/* |got - expected| allowed, with the rounding to a 16-bit type. */
double reference_allowance(enum op_type type, double expected, double condition);

/* The one comparison: NaN matches NaN, an infinity the same infinity, and a NaN never passes a tolerance. */
bool reference_accepts(enum op_type type, double expected, double condition, float got);

/* A 16-bit result that is accepted, and yet is the rounding of no value within the float32 tolerance. */
bool reference_misrounded(enum op_type type, double expected, double condition, float got);

/* So many misrounded elements out of `count` are accepted. */
long reference_misrounded_allowed(size_t count);

/* Mean and 1 / sqrt(variance + eps) of one row, two passes. */
void reference_row_statistics(const float *x, int C, double eps, double *mean, double *rstd);

/* Keys that row `row` of a causal op may look at: those on and below the diagonal, before its length. */
int reference_keys(const struct op_sizes *sizes, const float *lengths, int row);

#endif
