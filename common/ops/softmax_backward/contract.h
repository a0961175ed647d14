/* softmax_backward — gradient of softmax_forward.
 *
 *   s[n] = sum_c out[n][c] * dout[n][c]
 *   dx[n][c] = out[n][c] * (dout[n][c] - s[n])
 *
 * Shapes    dx, dout, out: (N, C), T. out is the output of softmax_forward.
 * Sizes     N >= 0, C >= 1.
 * Writes    dx is overwritten.
 * Aliasing  dx may be the same pointer as dout.
 * Specials  NaN in a row of dout or out gives NaN in that row and no other.
 * Returns   see types.h, which has the rules of all contracts.
 */
#ifndef CONTRACT_SOFTMAX_BACKWARD_H
#define CONTRACT_SOFTMAX_BACKWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int softmax_backward_f32(float *dx, const float *dout, const float *out, int N, int C, cudaStream_t stream);
int softmax_backward_f16(__half *dx, const __half *dout, const __half *out, int N, int C, cudaStream_t stream);
int softmax_backward_bf16(__nv_bfloat16 *dx, const __nv_bfloat16 *dout, const __nv_bfloat16 *out, int N, int C,
                          cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
