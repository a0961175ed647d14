/* model.h — GPT-2 on a device: prompts in, the next token's logits out. C17 and C++.
 *
 *     struct gpt2_model *model = gpt2_model_open(&source, &options, error);
 *     gpt2_prefill(model, tokens, lengths, B, T, error);        // all prompts at once
 *     gpt2_logits(model, logits, error);                        // (B, V): what comes after each prompt
 *     gpt2_decode(model, next, error);                          // one token more for each sequence
 *     gpt2_logits(model, logits, error);
 *     gpt2_model_close(model);
 *
 * One stream does all the work. Every call waits only where it gives numbers to the host. Read in this order: forward.cuh
 * (what a pass does), block.cuh, attention.cuh, decode.cuh, matmul.cuh, params.cuh; then forms.cuh and what it names.
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

/* Two ways to the same numbers, to rounding. Taught: as lab 4 builds it. Fused: what forms.cuh lists. Auto: what its table
 * says is faster here. */
enum gpt2_form { GPT2_TAUGHT, GPT2_FUSED, GPT2_AUTO };

struct gpt2_model_options {
    enum gpt2_type type;      /* of weights and activations; sums and statistics are fp32 in all */
    bool tf32;                /* matmuls of F32 may shorten their factors to TF32 */
    bool graph;               /* decode as one CUDA graph */
    enum gpt2_form attention; /* over prompts: with all scores in memory, or none */
    enum gpt2_form decode;    /* steps of decoding: with the set's kernels and cuBLAS, or a few launches a block */
    int batch;                /* most sequences at once */
    int prompt;               /* most tokens of a prompt */
    int context;              /* most tokens of a sequence, the prompt included; 0: what the model knows */
    const struct kernel_table *kernels; /* every op of the forward pass must be in it (kernels/load.h) */
};

/* Weights go to the device, and all memory that the passes need is taken, once. NULL and a message: no device, out of
 * device memory (with how much was asked for), a kernel set without an op, sizes that no model has. */
struct gpt2_model *gpt2_model_open(const struct gpt2_source *source, const struct gpt2_model_options *options,
                                   struct gpt2_error *error);
void gpt2_model_close(struct gpt2_model *model); /* NULL is fine */

const struct gpt2_config *gpt2_model_config(const struct gpt2_model *model);
size_t gpt2_model_bytes(const struct gpt2_model *model); /* device memory taken */
size_t gpt2_model_needs(const struct gpt2_config *config,
                        const struct gpt2_model_options *options); /* that it would take */

struct gpt2_device_info {
    char name[256];
    bool is_cpu; /* the CPU backend */
    int capability;
    size_t free_bytes, total_bytes;
};
bool gpt2_device_ask(struct gpt2_device_info *info, struct gpt2_error *error);

/* B new sequences from their prompts. tokens: (B, T), each row's prompt first, the rest is ignored; lengths: (B), 1..T.
 * Forgets the sequences from before. Only each prompt's last position gets logits. */
bool gpt2_prefill(struct gpt2_model *model, const int32_t *tokens, const int32_t *lengths, int B, int T,
                  struct gpt2_error *error);

/* One token more for each of the B sequences of the last prefill. tokens: (B); a negative one lets its sequence rest: it
 * keeps its length, and its logits mean nothing. False also when a sequence is full. */
bool gpt2_decode(struct gpt2_model *model, const int32_t *tokens, struct gpt2_error *error);

/* Greedy decoding that stays on the device. `steps` times the likeliest token of the last logits (of equal ones the smallest
 * id, among the first `choices`) goes into each sequence; tokens: (B, steps) is what was chosen, -1 where a sequence rested:
 * after `stop`, which is reported but does not go in (-1: nothing stops); when it is full; from the start where rests[b] (null:
 * none does). Waits once, at the end. False also when logits are NaN. */
bool gpt2_decode_greedy(struct gpt2_model *model, int steps, int choices, int stop, const bool *rests, int32_t *tokens,
                        struct gpt2_error *error);

/* Each sequence forgets what came after its first lengths[b] tokens. The logits stay those of the last pass. */
bool gpt2_go_back(struct gpt2_model *model, const int32_t *lengths, struct gpt2_error *error);

/* Until all that was asked for is done. */
bool gpt2_wait(struct gpt2_model *model, struct gpt2_error *error);

/* (B, V) of the last prefill or decode, in fp32 whatever the type; padded columns are not there. Waits. */
bool gpt2_logits(struct gpt2_model *model, float *logits, struct gpt2_error *error);

/* Logits of every position: (B, T, V). Rows past a length mean nothing. Forgets the sequences from before. Waits. */
bool gpt2_all_logits(struct gpt2_model *model, const int32_t *tokens, const int32_t *lengths, int B, int T,
                     float *logits, struct gpt2_error *error);

/* losses[b][t] = -log p(targets[b][t] | tokens[b][0..t]): (B, T). A negative target gives 0. Forgets, waits. */
bool gpt2_losses(struct gpt2_model *model, const int32_t *tokens, const int32_t *targets, int B, int T, float *losses,
                 struct gpt2_error *error);

/* ---- hidden states ---- */

/* Called with each tensor of a pass, in order, in fp32 on the host: (rows, columns). layer: -1 before the first block, L
 * after the last. stage: "embedding", "ln1", "qkv", "attention", "attention projection", "residual after attention", "ln2",
 * "gelu", "mlp projection", "residual after mlp" (seen when the next block or the end has added it), "final layernorm",
 * "logits" (V columns). NULL stops it. A model that is observed is slow and uses no graph. */
typedef void gpt2_observer(void *context, const char *stage, int layer, const float *values, int64_t rows,
                           int64_t columns);
void gpt2_observe(struct gpt2_model *model, gpt2_observer *observer, void *context);

/* ---- where the time goes ---- */

/* From the end of the stage before (or the pass's start) to the end of this one, on the stream. Stages are named as above; three
 * have parts of their own: "fc" before "gelu", and in prompts "attention scores" and "causal softmax" before "attention". */
struct gpt2_interval {
    const char *stage;
    int layer;
    float begin, length; /* microseconds since gpt2_time_begin; on the CPU backend wall time of this machine */
};

/* Passes between the two calls are timed, each stage by itself and without a graph. At most `room` intervals are written;
 * *count is how many there were. Waits. */
bool gpt2_time_begin(struct gpt2_model *model, struct gpt2_error *error);
bool gpt2_time_end(struct gpt2_model *model, struct gpt2_interval *intervals, int room, int *count,
                   struct gpt2_error *error);

#ifdef __cplusplus
}
#endif

#endif
