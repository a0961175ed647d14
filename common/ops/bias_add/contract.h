/* bias_add — add one vector to every row, as after each matmul of GPT-2 (lab 2, find the planted bugs).
 *
 *   out[n][c] = x[n][c] + bias[c]
 *
 * Shapes    out, x: (N, C); bias: (C); row-major, fp32.
 * Sizes     N >= 0, C >= 1. N == 0 does nothing and succeeds.
 * Aliasing  out may be the same pointer as x; everything else is disjoint.
 * Pointers  aligned to 4 bytes, no more.
 * Result    exact: one rounded addition per element.
 * Returns   0 (cudaSuccess), or the launch's cudaError_t. See types.h for the rules of all contracts.
 */
#ifndef CONTRACT_BIAS_ADD_H
#define CONTRACT_BIAS_ADD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int bias_add_f32(float *out, const float *x, const float *bias, int N, int C, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
