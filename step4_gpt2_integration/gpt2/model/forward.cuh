// forward.cuh — a pass through the whole model: embedding, blocks, the last LayerNorm, logits
//
// The inputs are in all.work: tokens (B, T) and lengths (B), or tokens (B) and positions (B). All work is enqueued on the
// device's stream without waiting, so a CUDA graph can record decode_step.
#ifndef GPT2_FORWARD_CUH
#define GPT2_FORWARD_CUH

#include "gpt2/model/block.cuh"

// Prompts: fills the cache, computes the logits (B, Vp) of each prompt's last position, and sets positions to the lengths.
template <class T> int prefill(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int B, int T_);

// One token for each sequence: extends the cache, computes the logits (B, Vp), and advances positions by 1.
template <class T> int decode_step(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int B);

// The same model, with the sequences from `first` on, whose prompts have T tokens, in the place of all.
template <class T> tensors<T> sequences_from(const tensors<T> &all, int first, int T_);

// All positions, of at most all.together prompts: normalised (N, C) becomes the last LayerNorm's output.
template <class T> int forward_all(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int B, int T_);

// The logits (rows, Vp) of rows first..first+rows-1 of normalised; rows <= all.logit_rows.
template <class T> int logits_of_rows(gpt2_device &device, tensors<T> &all, int first, int rows);

#endif
