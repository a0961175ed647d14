/* attention_forward — causal self-attention over whole prompts, as lab 4's attention.cu defines it.
 *
 *   for each sequence b and head h, with Q, K, V: (T, D) of that head
 *   P = softmax(Q K^T / sqrt(D)), causal, keys from lengths[b] on masked         out = P V
 *   k, v at positions 0 .. T - 1 of the cache = K, V; its other positions keep their values
 *
 * Defined    by the course, around the template attention_forward, which the lab file defines;
 *            the other ops that it calls come from the naive kernel set.
 * Shapes     k, v: (B, H, S, D), the cache; out: (B, T, C), heads side by side, C = H * D; query: (B, H, T, D) and
 *            scores: (B, H, T, T), scratch, undefined before and after; qkv: (B, T, 3, H, D): Q, then K, then V of
 *            each position; lengths: (B), int, 1 to T
 * Sizes      B, T, H, D >= 1, T <= S
 * Aliasing   none
 * Returns    0, a cudaError_t, or 100000 + a cublasStatus_t
 */
#ifndef CONTRACT_ATTENTION_FORWARD_H
#define CONTRACT_ATTENTION_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int attention_forward_f32(float *k, float *v, float *out, float *query, float *scores, const float *qkv,
                          const int *lengths, int B, int T_, int H, int D, int S, cudaStream_t stream);
int attention_forward_f16(__half *k, __half *v, __half *out, __half *query, __half *scores, const __half *qkv,
                          const int *lengths, int B, int T_, int H, int D, int S, cudaStream_t stream);
int attention_forward_bf16(__nv_bfloat16 *k, __nv_bfloat16 *v, __nv_bfloat16 *out, __nv_bfloat16 *query,
                           __nv_bfloat16 *scores, const __nv_bfloat16 *qkv, const int *lengths, int B, int T_, int H,
                           int D, int S, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
