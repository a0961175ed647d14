/* gpt2_decode — a whole GPT-2 that reads prompts, then decodes K = S - T steps of one token per sequence.
 *
 * Defined    by the course: the model around the three files of lab 4
 * Shapes     hidden: (K + 1, B, C), the last LayerNorm's output where a token is chosen: at each prompt's end, and
 *            after each step; logits: (K + 1, B, V), float in every type; greedy: (K + 1, B), int: the likeliest token;
 *            weights: as in gpt2_forward; tokens: (B, T); lengths: (B), 1 to T;
 *            next: (K, B): the token that each step reads. With a negative token its sequence skips the step: its
 *            length stays, and its outputs of that step are undefined.
 * Sizes      B, T, H, D, L >= 1, V >= 2, T <= S
 * Returns    0, a cudaError_t, or 100000 + a cublasStatus_t
 */
#ifndef CONTRACT_GPT2_DECODE_H
#define CONTRACT_GPT2_DECODE_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int gpt2_decode_f32(float *hidden, float *logits, int *greedy, const float *weights, const int *tokens, const int *next,
                    const int *lengths, int B, int T_, int H, int D, int S, int L, int V, float eps,
                    cudaStream_t stream);
int gpt2_decode_f16(__half *hidden, float *logits, int *greedy, const __half *weights, const int *tokens,
                    const int *next, const int *lengths, int B, int T_, int H, int D, int S, int L, int V, float eps,
                    cudaStream_t stream);
int gpt2_decode_bf16(__nv_bfloat16 *hidden, float *logits, int *greedy, const __nv_bfloat16 *weights, const int *tokens,
                     const int *next, const int *lengths, int B, int T_, int H, int D, int S, int L, int V, float eps,
                     cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
