/* rmsnorm_forward — divide each row by its root mean square, then scale (Zhang, Sennrich 2019, arXiv:1910.07467).
 *
 *   rstd[n] = 1 / sqrt((1/C) sum_c x[n][c]^2 + eps)
 *   out[n][c] = x[n][c] * rstd[n] * weight[c]
 *
 * Shapes    out, x: (N, C), row-major, fp32; rstd: (N); weight: (C).
 * Sizes     N >= 0, C >= 1, eps > 0. N == 0 does nothing and succeeds.
 * Aliasing  out may be the same pointer as x; everything else is disjoint.
 * Pointers  aligned to 4 bytes, no more.
 * Specials  a row that holds NaN gives NaN in every column of that row and in its rstd, and in no other row.
 * Returns   0 (cudaSuccess), or the launch's cudaError_t. See types.h for the rules of all contracts.
 */
#ifndef CONTRACT_RMSNORM_FORWARD_H
#define CONTRACT_RMSNORM_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int rmsnorm_forward_f32(float *out, float *rstd, const float *x, const float *weight, int N, int C, float eps,
                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
