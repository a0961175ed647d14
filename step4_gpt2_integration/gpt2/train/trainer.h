/* trainer.h — training on a device: gradients, AdamW, and the state that goes on after a stop. C17 and C++.
 *
 *     struct gpt2_trainer *trainer = gpt2_trainer_open(&source, &options, error);
 *     for (int64_t step = 1; step <= steps; step++) {
 *         for (each of K micro-batches) { gpt2_trainer_gradients(trainer, tokens, targets, B, T, 1.0f / (K * B * T), error); }
 *         gpt2_trainer_update(trainer, &settings, step, &norm, error);
 *         gpt2_trainer_take_loss(trainer, &sum, error);
 *     }
 *     struct gpt2_source weights = gpt2_trainer_source(trainer, GPT2_WEIGHTS);     // for a writer of a format
 *
 * The same calls give the same bits, on the same device. Read in this order: training.cuh (what is kept), training.cu (a pass),
 * optimizer.cu.
 */
#ifndef GPT2_TRAINER_H
#define GPT2_TRAINER_H

#ifdef __cplusplus
extern "C" {
#endif

#include "gpt2/formats/weights.h"
#include "gpt2/model/model.h"

struct kernel_table;
struct gpt2_trainer;

struct gpt2_trainer_options {
    enum gpt2_type
        type;  /* of weights and activations: GPT2_F32 or GPT2_BF16. Master weights, gradients and moments: fp32 */
    bool tf32; /* matmuls of F32 may shorten their factors to TF32 */
    enum gpt2_form attention; /* with all scores in memory, or none; fused is for BF16 (forms.cuh) */
    bool recompute;           /* keep each block's input alone; the backward pass runs the block again. The same bits */
    int batch, length;        /* most sequences of a pass, most tokens of a sequence */
    const struct kernel_table *kernels; /* every op, backward too */
};

/* Weights go to the device; moments are zeros. NULL and a message: as gpt2_model_open, and for type F16, whose gradients would
 * vanish without a scaling of the loss, which is not here; or attention cannot be fused here, and shall be. */
struct gpt2_trainer *gpt2_trainer_open(const struct gpt2_source *source, const struct gpt2_trainer_options *options,
                                       struct gpt2_error *error);
void gpt2_trainer_close(struct gpt2_trainer *trainer); /* NULL is fine */

/* Of the device: all that it asked for. What CUDA and its libraries take for themselves is not in it. */
size_t gpt2_trainer_bytes(const struct gpt2_trainer *trainer);

/* ---- a step ---- */

/* Adds the gradients of scale * (sum of the losses) to those since the last update, and the losses to their sum.
 * tokens, targets: (B, T), 0..V-1; a negative target is ignored: no loss, no gradient. Waits for nothing. */
bool gpt2_trainer_gradients(struct gpt2_trainer *trainer, const int32_t *tokens, const int32_t *targets, int B, int T,
                            float scale, struct gpt2_error *error);

/* The losses alone. */
bool gpt2_trainer_losses(struct gpt2_trainer *trainer, const int32_t *tokens, const int32_t *targets, int B, int T,
                         struct gpt2_error *error);

/* The sum of the losses since it was last taken. Waits. */
bool gpt2_trainer_take_loss(struct gpt2_trainer *trainer, double *sum, struct gpt2_error *error);

struct gpt2_adamw {
    double rate, beta1, beta2, epsilon;
    double decay; /* of the matrices, embeddings included; biases and LayerNorms do not decay */
    double clip;  /* gradients whose norm is larger are shortened to it; 0: never */
};

/* AdamW, step (from 1) of all; the gradients are zeros then. norm: of the gradients before clipping. Where it is not finite the
 * weights stay as they are, and this returns false. Waits. */
bool gpt2_trainer_update(struct gpt2_trainer *trainer, const struct gpt2_adamw *settings, int64_t step, double *norm,
                         struct gpt2_error *error);

/* ---- the state ---- */

enum gpt2_part {
    GPT2_WEIGHTS,
    GPT2_GRADIENTS,
    GPT2_MOMENT1,
    GPT2_MOMENT2
}; /* all fp32, with the tensors of weights.h */

/* Valid until the close; each read waits. */
struct gpt2_source gpt2_trainer_source(struct gpt2_trainer *trainer, enum gpt2_part part);

/* All tensors of a part, from a source of the same sizes. */
bool gpt2_trainer_load(struct gpt2_trainer *trainer, enum gpt2_part part, const struct gpt2_source *source,
                       struct gpt2_error *error);

/* The algorithms of cuBLASLt that this trainer's products use: bytes that mean something to the same device and library only,
 * which `device` names. NULL when out of memory; the caller frees it. */
void *gpt2_trainer_algorithms(const struct gpt2_trainer *trainer, size_t *size);
void gpt2_trainer_device(const struct gpt2_trainer *trainer, char *text, size_t size);

/* Use these where they fit, before the first pass. False: they are no such bytes. */
bool gpt2_trainer_use_algorithms(struct gpt2_trainer *trainer, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif
