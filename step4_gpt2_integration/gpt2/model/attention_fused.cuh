// attention_fused.cuh — causal self-attention over whole prompts in one kernel: what `attention_fused.cu` promises
//
//   for each sequence b and head h, with Q, K, V: (T, D) of that head
//   P = softmax(Q K^T / sqrt(D)), causal, keys from lengths[b] on masked         out = P V
//
// The same as attention_forward (attention.cuh), to rounding, and no score leaves the multiprocessor.
#ifndef GPT2_ATTENTION_FUSED_CUH
#define GPT2_ATTENTION_FUSED_CUH

#include "gpt2/model/device.cuh"

constexpr int most_fused_channels = 128; // of a head

// out     (B, T, C)        the heads side by side; C = H * D, D <= most_fused_channels
// k, v    (B, H, S, D)     the cache: positions 0..T-1 are written, T <= S; null, both: there is none
// lse     (B, H, T)        the logarithm of each row's sum of exp(scaled score), for training; null: nobody asks
// qkv     (B, T, 3, H, D)  what the projection gave: Q, then K, then V of each position
// lengths (B)              of the prompts, 1..T
// Tensor cores do the products of 16-bit types from sm_80 on; `tensor_cores` false: never, true: also the CPU backend's twin.
template <class T>
int attention_fused(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                    int T_, int H, int D, int S, bool tensor_cores);

#endif
