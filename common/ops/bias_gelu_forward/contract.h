/* bias_gelu_forward — add a vector to every row, then GELU (Hendrycks, Gimpel 2016, arXiv:1606.08415).
 *
 *   gelu(u) = 0.5 * u * (1 + tanh(k * (u + 0.044715 * u^3))), k = sqrt(2 / pi)          GPT-2's tanh form
 *   out[n][c] = gelu(x[n][c] + bias[c])
 *
 * Shapes    out, x: (N, C), T; bias: (C), T.
 * Sizes     N >= 0, C >= 1. N == 0 does nothing and succeeds.
 * Result    x + bias stays fp32: it is not rounded to T in between.
 * Aliasing  out may be the same pointer as x.
 * Specials  NaN gives NaN in that element only.
 * Bytes     2 x the element size for each element.
 * Returns   see types.h, which has the rules of all contracts.
 */
#ifndef CONTRACT_BIAS_GELU_FORWARD_H
#define CONTRACT_BIAS_GELU_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int bias_gelu_forward_f32(float *out, const float *x, const float *bias, int N, int C, cudaStream_t stream);
int bias_gelu_forward_f16(__half *out, const __half *x, const __half *bias, int N, int C, cudaStream_t stream);
int bias_gelu_forward_bf16(__nv_bfloat16 *out, const __nv_bfloat16 *x, const __nv_bfloat16 *bias, int N, int C,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
