/* row_sum_squares — sum of the squares of each row, as in RMSNorm (lab 2, find the planted bugs).
 *
 *   out[n] = sum_c x[n][c] * x[n][c]
 *
 * Shapes    x: (N, C); out: (N); row-major, fp32.
 * Sizes     N >= 0, C >= 1. N == 0 does nothing and succeeds.
 * Aliasing  all disjoint.
 * Pointers  aligned to 4 bytes, no more.
 * Order     fixed: a row's terms are added in any order that is the same in every call.
 * Specials  the result is NaN if a term is NaN or if terms are infinities of both signs; it is infinite if terms are
 *           infinities of one sign. Other rows are not affected.
 * Returns   0 (cudaSuccess), or the launch's cudaError_t. See types.h for the rules of all contracts.
 */
#ifndef CONTRACT_ROW_SUM_SQUARES_H
#define CONTRACT_ROW_SUM_SQUARES_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int row_sum_squares_f32(float *out, const float *x, int N, int C, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
