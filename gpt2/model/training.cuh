// training.cuh — what training adds to a model: what the forward pass keeps, the gradients, and where it all lies
//
// Parameters, gradients and the optimizer's moments are flat arrays with one layout, so that the optimizer is one kernel over all of
// them: matrices first (they decay), then biases and LayerNorms; each tensor begins at a multiple of 128 elements, and what
// lies between them is zeros. Weights are T; the gradients and what the optimizer keeps are fp32.
//
// A block keeps 16 C elements a token for its backward pass: before-attention and before-MLP sums, both normalised, qkv (3 C),
// the attention's output, fc and hidden (4 C each). With `recompute` it keeps its input alone, C elements, and the backward
// pass runs the block's forward pass again, in memory that all blocks share. The gradients have the same bits.
#ifndef GPT2_TRAINING_CUH
#define GPT2_TRAINING_CUH

#include "gpt2/model/attention_backward.cuh"
#include "gpt2/model/params.cuh"

// The flat layout: where a tensor begins, in elements; wte has Vp rows. GPT2_TENSORS: the length of all.
int64_t flat_offset(const gpt2_config &config, gpt2_tensor tensor, int layer);
int64_t flat_matrices(const gpt2_config &config); // elements before the first vector

template <class T> struct training {
    tensors<T> all;                     // weights; work: what every block writes again; k and v, of one block
    std::vector<activations<T>> blocks; // (L) what the forward pass of each block leaves to its backward pass
    activations<T> end;                 // the last LayerNorm's: residual, normalised, mean, rstd
    bool recompute;
    T *flat_weights;         // (flat_offset(GPT2_TENSORS))
    float *flat_gradients;   // the same
    params<float> gradients; // into it
    T *stream;               // (N, C)     the gradient of the residual stream
    T *dnormalised;          // (N, C)     of what a LayerNorm gave, and of the attention's output
    T *dwide;                // (N, 4C)    of hidden and fc; of qkv
    attention_room<T> room;  // query, scores, k and v are those of the forward pass
    float *partial;          // (bias_most_parts, 4C)
    int *order, *starts;     // (N), (N + 1): token_runs
    double *loss;            // (1)        summed over all tokens since it was zeroed
};

// all.config, batch and prompt (T of a sequence) and recompute are set. Weights and gradients are zeros afterwards.
template <class T> int training_allocate(training<T> &t);
template <class T> void training_free(training<T> &t);

// ---- passes over the B * T tokens at all.work.tokens, whose targets are at all.work.targets ----

// Adds the losses to *loss, and scale times the gradients of their sum to the gradients. runs: of token_runs at order, starts.
template <class T>
int training_gradients(gpt2_device &device, const kernel_table &kernels, training<T> &t, float scale, int runs, int B,
                       int T_);

// Adds the losses to *loss, and that is all.
template <class T> int training_losses(gpt2_device &device, const kernel_table &kernels, training<T> &t, int B, int T_);

#endif
