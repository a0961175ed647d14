// block_fused.cuh — a transformer block in its fused form: what `block_fused.cu` promises
#ifndef GPT2_BLOCK_FUSED_CUH
#define GPT2_BLOCK_FUSED_CUH

#include "gpt2/model/block.cuh"

// Is it this block's turn (forms.cuh), or the taught one's?
template <class T> bool block_is_fused(const tensors<T> &all, const pass &pass) {
    return pass.decoding ? all.forms.decode_fused : all.forms.attention_fused;
}

// As block_forward (block.cuh), to rounding.
template <class T>
int block_fused(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass);

#endif
