// params.cuh — the model's tensors on the device, each with its shape, in one allocation
//
// V tokens (Vp: padded), S positions of a sequence, L blocks, C channels, H heads of D = C / H channels; B sequences,
// T positions of a prompt, N = B * T rows.
// Of a divided model (gpt2_division) a rank has H / ranks heads and W = C / ranks of their channels. Then 3C, 4C, and the C of
// attention and its projection's columns, are 3W, 4W and W below, and H is the rank's.
#ifndef GPT2_PARAMS_CUH
#define GPT2_PARAMS_CUH

#include "gpt2/model/choice.cuh"
#include "gpt2/model/device.cuh"
#include "gpt2/model/eight_bits.cuh"
#include "gpt2/model/forms.cuh"

#include <vector>

// Hands out parts of one allocation. Without a base it only counts the bytes, so one list of tensors gives size and pointers.
struct arena {
    char *base;
    size_t used;

    template <class P> void take(P *&pointer, int64_t elements) {
        constexpr size_t alignment = 256;
        used = (used + alignment - 1) / alignment * alignment;
        pointer = base ? (P *)(base + used) : nullptr;
        used += (size_t)elements * sizeof(P);
    }
};

// The matrices of a block in 8 bits (eight_bits.cuh). Then the pointers of block_weights to these matrices are the same in all
// blocks: memory to which a block's matrices are expanded where a product needs elements of T.
struct block_codes {
    code_matrix qkv, attention, fc, mlp;
};

template <class T> struct block_weights {
    T *ln1_weight, *ln1_bias;             // (C)
    T *qkv_weight, *qkv_bias;             // (3C, C), (3C)
    T *attention_weight, *attention_bias; // (C, C), (C)
    T *ln2_weight, *ln2_bias;             // (C)
    T *fc_weight, *fc_bias;               // (4C, C), (4C)
    T *mlp_weight, *mlp_bias;             // (C, 4C), (C)
};

// The keys and values of one block, for all positions so far.
template <class T> struct block_cache {
    T *k, *v; // (B, H, S, D)
};

template <class T> struct params {
    T *token_embedding;    // (Vp, C)     zeros from row V on
    T *head;               // (Vp, C)     the output projection: zeros from row V on; token_embedding unless untied
    T *position_embedding; // (maxT, C)
    std::vector<block_weights<T>> blocks; // (L)
    T *final_weight, *final_bias;         // (C)
    // In 8 bits: token_embedding is null in a tied model, head in any.
    std::vector<block_codes> codes; // (L)
    code_matrix head_codes;         // (Vp, C)
    T *expanded;                    // (12 C C)  of the blocks' matrices; also rows of the head
};

// What decode_persistent.cu keeps between its launches.
struct persistent_memory {
    char *base;  // (forms.persistent_bytes)
    int64_t tag; // the next one that no packet has; 0: the memory has not been set to zeros
};

// The results of a pass. All blocks use the same memory, and so do the groups of prompts that pass through them one after the
// other: N is the number of rows of a group, or of a step; with activations in 8 bits the next multiple of 16 (padded_codes).
template <class T> struct activations {
    int *tokens;        // (B, T)     of all prompts, as targets, lengths and losses
    int *targets;       // (B, T)
    int *lengths;       // (B)        the prompts' lengths
    int *positions;     // (B)        the number of tokens in the cache, which is the next one's position; at most S - 1
    T *residual;        // (N, C)     the stream that blocks add to
    T *branch;          // (N, C)     the last sub-layer's output, not yet added to residual
    T *normalised;      // (N, C)
    T *qkv;             // (N, 3C)
    T *attention;       // (N, C)
    T *query;           // (N, C)     as (B, H, T, D); then the heads' outputs; empty where attention is fused
    T *scores;          // (group, H, T, T); empty likewise, or the scratch memory of rows.cuh
    code_room codes;    // of products with activations in 8 bits, up to (N, 4C); else empty
    T *hidden;          // (N, 4C)    shares the memory of qkv and attention where attention is fused
    float *mean, *rstd; // (N)
    float *logits;      // (logit_rows, Vp)
    float *losses;      // (B, T)
    T *last_residual;   // (B, C)     of each prompt's last position: residual
    T *last_result;     // (B, C)     likewise: branch, or the attention of the last block
    float *partial;     // (B, H, splits, D + 2)   decode_split.cuh; or (B, H, padded_row(S)), rows.cuh
    unsigned *arrived;  // (B, H)                  decode_split.cuh
    choice_state choice;
    persistent_memory persistent;
};

// Where the sums of a divided model run beside its products (forward.cu).
struct sums_aside {
    cudaStream_t stream;
    cudaEvent_t ready, done; // of the latest sum: what it adds, itself
};

template <class T> struct tensors {
    gpt2_config config;
    const gpt2_division *division; // null: the model is whole
    const sums_aside *lanes;       // (2) null: the model is whole
    const sums_aside *aside;       // one of them, of a lane; null: sums are in the stream of the products
    int batch, prompt, context;    // upper bounds of B, T and S
    int together;                  // prompts that pass through the blocks at once
    int group;                     // sequences whose scores fit in memory at once
    int logit_rows;
    gpt2_scheme scheme; // of the matrices in 8 bits
    bool coded_inputs;  // activations of prompts in 8 bits, too: block_fused
    model_forms forms;
    params<T> weights;
    activations<T> work;
    std::vector<block_cache<T>> cache; // (L)
    char *memory;
    size_t bytes;

    int ranks() const { return division != nullptr ? division->ranks : 1; }
    int rank() const { return division != nullptr ? division->rank : 0; }
    int heads() const { return config.heads / ranks(); }
    int width() const { return config.channels / ranks(); } // W
};

// The bytes of a model of all.config, batch, prompt, context and forms. Also sets together, group and logit_rows.
template <class T> size_t tensors_bytes(tensors<T> &all);

// Allocates the memory (a status), then copies the weights to it.
template <class T> int tensors_allocate(tensors<T> &all);
template <class T> bool tensors_load(tensors<T> &all, const gpt2_source *source, gpt2_error *error);
template <class T> void tensors_free(tensors<T> &all);

// The blocks' matrices of this layer, expanded, if they are in 8 bits.
template <class T> int expand_block(gpt2_device &device, tensors<T> &all, int layer);

// The rows that embed tokens.
template <class T> lookup_table<T> token_table(const tensors<T> &all) {
    return {all.weights.token_embedding, all.weights.head_codes, all.scheme, all.config.channels};
}

// The pointer that belongs to a tensor of a weights file. `layer` is 0 for a tensor that exists once.
template <class T> T *&place_of(params<T> &weights, gpt2_tensor tensor, int layer);

#endif
