/* three_way_add — add three tensors in a fixed order: a block with parallel branches.
 *
 *   out[n][c] = (a[n][c] + b[n][c]) + c[n][c]          rounded to T after each addition, as two residual adds would be
 *
 * Shapes    out, a, b, c: (N, C), T.
 * Sizes     N >= 0, C >= 1. N == 0 does nothing and succeeds.
 * Result    exact. The order matters: in fp16 (2048 + 1) + 1 is 2048, and 2048 + (1 + 1) is 2050.
 * Aliasing  out may be the same pointer as a, b or c.
 * Bytes     4 x the element size for each element: three tensors read, one written.
 * Returns   see types.h, which has the rules of all contracts.
 */
#ifndef CONTRACT_THREE_WAY_ADD_H
#define CONTRACT_THREE_WAY_ADD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int three_way_add_f32(float *out, const float *a, const float *b, const float *c, int N, int C, cudaStream_t stream);
int three_way_add_f16(__half *out, const __half *a, const __half *b, const __half *c, int N, int C,
                      cudaStream_t stream);
int three_way_add_bf16(__nv_bfloat16 *out, const __nv_bfloat16 *a, const __nv_bfloat16 *b, const __nv_bfloat16 *c,
                       int N, int C, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
