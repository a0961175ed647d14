// params.cuh — the model's tensors on the device, each with its shape, in one allocation
//
// V tokens (Vp: padded), S positions of a sequence, L blocks, C channels, H heads of D = C / H channels; B sequences,
// T positions of a prompt, N = B * T rows.
#ifndef GPT2_PARAMS_CUH
#define GPT2_PARAMS_CUH

#include "gpt2/model/device.cuh"
#include "gpt2/model/forms.cuh"
#include "gpt2/model/greedy.cuh"

#include <vector>

template <class T> struct block_weights {
    T *ln1_weight, *ln1_bias;             // (C)
    T *qkv_weight, *qkv_bias;             // (3C, C), (3C)
    T *attention_weight, *attention_bias; // (C, C), (C)
    T *ln2_weight, *ln2_bias;             // (C)
    T *fc_weight, *fc_bias;               // (4C, C), (4C)
    T *mlp_weight, *mlp_bias;             // (C, 4C), (C)
};

// Keys and values of all positions so far, of one block.
template <class T> struct block_cache {
    T *k, *v; // (B, H, S, D)
};

template <class T> struct params {
    T *token_embedding;                   // (Vp, C)     rows from V on are zeros; also the output projection
    T *position_embedding;                // (maxT, C)
    std::vector<block_weights<T>> blocks; // (L)
    T *final_weight, *final_bias;         // (C)
};

// What a pass writes. Every block uses the same memory again.
template <class T> struct activations {
    int *tokens;        // (B, T)
    int *targets;       // (B, T)
    int *lengths;       // (B)        of the prompts
    int *positions;     // (B)        tokens in the cache so far: where the next one goes; at most S - 1
    T *residual;        // (N, C)     the stream that blocks add to
    T *branch;          // (N, C)     what the last sub-layer gave and nobody has added yet
    T *normalised;      // (N, C)
    T *qkv;             // (N, 3C)
    T *attention;       // (N, C)
    T *query;           // (N, C)     as (B, H, T, D); then the heads' outputs; nothing where attention is fused
    T *scores;          // (group, H, T, T); likewise
    T *hidden;          // (N, 4C); in the fused form the memory of qkv and attention
    float *mean, *rstd; // (N)
    float *logits;      // (logit_rows, Vp)
    float *losses;      // (N)
    float *partial;     // (B, H, splits, D + 2)   decode_split.cuh
    unsigned *arrived;  // (B, H)                  likewise
    greedy_state greedy;
};

template <class T> struct tensors {
    gpt2_config config;
    int batch, prompt, context; // the most B, T and S
    int group;                  // sequences whose scores fit at once
    int logit_rows;
    model_forms forms;
    params<T> weights;
    activations<T> work;
    std::vector<block_cache<T>> cache; // (L)
    char *memory;
    size_t bytes;
};

// What a model of all.config, batch, prompt, context and forms takes; also sets group and logit_rows.
template <class T> size_t tensors_bytes(tensors<T> &all);

// Takes the memory; then copies the weights there. An error's code, or 0.
template <class T> int tensors_allocate(tensors<T> &all);
template <class T> bool tensors_load(tensors<T> &all, const gpt2_source *source, gpt2_error *error);
template <class T> void tensors_free(tensors<T> &all);

// The pointer to a tensor of a file. `layer` is 0 for what is there once.
template <class T> T *&place_of(params<T> &weights, gpt2_tensor tensor, int layer);

#endif
