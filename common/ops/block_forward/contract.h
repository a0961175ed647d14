/* block_forward — one transformer block over whole prompts, as lab 4's block.cu defines it.
 *
 *   residual += branch                                      except in layer 0, where branch is uninitialised
 *   residual += attention(LayerNorm1(residual))             with projection and biases
 *   branch    = mlp(LayerNorm2(residual))                   added by the next block
 *
 * Defined    by the course, around the template block_forward, which the lab file defines
 * Shapes     k, v: (B, H, S, D), the layer's cache; residual, branch: (N, C), N = B * T, C = H * D;
 *            ln1, ln2: (C); qkv_weight: (3C, C), attention_weight: (C, C), fc_weight: (4C, C), mlp_weight: (C, 4C), all
 *            (out, in); biases as wide as their products; lengths: (B), int, 1 to T
 * Sizes      B, T, H, D >= 1, T <= S; layer >= 0
 * Returns    0, a cudaError_t, or 100000 + a cublasStatus_t
 */
#ifndef CONTRACT_BLOCK_FORWARD_H
#define CONTRACT_BLOCK_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int block_forward_f32(float *k, float *v, float *residual, float *branch, const float *ln1_weight,
                      const float *ln1_bias, const float *qkv_weight, const float *qkv_bias,
                      const float *attention_weight, const float *attention_bias, const float *ln2_weight,
                      const float *ln2_bias, const float *fc_weight, const float *fc_bias, const float *mlp_weight,
                      const float *mlp_bias, const int *lengths, int B, int T_, int H, int D, int S, int layer,
                      float eps, cudaStream_t stream);
int block_forward_f16(__half *k, __half *v, __half *residual, __half *branch, const __half *ln1_weight,
                      const __half *ln1_bias, const __half *qkv_weight, const __half *qkv_bias,
                      const __half *attention_weight, const __half *attention_bias, const __half *ln2_weight,
                      const __half *ln2_bias, const __half *fc_weight, const __half *fc_bias, const __half *mlp_weight,
                      const __half *mlp_bias, const int *lengths, int B, int T_, int H, int D, int S, int layer,
                      float eps, cudaStream_t stream);
int block_forward_bf16(__nv_bfloat16 *k, __nv_bfloat16 *v, __nv_bfloat16 *residual, __nv_bfloat16 *branch,
                       const __nv_bfloat16 *ln1_weight, const __nv_bfloat16 *ln1_bias, const __nv_bfloat16 *qkv_weight,
                       const __nv_bfloat16 *qkv_bias, const __nv_bfloat16 *attention_weight,
                       const __nv_bfloat16 *attention_bias, const __nv_bfloat16 *ln2_weight,
                       const __nv_bfloat16 *ln2_bias, const __nv_bfloat16 *fc_weight, const __nv_bfloat16 *fc_bias,
                       const __nv_bfloat16 *mlp_weight, const __nv_bfloat16 *mlp_bias, const int *lengths, int B,
                       int T_, int H, int D, int S, int layer, float eps, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
