/* layernorm_forward — normalise each row, then scale and shift (Ba, Kiros, Hinton 2016, arXiv:1607.06450).
 *
 *   mean[n] = (1/C) sum_c x[n][c]
 *   rstd[n] = 1 / sqrt((1/C) sum_c (x[n][c] - mean[n])^2 + eps)          biased variance: divisor C, not C - 1
 *   out[n][c] = (x[n][c] - mean[n]) * rstd[n] * weight[c] + bias[c]
 *
 * Shapes    out, x: (N, C), T; mean, rstd: (N), float in every type; weight, bias: (C), T; row-major.
 * Sizes     N >= 0, C >= 1, eps > 0. N == 0 does nothing and succeeds.
 * Aliasing  out may be the same pointer as x; everything else is disjoint.
 * Pointers  aligned to their element, no more.
 * Specials  a row that holds NaN or an infinity gives NaN in every column of out; its mean and rstd are not defined.
 *           Other rows are not affected.
 * Returns   0 (cudaSuccess), or the launch's cudaError_t. See types.h for the rules of all contracts.
 */
#ifndef CONTRACT_LAYERNORM_FORWARD_H
#define CONTRACT_LAYERNORM_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream);
int layernorm_forward_f16(__half *out, float *mean, float *rstd, const __half *x, const __half *weight,
                          const __half *bias, int N, int C, float eps, cudaStream_t stream);
int layernorm_forward_bf16(__nv_bfloat16 *out, float *mean, float *rstd, const __nv_bfloat16 *x,
                           const __nv_bfloat16 *weight, const __nv_bfloat16 *bias, int N, int C, float eps,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
