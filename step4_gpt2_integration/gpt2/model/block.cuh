// block.cuh — one transformer block: what `block.cu` promises
//
//   residual += branch          (what the sub-layer before left; nothing before the first block)
//   residual += attention(LayerNorm1(residual))
//   branch    = mlp(LayerNorm2(residual))          left for the next block, whose first LayerNorm adds it
//
// Each residual add happens inside the LayerNorm that follows it, across sub-layers and blocks: one kernel in place of two, and
// the sum is written once and not read again.
#ifndef GPT2_BLOCK_CUH
#define GPT2_BLOCK_CUH

#include "gpt2/model/params.cuh"

// A pass over B sequences: whole prompts of T tokens, or one token each (then T is 1).
struct pass {
    int B, T;
    bool decoding;
    int N() const { return B * T; }
};

// Works on all.work: residual and branch in and out, the rest is room to work in.
template <class T>
int block_forward(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass);

#endif
