/* residual_forward — add two tensors, element by element: the residual connection of a transformer block.
 *
 *   out[n][c] = x[n][c] + residual[n][c]
 *
 * Shapes    out, x, residual: (N, C), row-major, fp32.
 * Sizes     N >= 0, C >= 1. N == 0 does nothing and succeeds.
 * Aliasing  out may be the same pointer as x or as residual; partial overlap is not allowed.
 * Pointers  aligned to 4 bytes, no more.
 * Result    exact: one rounded addition per element.
 * Returns   0 (cudaSuccess), or the launch's cudaError_t. See types.h for the rules of all contracts.
 */
#ifndef CONTRACT_RESIDUAL_FORWARD_H
#define CONTRACT_RESIDUAL_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
