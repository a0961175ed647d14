/* causal_softmax_forward — scale, causal mask and softmax in one kernel: the middle of attention.
 *
 *   allowed(b, i, j) = j <= i and j < lengths[b]
 *   m = max over allowed j of scale * x[b][h][i][j]
 *   out[b][h][i][j] = exp(scale * x[b][h][i][j] - m) / sum over allowed k of exp(scale * x[b][h][i][k] - m)
 *   and 0 where not allowed: exactly 0
 *
 * Shapes    out, x: (B, H, T, T), T; lengths: (B), int, or a null pointer, which means T for every b.
 *           Row i of a matrix is a query, column j a key.
 * Sizes     B, H >= 0, T >= 1. B * H == 0 does nothing and succeeds.
 * scale     finite and above 0, usually 1 / sqrt(head size); multiplied in fp32.
 * upper     CAUSAL_UPPER_ZERO: masked elements are written as 0, so all of out is written.
 *           CAUSAL_UPPER_KEEP: the elements above the diagonal (j > i) are neither read nor written.
 * lengths   keys j >= lengths[b] are masked too, and written as 0 where j <= i, in both forms. Values outside 0..T
 *           count as 0 and T. A row with no key left is all 0, not NaN.
 * Reads     x only where j <= i. Masked elements do not affect the result, even if they are NaN.
 * Aliasing  out may be the same pointer as x.
 * Specials  as softmax_forward on the allowed part of a row: -inf gives exactly 0 beside a finite value; all -inf,
 *           +inf or NaN in the allowed part gives NaN there. The masked part is still 0. Other rows are not affected.
 * Bytes     1.5 x the element size for each element of out with CAUSAL_UPPER_ZERO, 1 x with CAUSAL_UPPER_KEEP.
 * Returns   see types.h, which has the rules of all contracts.
 */
#ifndef CONTRACT_CAUSAL_SOFTMAX_FORWARD_H
#define CONTRACT_CAUSAL_SOFTMAX_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream);
int causal_softmax_forward_f16(__half *out, const __half *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream);
int causal_softmax_forward_bf16(__nv_bfloat16 *out, const __nv_bfloat16 *x, const int *lengths, int B, int H, int T,
                                float scale, int upper, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
