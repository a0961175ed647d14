// block_fused.cuh — the fused forms of a block and of a whole decoding step: block_fused.cu and decode_fused.cu
#ifndef GPT2_BLOCK_FUSED_CUH
#define GPT2_BLOCK_FUSED_CUH

#include "gpt2/model/block.cuh"

// Does this pass use block_fused (forms.cuh), or lab 4's block_forward? That computes whole models alone.
template <class T> bool block_is_fused(const tensors<T> &all, const pass &pass) {
    if (all.ranks() > 1) { return true; }
    return pass.decoding ? all.forms.decode_fused || all.forms.decode_rows : all.forms.attention_fused;
}

// Adds up what the ranks of a divided model have computed of x (count).
template <class T> void sum_over_ranks(gpt2_device &device, const tensors<T> &all, T *x, int64_t count) {
    if (all.ranks() > 1) { all.division->sum(all.division->context, x, count, type_of<T>::file, device.stream); }
}

// Between two products of a divided model each rank adds and normalises its part of the rows of prompts, and then has only these of residual.
// A sum over the ranks sends a row to the rank that adds it up, and the result to all: here the result is the normalised row.
template <class T> bool rows_are_divided(const tensors<T> &all, const pass &pass) {
    return all.ranks() > 1 && !pass.decoding && pass.T > 1 && pass.N() % all.ranks() == 0;
}
template <class T> void gather_rows(gpt2_device &device, const tensors<T> &all, T *x, int rows) { // (rows, C)
    all.division->gather(all.division->context, x, (size_t)rows / all.ranks() * all.config.channels * sizeof(T),
                         device.stream);
}

// As block_forward (block.cuh), to rounding. In a divided model each rank has its heads and its channels of the MLP, and `branch`, also after
// the block, is to be summed over the ranks. rows_are_divided: residual is this rank's rows.
template <class T>
int block_fused(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass);

// Its two halves. The first ends with the attention; ends: at least of each prompt's last position. The second is row by row: from
// residual and attention, (N, C), to residual and branch.
template <class T>
int block_fused_begin(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass,
                      bool ends);
template <class T>
int block_fused_finish(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass);

// Can decode_step_fused run a batch of B sequences of this model?
template <class T> bool decode_step_takes(const tensors<T> &all, int B);

// As decode_step (forward.cuh), to rounding. greedy: the tokens are chosen on the device, from the last logits.
template <class T> int decode_step_fused(gpt2_device &device, tensors<T> &all, int B, bool greedy);

// The attention of a step, with the keys split over blocks.
template <class T> int attend_split(gpt2_device &device, tensors<T> &all, int layer, int B);

#endif
