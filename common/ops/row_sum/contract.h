/* row_sum — sum of each row (lab 2, find the planted bugs).
 *
 *   out[n] = sum_c x[n][c]
 *
 * Shapes    x: (N, C); out: (N); row-major, fp32.
 * Sizes     N >= 0, C >= 1. N == 0 does nothing and succeeds.
 * Aliasing  all disjoint.
 * Pointers  aligned to 4 bytes, no more.
 * Order     the terms of a row may be added in any order, which must be the same in every call.
 * Specials  NaN and infinities of a row reach that row's result and no other.
 * Returns   0 (cudaSuccess), or the launch's cudaError_t.
 */
#ifndef CONTRACT_ROW_SUM_H
#define CONTRACT_ROW_SUM_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

int row_sum_f32(float *out, const float *x, int N, int C, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
