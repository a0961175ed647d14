// attention_fused.cuh — causal self-attention over whole prompts in one kernel, and its gradient in two
//
//   for each sequence b and head h, with Q, K, V: (T, D) of that head
//   P = softmax(Q K^T / sqrt(D)), causal, keys from lengths[b] on masked         out = P V
//
// The same as attention_forward (attention.cuh), to rounding. The scores stay on the multiprocessor.
#ifndef GPT2_ATTENTION_FUSED_CUH
#define GPT2_ATTENTION_FUSED_CUH

#include "gpt2/model/dropout.cuh"

constexpr int most_fused_channels = 128; // of a head

// out     (B, T, C)        the heads side by side; C = H * D, D <= most_fused_channels
// k, v    (B, H, S, D)     the cache: positions 0..T-1 are written, T <= S; both null: no cache
// lse     (B, H, T)        log-sum-exp of each row of scaled scores, for training; null: not written
// qkv     (B, T, 3, H, D)  the projection's output: Q, then K, then V of each position
// lengths (B)              the prompts' lengths, 1..T
// tensor_cores: compute the products of 16-bit types on tensor cores, from sm_80 on, or on the CPU backend.
// drop: the mask of the weights, for training. Only on tensor cores and without a cache, else cudaErrorNotSupported.
// ends: only the row of out at each prompt's last position is needed; the others may stay as they are.
template <class T>
int attention_fused(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                    int T_, int H, int D, int S, bool tensor_cores, const dropout &drop = {}, bool ends = false);

// ---- the gradient ----
//
// The same as attention_backward (attention_backward.cuh), to rounding, for sequences that all have T tokens, as in training. The
// scores stay on the multiprocessor. For 16-bit types, from sm_80 on, or on the CPU backend.
template <class T> constexpr bool has_fused_backward = sizeof(T) == 2;

// dqkv    (B, T, 3, H, D)  overwritten; may not be qkv
// delta   (B, H, T)        scratch
// dout    (B, T, C)        the gradient of out; C = H * D, D <= most_fused_channels
// out     (B, T, C)        the output of attention_fused
// qkv     (B, T, 3, H, D)  its input
// lse     (B, H, T)        its second output
// drop                     its mask
// For any other type: cudaErrorNotSupported.
template <class T>
int attention_fused_backward(gpt2_device &device, T *dqkv, float *delta, const T *dout, const T *out, const T *qkv,
                             const float *lse, int B, int T_, int H, int D, const dropout &drop = {});

#endif
