/* gpt2_forward — a whole GPT-2 over prompts: hidden states of every layer, logits and losses of every position.
 *
 * Defined    by the course: the model around the three files of lab 4
 * Shapes     hidden: (2 L + 1, N, C): the residual stream after the attention of block 0, the branch of block 0, the
 *            same two of block 1, ..., and the last LayerNorm's output;
 *            logits: (N, V), losses: (N), both float in every type;
 *            weights: token embedding (V, C), position embedding (S, C), the 12 parameters of block_forward.h, each with
 *            all its layers, and the last LayerNorm's weight and bias; matrices (out, in);
 *            tokens: (N), 0 to V - 1; targets: (N), where a negative target gives a loss of 0;
 *            lengths: (B), 1 to T
 * Sizes      B, T, H, D, L >= 1, V >= 2, T <= S; N = B * T, C = H * D
 * Returns    0, a cudaError_t, or 100000 + a cublasStatus_t
 */
#ifndef CONTRACT_GPT2_FORWARD_H
#define CONTRACT_GPT2_FORWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int gpt2_forward_f32(float *hidden, float *logits, float *losses, const float *weights, const int *tokens,
                     const int *targets, const int *lengths, int B, int T_, int H, int D, int S, int L, int V,
                     float eps, cudaStream_t stream);
int gpt2_forward_f16(__half *hidden, float *logits, float *losses, const __half *weights, const int *tokens,
                     const int *targets, const int *lengths, int B, int T_, int H, int D, int S, int L, int V,
                     float eps, cudaStream_t stream);
int gpt2_forward_bf16(__nv_bfloat16 *hidden, float *logits, float *losses, const __nv_bfloat16 *weights,
                      const int *tokens, const int *targets, const int *lengths, int B, int T_, int H, int D, int S,
                      int L, int V, float eps, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
