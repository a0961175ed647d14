// block.cuh — one transformer block: the template that lab 4's block.cu defines
//
//   residual += branch          (the output of the sub-layer before; nothing before the first block)
//   residual += attention(LayerNorm1(residual))
//   branch    = mlp(LayerNorm2(residual))          the next block's first LayerNorm adds it
//
// Each residual add is fused into the LayerNorm that follows it, across sub-layers and blocks. That is one kernel in place of
// two, and the sum is written once and not read again.
#ifndef GPT2_BLOCK_CUH
#define GPT2_BLOCK_CUH

#include "gpt2/model/params.cuh"

// A pass over B sequences: whole prompts of T tokens, or one token each (then T is 1).
struct pass {
    int B, T;
    bool decoding;
    int N() const { return B * T; }
};

// Works on all.work: residual and branch are input and output, the rest is scratch.
template <class T>
int block_forward(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass);

#endif
