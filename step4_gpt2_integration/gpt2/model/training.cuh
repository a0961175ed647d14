// training.cuh — what training adds to a model: what the forward pass keeps, the gradients, and where it all lies
//
// Parameters, gradients and the optimizer's moments are flat arrays with one layout, so that the optimizer is one kernel over all of
// them: matrices first (they decay), then biases and LayerNorms; each tensor begins at a multiple of 128 elements, and what
// lies between them is zeros. Weights are T; the gradients and what the optimizer keeps are fp32.
//
// A block keeps 16 C elements a token for its backward pass. Where attention is fused (all.forms) it keeps the
// logarithm of each row's sum besides, and there are no scores and no room for single heads. With `recompute` it keeps
// its input alone, C elements, and the backward pass runs the block's forward pass again, in memory that all blocks
// share. The gradients have the same bits.
#ifndef GPT2_TRAINING_CUH
#define GPT2_TRAINING_CUH

#include "gpt2/model/attention_backward.cuh"
#include "gpt2/model/block.cuh"
#include "gpt2/model/params.cuh"

// The flat layout: where a tensor begins, in elements; wte has Vp rows. GPT2_TENSORS: the length of all.
int64_t flat_offset(const gpt2_config &config, gpt2_tensor tensor, int layer);
int64_t flat_matrices(const gpt2_config &config); // elements before the first vector

// What a block's forward pass leaves to its backward pass: nothing is written in place.
template <class T> struct kept {
    T *residual;          // (N, C)   the stream at the first LayerNorm: the block's input
    T *normalised;        // (N, C)   by the first LayerNorm
    T *qkv;               // (N, 3C)
    T *attention;         // (N, C)
    T *middle;            // (N, C)   the stream at the second LayerNorm
    T *normalised2;       // (N, C)   by the second
    T *fc;                // (N, 4C)  before bias and GELU
    T *hidden;            // (N, 4C)  after them
    float *mean, *rstd;   // (N)      of the first LayerNorm
    float *mean2, *rstd2; // (N)      of the second
    float *lse;           // (B, H, T) of the scores' rows, where attention is fused
};

template <class T> struct training {
    tensors<T> all;              // weights; work: tokens, targets, lengths, branch, query, scores, logits, losses
    std::vector<kept<T>> blocks; // (L)
    kept<T> end;                 // the last LayerNorm's: residual, normalised, mean, rstd
    bool recompute;
    T *flat_weights;         // (flat_offset(GPT2_TENSORS))
    float *flat_gradients;   // the same
    params<float> gradients; // into it
    T *stream;               // (N, C)     the gradient of the residual stream
    T *dnormalised;          // (N, C)     of what a LayerNorm gave, and of the attention's output
    T *dwide;                // (N, 4C)    of hidden and fc; of qkv
    attention_room<T>
        room;            // query, scores, k and v are also those of the forward pass; nothing where attention is fused
    float *delta;        // (B, H, T)  where it is
    float *partial;      // (bias_most_parts, 4C)
    int *order, *starts; // (N), (N + 1): token_runs
    double *loss;        // (1)        summed over all tokens since it was zeroed
};

// all.config, batch, prompt (T of a sequence) and forms, and recompute are set. Weights and gradients are zeros
// afterwards.
template <class T> int training_allocate(training<T> &t);
template <class T> void training_free(training<T> &t);

// ---- passes over the B * T tokens at all.work.tokens, whose targets are at all.work.targets ----

// From the tokens to end.normalised (N, C), keeping what t.blocks names.
template <class T>
int training_forward(gpt2_device &device, const kernel_table &kernels, training<T> &t, const pass &pass);

// A block's forward pass again, from its input alone: what it keeps has the bits that it had.
template <class T>
int training_block_again(gpt2_device &device, const kernel_table &kernels, training<T> &t, int layer, const pass &pass);

// Adds the losses to *loss, and scale times the gradients of their sum to the gradients. runs: of token_runs at order, starts.
template <class T>
int training_gradients(gpt2_device &device, const kernel_table &kernels, training<T> &t, float scale, int runs, int B,
                       int T_);

// Adds the losses to *loss, and that is all.
template <class T> int training_losses(gpt2_device &device, const kernel_table &kernels, training<T> &t, int B, int T_);

#endif
