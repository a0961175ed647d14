/* bias_gelu_backward — gradients of bias_gelu_forward.
 *
 *   gelu(u) = 0.5 * u * (1 + tanh(k * (u + 0.044715 * u^3))), k = sqrt(2 / pi)          GPT-2's tanh form
 *   u = x[n][c] + bias[c]      t = tanh(k * (u + 0.044715 * u^3))
 *   gelu'(u) = 0.5 * (1 + t) + 0.5 * u * (1 - t^2) * k * (1 + 3 * 0.044715 * u^2)
 *   dx[n][c] = dout[n][c] * gelu'(u)                   dbias[c] += sum_n dout[n][c] * gelu'(u)
 *
 * Shapes    dx, dout, x: (N, C), T; bias: (C), T; dbias: (C), float in every type. x is the forward pass's input.
 * Sizes     N >= 0, C >= 1. N == 0 does nothing and succeeds.
 * Writes    dx is overwritten; dbias is accumulated (+=) from fp32 terms, before dx is rounded.
 * Aliasing  dx may be the same pointer as dout.
 * Order     fixed: the same call gives the same bits.
 * Bytes     3 x the element size for each element: two tensors read, one written; and the partial sums of dbias.
 * Returns   see types.h, which has the rules of all contracts.
 */
#ifndef CONTRACT_BIAS_GELU_BACKWARD_H
#define CONTRACT_BIAS_GELU_BACKWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int bias_gelu_backward_f32(float *dx, float *dbias, const float *dout, const float *x, const float *bias, int N, int C,
                           cudaStream_t stream);
int bias_gelu_backward_f16(__half *dx, float *dbias, const __half *dout, const __half *x, const __half *bias, int N,
                           int C, cudaStream_t stream);
int bias_gelu_backward_bf16(__nv_bfloat16 *dx, float *dbias, const __nv_bfloat16 *dout, const __nv_bfloat16 *x,
                            const __nv_bfloat16 *bias, int N, int C, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
