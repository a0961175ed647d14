/* layernorm_backward — gradients of layernorm_forward.
 *
 *   xhat[n][c] = (x[n][c] - mean[n]) * rstd[n]         g[n][c] = dout[n][c] * weight[c]
 *   dinp[n][c] = rstd[n] * (g[n][c] - mean_c(g[n]) - xhat[n][c] * mean_c(g[n] * xhat[n]))
 *   dweight[c] += sum_n dout[n][c] * xhat[n][c]         dbias[c] += sum_n dout[n][c]
 *
 * Shapes    dinp, dout, x: (N, C), T; weight: (C), T; mean, rstd: (N) and dweight, dbias: (C), float in every type.
 * Sizes     N >= 0, C >= 1. N == 0 does nothing and succeeds.
 * Writes    dinp is overwritten; dweight and dbias are accumulated (+=).
 * Aliasing  dinp may be the same pointer as dout; everything else is disjoint.
 * Pointers  aligned to their element, no more.
 * Order     dweight and dbias may be summed in any order (atomics allowed). Lab 3's are deterministic: the same call
 *           gives the same bits.
 * Specials  NaN reaches the results into whose formulas it enters, and no other.
 * Returns   0 (cudaSuccess), or the launch's cudaError_t. See types.h for the rules of all contracts.
 */
#ifndef CONTRACT_LAYERNORM_BACKWARD_H
#define CONTRACT_LAYERNORM_BACKWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int layernorm_backward_f32(float *dinp, float *dweight, float *dbias, const float *dout, const float *x,
                           const float *weight, const float *mean, const float *rstd, int N, int C,
                           cudaStream_t stream);
int layernorm_backward_f16(__half *dinp, float *dweight, float *dbias, const __half *dout, const __half *x,
                           const __half *weight, const float *mean, const float *rstd, int N, int C,
                           cudaStream_t stream);
int layernorm_backward_bf16(__nv_bfloat16 *dinp, float *dweight, float *dbias, const __nv_bfloat16 *dout,
                            const __nv_bfloat16 *x, const __nv_bfloat16 *weight, const float *mean, const float *rstd,
                            int N, int C, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
