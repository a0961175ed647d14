// attention.cuh — causal self-attention over whole prompts: the template that lab 4's attention.cu defines
//
//   for each sequence b and head h, with Q, K, V: (T, D) of that head
//   P = softmax(Q K^T / sqrt(D)), causal, keys from lengths[b] on masked         out = P V
//
// Two batched cuBLAS products with the fused causal softmax between them.
#ifndef GPT2_ATTENTION_CUH
#define GPT2_ATTENTION_CUH

#include "gpt2/model/device.cuh"

// out     (B, T, C)        the heads side by side; C = H * D
// k, v    (B, H, S, D)     the cache: positions 0..T-1 are written, T <= S
// query   (B, H, T, D)     scratch
// scores  (B, H, T, T)     scratch
// qkv     (B, T, 3, H, D)  the projection's output: Q, then K, then V of each position
// lengths (B)              the prompts' lengths, 1..T
template <class T>
int attention_forward(gpt2_device &device, const kernel_table &kernels, T *out, T *k, T *v, T *query, T *scores,
                      const T *qkv, const int *lengths, int B, int T_, int H, int D, int S);

#endif
