/* layernorm_residual_forward — LayerNorm, then a residual added to its result.
 *
 *   mean[n] = (1/C) sum_c x[n][c]
 *   rstd[n] = 1 / sqrt((1/C) sum_c (x[n][c] - mean[n])^2 + eps)          biased variance: divisor C, not C - 1
 *   out[n][c] = (x[n][c] - mean[n]) * rstd[n] * weight[c] + bias[c] + residual[n][c]          rounded to T once
 *
 * Unlike residual_layernorm_forward, the statistics are of x alone, and the residual is not normalised.
 *
 * Shapes    out, x, residual: (N, C), T; weight, bias: (C), T; mean, rstd: (N), float in every type.
 * Sizes     N >= 0, C >= 1, eps > 0. N == 0 does nothing and succeeds.
 * Aliasing  out may be the same pointer as x or as residual.
 * Specials  a row of x that holds NaN or an infinity gives NaN in that row only (mean may be infinite).
 * Bytes     3 x the element size for each element: two tensors read, one written.
 * Returns   see types.h, which has the rules of all contracts.
 */
#ifndef CONTRACT_LAYERNORM_RESIDUAL_FORWARD_H
#define CONTRACT_LAYERNORM_RESIDUAL_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int layernorm_residual_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *residual,
                                   const float *weight, const float *bias, int N, int C, float eps,
                                   cudaStream_t stream);
int layernorm_residual_forward_f16(__half *out, float *mean, float *rstd, const __half *x, const __half *residual,
                                   const __half *weight, const __half *bias, int N, int C, float eps,
                                   cudaStream_t stream);
int layernorm_residual_forward_bf16(__nv_bfloat16 *out, float *mean, float *rstd, const __nv_bfloat16 *x,
                                    const __nv_bfloat16 *residual, const __nv_bfloat16 *weight,
                                    const __nv_bfloat16 *bias, int N, int C, float eps, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
