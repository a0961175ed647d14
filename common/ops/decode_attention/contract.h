/* decode_attention — attention for one new token of each sequence, over the cache, as lab 4's decode.cu defines it.
 *
 *   p = positions[b]        k[b][h][p], v[b][h][p] = the new token's      out = softmax(q K^T / sqrt(D)) V over 0 .. p
 *
 * Defined    by the course, around the template decode_attention, which the lab file defines
 * Shapes     out: (B, C), heads side by side, C = H * D; k, v: (B, H, S, D), the cache, of which one position per
 *            sequence is written; qkv: (B, 3, H, D); positions: (B), int, 0 to S - 1
 * Sizes      B, H, D, S >= 1, D <= 1024
 * Reads      no position after p: it may hold NaN, and 0 * NaN is NaN
 * Returns    0, a cudaError_t, or 100000 + a cublasStatus_t
 */
#ifndef CONTRACT_DECODE_ATTENTION_H
#define CONTRACT_DECODE_ATTENTION_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int decode_attention_f32(float *out, float *k, float *v, const float *qkv, const int *positions, int B, int H, int D,
                         int S, cudaStream_t stream);
int decode_attention_f16(__half *out, __half *k, __half *v, const __half *qkv, const int *positions, int B, int H,
                         int D, int S, cudaStream_t stream);
int decode_attention_bf16(__nv_bfloat16 *out, __nv_bfloat16 *k, __nv_bfloat16 *v, const __nv_bfloat16 *qkv,
                          const int *positions, int B, int H, int D, int S, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
