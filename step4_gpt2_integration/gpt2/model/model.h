/* model.h — GPT-2 on a device: prompts in, the next token's logits out. C17 and C++.
 *
 *     struct gpt2_model *model = gpt2_model_open(&source, &options, error);
 *     gpt2_prefill(model, tokens, lengths, B, T, error);        // all prompts at once
 *     gpt2_logits(model, logits, error);                        // (B, V): of the token after each prompt
 *     gpt2_decode(model, next, error);                          // one more token for each sequence
 *     gpt2_logits(model, logits, error);
 *     gpt2_model_close(model);
 *
 * All work is on one stream. A call waits only where it returns numbers to the host. Read in this order: forward.cuh (the
 * passes), block.cuh, attention.cuh, decode.cuh, matmul.cuh, params.cuh; then forms.cuh and the files that it names.
 */
#ifndef GPT2_MODEL_H
#define GPT2_MODEL_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "gpt2/formats/weights.h"

struct kernel_table;
struct gpt2_model;

/* Forms with the same results, to rounding. Taught: as lab 4 builds it. Fused: as forms.cuh lists it. Auto: the faster one on
 * this device, by a table in forms.cu. Rows, of attention: the one that suits the CPU backend. Persistent, of decoding: steps
 * of one sequence whose tokens are chosen on the device in one kernel, where device and model allow it, else fused. */
enum gpt2_form { GPT2_TAUGHT, GPT2_FUSED, GPT2_AUTO, GPT2_ROWS, GPT2_PERSISTENT };

/* A model that several processes compute together, each on a device of its own: rank r has the r-th part of the heads and of
 * the MLP's channels. `ranks` divides the number of heads. All make the same calls in the same order. */
struct gpt2_division {
    int rank, ranks; /* this process is number `rank`, from 0, of `ranks` */
    bool recorded;   /* a CUDA graph may record `sum` */
    /* x (count), on the device, becomes its sum over all ranks in the order of the stream (a cudaStream_t), with the same bits
     * on all of them. It does not return when it fails. */
    void (*sum)(void *context, void *x, int64_t count, enum gpt2_type type, void *stream);
    /* Waits for all work of the stream, which the other ranks' sums may hold up. It does not return when a rank is lost. */
    void (*wait)(void *context, void *stream);
    void *context;
};

struct gpt2_model_options {
    enum gpt2_type type;     /* of weights and activations; sums and statistics are fp32 in all */
    enum gpt2_scheme scheme; /* of matrices that stay in 8 bits: the source's; GPT2_PLAIN: they are decoded to `type` */
    bool
        activations; /* with a scheme: the inputs of prompts' products are in 8 bits, too, by the source's input_scales */
    bool tf32;       /* products of F32 may round their factors to TF32 */
    bool graph;      /* decode as one CUDA graph */
    bool timed; /* prompts use the fastest algorithms of their large products (matmul.cuh); not with several ranks */
    enum gpt2_form attention; /* over prompts: with all scores in memory, a few, or none */
    enum gpt2_form decode;    /* of steps: with the set's kernels and cuBLAS, or with few launches */
    int batch;                /* the largest number of sequences at once */
    int prompt;               /* the largest number of tokens of a prompt */
    int context;              /* the largest number of tokens of a sequence, with its prompt; 0: the model's */
    int together; /* prompts that pass through the blocks at once; 0: by forms.cu. The others wait: less memory */
    const struct kernel_table *kernels;   /* every op of the forward pass must be in it (kernels/load.h) */
    const struct gpt2_division *division; /* valid until the model is closed; NULL: the whole model is on this device */
};

/* Allocates all memory that the passes need and copies the weights to the device. NULL and a message: no device, out of device
 * memory (with the number of bytes), a kernel set that lacks an op, invalid sizes. */
struct gpt2_model *gpt2_model_open(const struct gpt2_source *source, const struct gpt2_model_options *options,
                                   struct gpt2_error *error);
void gpt2_model_close(struct gpt2_model *model); /* NULL is fine */

/* Replaces the weights by those of a source of the same sizes, and drops the sequences. Waits. */
bool gpt2_model_load(struct gpt2_model *model, const struct gpt2_source *source, struct gpt2_error *error);

const struct gpt2_config *gpt2_model_config(const struct gpt2_model *model);
/* The form of decoding B sequences with tokens chosen on the device, never auto. gpt2_decode is fused where that is persistent.
 * gpt2_decode_choosing goes over to fused where the integers of the persistent form cannot hold what int8 weights give. */
enum gpt2_form gpt2_model_decode_form(const struct gpt2_model *model, int B);
size_t gpt2_model_bytes(const struct gpt2_model *model); /* the device memory that it uses */
size_t gpt2_model_needs(const struct gpt2_config *config,
                        const struct gpt2_model_options *options); /* that it would use; 0: it cannot be divided so */

struct gpt2_device_info {
    char name[256];
    bool is_cpu; /* the CPU backend */
    int capability;
    size_t free_bytes, total_bytes;
};
bool gpt2_device_ask(struct gpt2_device_info *info, struct gpt2_error *error);

/* The number of processor threads of the CPU backend's kernels and matrix products. False: the device is a GPU. Before the
 * model is opened. */
bool gpt2_device_threads(int threads, struct gpt2_error *error);

/* Starts B sequences from their prompts and drops the sequences from before. tokens: (B, T), each row begins with a prompt, the
 * rest is ignored; lengths: (B), 1..T. Computes the logits of each prompt's last position. */
bool gpt2_prefill(struct gpt2_model *model, const int32_t *tokens, const int32_t *lengths, int B, int T,
                  struct gpt2_error *error);

/* Adds one token to each of the B sequences of the last prefill. tokens: (B). With a negative token a sequence rests: it keeps
 * its length, and its logits are undefined. False also when a sequence is full. */
bool gpt2_decode(struct gpt2_model *model, const int32_t *tokens, struct gpt2_error *error);

/* How a token is chosen, in this order, as transformers' logits processors do:
 *   repetition_penalty  the logit of each token that is in the sequence is divided by it if positive, else multiplied; 1:
 *                       unchanged
 *   temperature         the logits are divided by it; with 0 the likeliest token is chosen, of equal ones the smallest id
 *   top_k               among the K likeliest tokens; 0: among all
 *   top_p               among the fewest of these with a total probability of at least top_p
 *   min_p               among those of these with at least min_p times the probability of the likeliest
 * Then one token is drawn from what is left: in the order of ids if neither top_k nor top_p leaves any out, else the likeliest
 * ones first, the first at which the running sum of probabilities exceeds a random number. */
struct gpt2_sampling {
    double repetition_penalty, temperature;
    int top_k;
    double top_p, min_p;
};

struct gpt2_draws {
    struct gpt2_sampling by;
    uint64_t *random;    /* (B): gpt2_random_begin (number.h); each chosen token of a sequence takes one number */
    const uint8_t *seen; /* (B, V): 1 for the ids that are in the sequence, for the penalty; may be NULL without one */
};

/* Decoding on the device. `steps` times it adds to each sequence a token that it chooses by the last logits, among the first
 * `choices` ids: by `draws`, or with NULL the likeliest, of equal ones the smallest id. tokens: (B, steps), the chosen tokens,
 * -1 where a sequence rested. A sequence rests
 *   - after `stop`, which is reported but not added (-1: no such token);
 *   - when it is full;
 *   - from the start where rests[b] (null: none).
 * Waits once, at the end. False also when logits are NaN. Where `stop` was drawn, no logits follow it, and those before are
 * overwritten. */
bool gpt2_decode_choosing(struct gpt2_model *model, int steps, int choices, int stop, struct gpt2_draws *draws,
                          const bool *rests, int32_t *tokens, struct gpt2_error *error);

/* Cuts each sequence to its first lengths[b] tokens. The logits stay those of the last pass. */
bool gpt2_go_back(struct gpt2_model *model, const int32_t *lengths, struct gpt2_error *error);

/* Waits until all enqueued work is done. */
bool gpt2_wait(struct gpt2_model *model, struct gpt2_error *error);

/* The logits (B, V) of the last prefill or decode, in fp32 for every type, without padded columns. Waits. */
bool gpt2_logits(struct gpt2_model *model, float *logits, struct gpt2_error *error);

/* The logits of all positions: (B, T, V). Rows past a length are undefined. Drops the sequences from before. Waits. */
bool gpt2_all_logits(struct gpt2_model *model, const int32_t *tokens, const int32_t *lengths, int B, int T,
                     float *logits, struct gpt2_error *error);

/* losses[b][t] = -log p(targets[b][t] | tokens[b][0..t]): (B, T). A negative target gives 0. Drops the
 * sequences from before. Waits. */
bool gpt2_losses(struct gpt2_model *model, const int32_t *tokens, const int32_t *targets, int B, int T, float *losses,
                 struct gpt2_error *error);

/* ---- hidden states ---- */

/* Called with each tensor of a pass, in order, in fp32 on the host: (rows, columns). layer: -1 before the first block, L
 * after the last. stage: "embedding", "ln1", "qkv", "attention", "attention projection", "residual after attention", "ln2",
 * "gelu", "mlp projection", "residual after mlp" (observed when the next block or the last LayerNorm has added
 * it), "final layernorm", "logits" (V columns). NULL ends the observation. An observed model is slow and uses no graph.
 * Prompts that do not pass through the blocks together are observed one group after the other. gpt2_prefill in a fused form
 * computes the last block for each prompt's last position alone, from the attention on. */
typedef void gpt2_observer(void *context, const char *stage, int layer, const float *values, int64_t rows,
                           int64_t columns);
void gpt2_observe(struct gpt2_model *model, gpt2_observer *observer, void *context);

/* Called on the host at the end of each stage, named as above: on the CPU backend when it is computed, on a GPU when it is
 * enqueued. NULL ends it. It changes nothing else: for a display of progress. */
typedef void gpt2_stage_listener(void *context, const char *stage, int layer);
void gpt2_listen(struct gpt2_model *model, gpt2_stage_listener *listener, void *context);

/* ---- times ---- */

/* From the end of the stage before, or the start of the pass, to the end of this stage, on the stream. Stages are named as above.
 * Some have parts: "fc" before "gelu", and in prompts "attention scores" and "causal softmax" before "attention". */
struct gpt2_interval {
    const char *stage;
    int layer;
    float begin, length; /* microseconds since gpt2_time_begin; on the CPU backend wall time of this machine */
    int64_t rows;        /* that it computed; 0: a part of a stage */
};

/* Times the passes between the two calls, stage by stage and without a graph. Writes at most `room` intervals; *count is their
 * full number. Waits. */
bool gpt2_time_begin(struct gpt2_model *model, struct gpt2_error *error);
bool gpt2_time_end(struct gpt2_model *model, struct gpt2_interval *intervals, int room, int *count,
                   struct gpt2_error *error);

#ifdef __cplusplus
}
#endif

#endif
