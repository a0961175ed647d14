// decode_split.cuh — attention of one new token of each sequence, with the cache's keys split over blocks. The same as
// decode_attention (decode.cuh), to rounding.
#ifndef GPT2_DECODE_SPLIT_CUH
#define GPT2_DECODE_SPLIT_CUH

#include "gpt2/model/device.cuh"

// Does it support heads of D channels in this type? (Otherwise use decode_attention.)
template <class T> bool decode_split_takes(int D);

// The number of blocks for each head, and of partial results. Fixed for a model, so that one CUDA graph serves every position.
int decode_splits(int B, int H, int S, int multiprocessors);
inline int most_decode_parts(int B, int H, int multiprocessors) { // for at most B sequences
    return 2 * multiprocessors + B * H;
}

// out (B, C)    k, v (B, H, S, D)    qkv (B, 3, H, D)    positions (B), 0..S-1
// partial (B, H, splits, D + 2)      scratch; unused where splits is 1
// arrived (B, H)                     zeros before the first call; zeros again after each
template <class T>
int decode_split(gpt2_device &device, T *out, T *k, T *v, const T *qkv, const int *positions, float *partial,
                 unsigned *arrived, int B, int H, int D, int S, int splits);

#endif
