/* softmax_forward — softmax along each row.
 *
 *   m = max_c x[n][c]      out[n][c] = exp(x[n][c] - m) / sum_k exp(x[n][k] - m)
 *
 * Shapes    out, x: (N, C), row-major, T.
 * Sizes     N >= 0, C >= 1. N == 0 does nothing and succeeds.
 * Aliasing  out may be the same pointer as x; partial overlap is not allowed.
 * Pointers  aligned to their element, no more.
 * Specials  -inf entries give exactly 0 when the row holds a finite value. A row that is all -inf, holds +inf
 *           or holds NaN gives NaN in every column, as PyTorch does; the other rows are not affected.
 * Returns   0 (cudaSuccess), or the launch's cudaError_t. See types.h for the rules of all contracts.
 */
#ifndef CONTRACT_SOFTMAX_FORWARD_H
#define CONTRACT_SOFTMAX_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream);
int softmax_forward_f16(__half *out, const __half *x, int N, int C, cudaStream_t stream);
int softmax_forward_bf16(__nv_bfloat16 *out, const __nv_bfloat16 *x, int N, int C, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
