// training.cuh — training: the tensors that the forward pass keeps, the gradients, their layout in memory, and the passes
//
// Parameters, gradients and the optimizer's moments are flat arrays with one layout, so that the optimizer is one kernel over all
// of them. The matrices come first, because they decay; biases and LayerNorms follow. Each tensor begins at a multiple of 128
// elements, and the padding is zeros. Weights have the type T; gradients and the optimizer's state are fp32.
//
// A block keeps 16 C elements a token for its backward pass. Where attention is fused (all.forms) it also keeps the logarithm of
// each row's sum, and the memory for scores and single heads is not allocated. With `recompute` a block keeps its input alone,
// C elements a token. The backward pass then runs the block's forward pass again, in memory that all blocks share, and the
// gradients have the same bits.
#ifndef GPT2_TRAINING_CUH
#define GPT2_TRAINING_CUH

#include "gpt2/model/attention_backward.cuh"
#include "gpt2/model/block.cuh"
#include "gpt2/model/params.cuh"

// The offset of a tensor in the flat layout, in elements; wte and an untied head have Vp rows. GPT2_TENSORS: the length of the
// whole array.
int64_t flat_offset(const gpt2_config &config, gpt2_tensor tensor, int layer);
int64_t flat_matrices(const gpt2_config &config); // elements before the first vector

// The results of a block's forward pass, for its backward pass. Nothing is computed in place.
template <class T> struct kept {
    T *residual;          // (N, C)   the stream at the first LayerNorm: the block's input
    T *normalised;        // (N, C)   the first LayerNorm's output
    T *qkv;               // (N, 3C)
    T *attention;         // (N, C)
    T *middle;            // (N, C)   the stream at the second LayerNorm
    T *normalised2;       // (N, C)   the second LayerNorm's output
    T *fc;                // (N, 4C)  the product before bias and GELU; where GELU is in its epilogue, with the bias
    T *hidden;            // (N, 4C)  after bias and GELU
    float *mean, *rstd;   // (N)      of the first LayerNorm
    float *mean2, *rstd2; // (N)      of the second
    float *lse;           // (B, H, T) log-sum-exp of the scores' rows, where attention is fused
};

template <class T> struct training {
    tensors<T> all;              // weights; work: tokens, targets, lengths, branch, query, scores, logits, losses
    std::vector<kept<T>> blocks; // (L)
    kept<T> end;                 // the last LayerNorm's: residual, normalised, mean, rstd
    bool recompute;
    bool replaces;           // the next pass: its gradients replace those of the last update, or the first zeros
    bool dropout;            // may a pass have masks? Then memory for them is allocated
    int64_t padding;         // elements behind the flat weights and gradients, zeros: for equal parts of ranks
    T *flat_weights;         // (flat_offset(GPT2_TENSORS) + padding)
    float *flat_gradients;   // the same
    params<float> gradients; // points into flat_gradients
    T *stream;               // (N, C)     the gradient of the residual stream
    T *dnormalised;          // (N, C)     the gradient of a LayerNorm's output, or of the attention's
    T *dwide;                // (N, 4C)    the gradient of hidden and fc, or of qkv
    attention_room<T> room;  // scratch, also of the forward pass; empty where attention is fused
    float *delta;            // (B, H, T)  where attention is fused
    float *partial;          // (bias_most_parts, 4C)
    int *order, *starts;     // (N), (N + 1): token_runs (embedding.cuh)
    double *loss;            // (1)        summed over all tokens since it was zeroed
};

// The caller has set all.config, batch, prompt (T of a sequence) and forms, recompute, replaces, dropout and padding. Weights
// and gradients become zeros.
template <class T> int training_allocate(training<T> &t);
template <class T> void training_free(training<T> &t);

// ---- passes over B * T tokens (all.work.tokens), with targets (all.work.targets) ----

// Is told during a backward pass which gradients the stream has then computed: of layer L-1 first, all matrices at
// flat_offset(GPT2_QKVW, layer) and after it; at the end, with layer -1, all gradients. The token embedding's are among the
// last, because a tied one is both the first and the last product.
struct gradient_listener {
    int (*ready)(void *context, int layer); // returns a status
    void *context;
};

// Adds the losses to *loss, and scale times the gradients of their sum to the gradients. tokens: all.work.tokens on the host,
// which sorts the rows by token while the device computes. drop: the masks of this pass. listener: null for none.
template <class T>
int training_gradients(gpt2_device &device, const kernel_table &kernels, training<T> &t, float scale,
                       const int32_t *tokens, int B, int T_, const dropout &drop, const gradient_listener *listener);

// Adds the losses to *loss. Without dropout.
template <class T> int training_losses(gpt2_device &device, const kernel_table &kernels, training<T> &t, int B, int T_);

#endif
