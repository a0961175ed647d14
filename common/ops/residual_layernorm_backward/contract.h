/* residual_layernorm_backward — gradients of residual_layernorm_forward.
 *
 *   xhat[n][c] = (sum[n][c] - mean[n]) * rstd[n]       g[n][c] = dout[n][c] * weight[c]
 *   dinp[n][c] = dsum[n][c] + rstd[n] * (g[n][c] - mean_c(g[n]) - xhat[n][c] * mean_c(g[n] * xhat[n]))
 *   dweight[c] += sum_n dout[n][c] * xhat[n][c]         dbias[c] += sum_n dout[n][c]
 *
 * dinp is the gradient of both x and residual, because only their sum is used. dsum is the gradient that reaches sum
 * along the residual stream.
 *
 * Shapes    dinp, dout, dsum, sum: (N, C), T; weight: (C), T; mean, rstd: (N) and dweight, dbias: (C), float in every
 *           type.
 * Sizes     N >= 0, C >= 1. N == 0 does nothing and succeeds.
 * Writes    dinp is overwritten, rounded once; dweight and dbias are accumulated (+=).
 * Aliasing  dinp may be the same pointer as dout or as dsum.
 * Order     fixed: the same call gives the same bits.
 * Bytes     4 x the element size for each element: three tensors read, one written; and dweight's and dbias's partial
 *           sums.
 * Returns   see types.h, which has the rules of all contracts.
 */
#ifndef CONTRACT_RESIDUAL_LAYERNORM_BACKWARD_H
#define CONTRACT_RESIDUAL_LAYERNORM_BACKWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int residual_layernorm_backward_f32(float *dinp, float *dweight, float *dbias, const float *dout, const float *dsum,
                                    const float *sum, const float *weight, const float *mean, const float *rstd, int N,
                                    int C, cudaStream_t stream);
int residual_layernorm_backward_f16(__half *dinp, float *dweight, float *dbias, const __half *dout, const __half *dsum,
                                    const __half *sum, const __half *weight, const float *mean, const float *rstd,
                                    int N, int C, cudaStream_t stream);
int residual_layernorm_backward_bf16(__nv_bfloat16 *dinp, float *dweight, float *dbias, const __nv_bfloat16 *dout,
                                     const __nv_bfloat16 *dsum, const __nv_bfloat16 *sum, const __nv_bfloat16 *weight,
                                     const float *mean, const float *rstd, int N, int C, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
