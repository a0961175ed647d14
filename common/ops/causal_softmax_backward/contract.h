/* causal_softmax_backward — gradient of causal_softmax_forward.
 *
 *   allowed(b, i, j) = j <= i and j < lengths[b]
 *   s = sum over allowed j of out[b][h][i][j] * dout[b][h][i][j]
 *   dx[b][h][i][j] = scale * out[b][h][i][j] * (dout[b][h][i][j] - s), and exactly 0 where not allowed
 *
 * Shapes    dx, dout, out: (B, H, T, T), T; lengths: (B), int, or a null pointer, which means T for every b.
 *           out is the output of causal_softmax_forward.
 * Sizes     B, H >= 0, T >= 1. B * H == 0 does nothing and succeeds.
 * scale     as in the forward pass; multiplied in fp32.
 * upper     CAUSAL_UPPER_ZERO: masked elements are written as 0.
 *           CAUSAL_UPPER_KEEP: the elements above the diagonal (j > i) are neither read nor written.
 * lengths   as in causal_softmax_forward: clamped to 0..T; masked keys with j <= i are written as 0 in both forms.
 * Reads     dout and out only where j <= i. Masked elements do not affect the result, even if they are NaN.
 * Writes    dx is overwritten (but see upper).
 * Aliasing  dx may be the same pointer as dout.
 * Specials  NaN in the allowed part of a row of dout gives NaN in that part, and in no other row.
 * Bytes     2 x the element size for each element of dx with CAUSAL_UPPER_ZERO, 1.5 x with CAUSAL_UPPER_KEEP.
 * Returns   see types.h, which has the rules of all contracts.
 */
#ifndef CONTRACT_CAUSAL_SOFTMAX_BACKWARD_H
#define CONTRACT_CAUSAL_SOFTMAX_BACKWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int causal_softmax_backward_f32(float *dx, const float *dout, const float *out, const int *lengths, int B, int H, int T,
                                float scale, int upper, cudaStream_t stream);
int causal_softmax_backward_f16(__half *dx, const __half *dout, const __half *out, const int *lengths, int B, int H,
                                int T, float scale, int upper, cudaStream_t stream);
int causal_softmax_backward_bf16(__nv_bfloat16 *dx, const __nv_bfloat16 *dout, const __nv_bfloat16 *out,
                                 const int *lengths, int B, int H, int T, float scale, int upper, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
