// block_fused.cuh — the fused forms of a block and of a whole decoding step: block_fused.cu and decode_fused.cu
#ifndef GPT2_BLOCK_FUSED_CUH
#define GPT2_BLOCK_FUSED_CUH

#include "gpt2/model/block.cuh"

// Does this pass use block_fused (forms.cuh), or lab 4's block_forward? That computes whole models alone.
template <class T> bool block_is_fused(const tensors<T> &all, const pass &pass) {
    if (all.ranks() > 1) { return true; }
    return pass.decoding ? all.forms.decode_fused || all.forms.decode_rows : all.forms.attention_fused;
}

// Do the products of this pass add to the residual stream? Then there is no branch. An observer reads it, so an observed pass
// has one.
template <class T> bool adds_in_products(const gpt2_device &device, const tensors<T> &all, const pass &pass) {
    return all.forms.adds_in_products && !pass.decoding && device.observer == nullptr;
}

// Sums over the ranks of a divided model, of a lane (params.cuh) on the stream aside. x (count) may be used after the end. With
// one rank they do nothing.
template <class T> int begin_sum(gpt2_device &device, const tensors<T> &all, T *x, int64_t count) {
    if (all.ranks() == 1) { return 0; }
    const cudaStream_t stream = all.aside != nullptr ? all.aside->stream : device.stream;
    if (all.aside != nullptr) {
        TRY(cudaEventRecord(all.aside->ready, device.stream));
        TRY(cudaStreamWaitEvent(stream, all.aside->ready, 0));
    }
    all.division->sum(all.division->context, x, count, type_of<T>::file, stream);
    return all.aside != nullptr ? (int)cudaEventRecord(all.aside->done, stream) : 0;
}
template <class T> int end_sum(gpt2_device &device, const tensors<T> &all) {
    return all.aside != nullptr ? (int)cudaStreamWaitEvent(device.stream, all.aside->done, 0) : 0;
}

// A block in three parts: as block_forward (block.cuh), to rounding. In a divided model each rank has its heads and its
// channels of the MLP. The first ends with the attention; ends: at least of each prompt's last position. The others are row by
// row: from attention (N, C) to branch, and from residual and branch to both; or to residual, where adds_in_products. In a
// divided model they begin the sum of branch; the next part ends it.
template <class T>
int block_fused_begin(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass,
                      bool ends);
template <class T> int block_fused_project(gpt2_device &device, tensors<T> &all, int layer, const pass &pass);
template <class T>
int block_fused_finish(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass);

// Can decode_step_fused run a batch of B sequences of this model?
template <class T> bool decode_step_takes(const tensors<T> &all, int B);

// As decode_step (forward.cuh), to rounding. chooses: the tokens are chosen on the device, by the last logits.
template <class T> int decode_step_fused(gpt2_device &device, tensors<T> &all, int B, bool chooses);

// The attention of a step, with the keys split over blocks.
template <class T> int attend_split(gpt2_device &device, tensors<T> &all, int layer, int B);

#endif
