// decode.cuh — attention of one new token of each sequence to the cache: the template that lab 4's decode.cu defines
//
//   p = positions[b]        k[b][h][p], v[b][h][p] = the new token's        out = softmax(q K^T / sqrt(D)) V over 0..p
//
// positions is read on the device and no size depends on it, so one CUDA graph serves every step.
#ifndef GPT2_DECODE_CUH
#define GPT2_DECODE_CUH

#include "gpt2/model/device.cuh"

// out (B, C)    k, v (B, H, S, D)    qkv (B, 3, H, D)    positions (B), 0..S-1    C = H * D, D <= 1024
template <class T>
int decode_attention(gpt2_device &device, T *out, T *k, T *v, const T *qkv, const int *positions, int B, int H, int D,
                     int S);

#endif
