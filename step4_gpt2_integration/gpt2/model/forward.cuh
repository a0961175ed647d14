// forward.cuh — a pass through the whole model: embedding, blocks, the last LayerNorm, logits
//
// Inputs lie in all.work already: tokens (B, T) and lengths (B), or tokens (B) and positions (B). Everything is enqueued on the
// device's stream and nothing waits, so that a CUDA graph can record decode_step.
#ifndef GPT2_FORWARD_CUH
#define GPT2_FORWARD_CUH

#include "gpt2/model/block.cuh"

// Prompts into the cache; logits (B, Vp) of each prompt's last position; positions = lengths.
template <class T> int prefill(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int B, int T_);

// One token for each sequence: into the cache, logits (B, Vp), positions + 1.
template <class T> int decode_step(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int B);

// Every position: normalised (N, C) is the last LayerNorm's output.
template <class T> int forward_all(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int B, int T_);

// logits (rows, Vp) of rows first..first+rows-1 of normalised; rows <= all.logit_rows.
template <class T> int logits_of_rows(gpt2_device &device, tensors<T> &all, int first, int rows);

#endif
