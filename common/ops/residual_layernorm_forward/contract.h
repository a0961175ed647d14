/* residual_layernorm_forward — residual add and LayerNorm in one kernel, which also writes the sum: pre-LN GPT-2.
 *
 *   sum[n][c] = x[n][c] + residual[n][c]                                   rounded to T
 *   mean[n] = (1/C) sum_c sum[n][c]                                        statistics of the rounded sum
 *   rstd[n] = 1 / sqrt((1/C) sum_c (sum[n][c] - mean[n])^2 + eps)          biased variance: divisor C, not C - 1
 *   out[n][c] = (sum[n][c] - mean[n]) * rstd[n] * weight[c] + bias[c]
 *
 * Shapes    out, sum, x, residual: (N, C), T; weight, bias: (C), T; mean, rstd: (N), float in every type.
 * Sizes     N >= 0, C >= 1, eps > 0. N == 0 does nothing and succeeds.
 * Result    sum is exact: one addition, rounded to T. The rounded sum is normalised, because the next
 *           layer gets it: the results are those of a residual add followed by layernorm_forward.
 * Aliasing  sum may be the same pointer as x or as residual; out may be x when sum is not.
 * Specials  a row whose sum holds NaN or an infinity gives NaN in that row of out only (mean may be infinite).
 * Bytes     4 x the element size for each element: two tensors read, two written.
 * Returns   see types.h, which has the rules of all contracts.
 */
#ifndef CONTRACT_RESIDUAL_LAYERNORM_FORWARD_H
#define CONTRACT_RESIDUAL_LAYERNORM_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int residual_layernorm_forward_f32(float *out, float *sum, float *mean, float *rstd, const float *x,
                                   const float *residual, const float *weight, const float *bias, int N, int C,
                                   float eps, cudaStream_t stream);
int residual_layernorm_forward_f16(__half *out, __half *sum, float *mean, float *rstd, const __half *x,
                                   const __half *residual, const __half *weight, const __half *bias, int N, int C,
                                   float eps, cudaStream_t stream);
int residual_layernorm_forward_bf16(__nv_bfloat16 *out, __nv_bfloat16 *sum, float *mean, float *rstd,
                                    const __nv_bfloat16 *x, const __nv_bfloat16 *residual, const __nv_bfloat16 *weight,
                                    const __nv_bfloat16 *bias, int N, int C, float eps, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
