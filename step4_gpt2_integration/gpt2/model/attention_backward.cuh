// attention_backward.cuh — causal self-attention in training: forward, and its gradient, which computes the scores again
#ifndef GPT2_ATTENTION_BACKWARD_CUH
#define GPT2_ATTENTION_BACKWARD_CUH

#include "gpt2/model/dropout.cuh"

// Scratch for the sequences of one call.
template <class T> struct attention_room {
    T *query, *k, *v, *dout; // (B, H, T, D)
    T *scores, *dscores;     // (B, H, T, T)
    T *dv;                   // (B, H, T, D)  with dropout; else null
};

// out     (B, T, C)        as attention_forward (attention.cuh) computes it
// qkv     (B, T, 3, H, D)
// lengths (B)              the prompts' lengths, 1..T
// drop, first              the mask of the weights, and the number of the weights of the sequences before these
template <class T>
int attention_taught(gpt2_device &device, const kernel_table &kernels, T *out, const attention_room<T> &room,
                     const T *qkv, const int *lengths, int B, int T_, int H, int D, const dropout &drop = {},
                     int64_t first = 0);

// dqkv    (B, T, 3, H, D)  overwritten; may not be qkv
// dout    (B, T, C)        the gradient of out
// qkv, lengths, drop, first  the forward pass's inputs
template <class T>
int attention_backward(gpt2_device &device, const kernel_table &kernels, T *dqkv, const attention_room<T> &room,
                       const T *dout, const T *qkv, const int *lengths, int B, int T_, int H, int D,
                       const dropout &drop = {}, int64_t first = 0);

#endif
