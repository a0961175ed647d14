// rows.cuh — attention and LayerNorm with one thread for each row: the form of prompts and of decoding on the CPU backend
//
//   for each sequence b and head h, with Q, K, V: (T, D) of that head
//   P = softmax(Q K^T / sqrt(D)), causal, keys from lengths[b] on masked         out = P V
//
// The same as attention_forward (attention.cuh), decode_attention (decode.cuh) and the kernel set's LayerNorm, to rounding.
#ifndef GPT2_ROWS_CUH
#define GPT2_ROWS_CUH

#include "gpt2/model/device.cuh"

constexpr int rows_tile = 128; // queries whose scores are in memory at a time
constexpr int row_lanes = 16;  // rows of scores are padded to a multiple of it

// The next multiple of row_lanes.
__host__ __device__ inline int padded_row(int count) {
    return (count + row_lanes - 1) / row_lanes * row_lanes;
}

// The elements of attention_rows's scratch memory, for prompts of up to T tokens.
template <class T> int64_t rows_scratch(int T_, int H) {
    const int64_t scores = (int64_t)H * rows_tile * padded_row(T_);
    return scores * (int64_t)(sizeof(float) / sizeof(T) + 1);
}

// out     (B, T, C)        the heads side by side; C = H * D
// k, v    (B, H, S, D)     the cache: positions 0..T-1 are written, T <= S
// scratch (rows_scratch)   aligned to 64 bytes
// qkv     (B, T, 3, H, D)  the projection's output: Q, then K, then V of each position
// lengths (B)              the prompts' lengths, 1..T
template <class T>
int attention_rows(gpt2_device &device, T *out, T *k, T *v, T *scratch, const T *qkv, const int *lengths, int B, int T_,
                   int H, int D, int S);

// One new token of each sequence, as decode_attention.
//
// out (B, C)    k, v (B, H, S, D)    qkv (B, 3, H, D)    positions (B), 0..S-1
// scores (B, H, padded_row(S))       scratch memory
template <class T>
int decode_rows(gpt2_device &device, T *out, T *k, T *v, float *scores, const T *qkv, const int *positions, int B,
                int H, int D, int S);

// residual (N, C) += branch (N, C), unless branch is null; out (N, C) = LayerNorm(residual) weight (C) + bias (C)
template <class T>
int layernorm_rows(gpt2_device &device, T *out, T *residual, const T *branch, const T *weight, const T *bias, int N,
                   int C, float eps);

#endif
