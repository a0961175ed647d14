/* trainer.h — training on a device: gradients, AdamW, and the state of a checkpoint. C17 and C++.
 *
 *     struct gpt2_trainer *trainer = gpt2_trainer_open(&source, &options, error);
 *     for (int64_t step = 1; step <= steps; step++) {
 *         for (each of K micro-batches) { gpt2_trainer_gradients(trainer, tokens, targets, B, T, 1.0f / (K * B * T), error); }
 *                          (with dropout, gpt2_trainer_pass before each of them)
 *         gpt2_trainer_update(trainer, &settings, step, &norm, error);
 *         gpt2_trainer_take_loss(trainer, &sum, error);
 *     }
 *     struct gpt2_source weights = gpt2_trainer_source(trainer, GPT2_WEIGHTS);     // for a writer of a format
 *
 * The same calls give the same bits, on the same device. Read in this order: training.cuh (what is kept), training.cu (a pass),
 * optimizer.cu.
 *
 * With `zero`, rank r has the r-th part of the flat arrays of moments and, in BF16, of master weights. An update sums each part
 * of the gradients on its rank, which updates the part's weights; then each rank gets the weights of all parts.
 */
#ifndef GPT2_TRAINER_H
#define GPT2_TRAINER_H

#ifdef __cplusplus
extern "C" {
#endif

#include "gpt2/formats/weights.h"
#include "gpt2/model/model.h"

struct gpt2_collective;
struct kernel_table;
struct gpt2_trainer;

struct gpt2_trainer_options {
    enum gpt2_type
        type;  /* of weights and activations: GPT2_F32 or GPT2_BF16. Master weights, gradients and moments: fp32 */
    bool tf32; /* products of F32 may round their factors to TF32 */
    enum gpt2_form attention; /* with all scores in memory, or with none, which needs BF16 (forms.cuh) */
    bool recompute;           /* keep only each block's input and run the block again in the backward pass: same bits */
    int batch, length;        /* the largest number of sequences in a pass, and of tokens in a sequence */
    double dropout;           /* the probability of GPT-2's three dropouts (dropout.cuh), 0 to 0.99; 0: none */
    uint64_t seed;            /* of their masks */
    const struct kernel_table *kernels;  /* with every op, also the backward ones */
    const struct gpt2_collective *group; /* the ranks that train together (collective.h), with a device; NULL: one */
    bool zero; /* divide moments and, in BF16, master weights among the ranks (ZeRO stage 1) */
};

/* Copies the weights to the device; the moments are zeros. NULL and a message: as gpt2_model_open; for type F16, whose
 * gradients would underflow without loss scaling; for config.scale_by_layer; and where fused attention is requested and not
 * supported. */
struct gpt2_trainer *gpt2_trainer_open(const struct gpt2_source *source, const struct gpt2_trainer_options *options,
                                       struct gpt2_error *error);
void gpt2_trainer_close(struct gpt2_trainer *trainer); /* NULL is fine */

/* The allocated device memory, without that of CUDA and its libraries. */
size_t gpt2_trainer_bytes(const struct gpt2_trainer *trainer);

/* ---- a step ---- */

/* Before gradients with dropout: the number of their pass among all passes of the run, which determines the masks. */
void gpt2_trainer_pass(struct gpt2_trainer *trainer, int64_t number);

/* Before the last gradients of an update, with several ranks: as the layers' gradients are complete, their sums over the ranks
 * begin, in buckets (gpt2_collective.bucket). The update waits for them. Nothing happens with one rank, or with `zero`. */
void gpt2_trainer_sum_next(struct gpt2_trainer *trainer);

/* Adds the gradients of scale * (sum of the losses) to those since the last update, and the losses to their sum.
 * tokens, targets: (B, T), 0..V-1; a negative target has no loss and no gradient. Does not wait. */
bool gpt2_trainer_gradients(struct gpt2_trainer *trainer, const int32_t *tokens, const int32_t *targets, int B, int T,
                            float scale, struct gpt2_error *error);

/* Adds the losses alone, without dropout. */
bool gpt2_trainer_losses(struct gpt2_trainer *trainer, const int32_t *tokens, const int32_t *targets, int B, int T,
                         struct gpt2_error *error);

/* Returns the sum of the losses and resets it. Waits. */
bool gpt2_trainer_take_loss(struct gpt2_trainer *trainer, double *sum, struct gpt2_error *error);

struct gpt2_adamw {
    double rate, beta1, beta2, epsilon;
    double decay; /* of the matrices, embeddings included; biases and LayerNorms do not decay */
    double clip;  /* gradients with a larger norm are scaled to it; 0: never */
};

/* Step number `step` (from 1) of AdamW; the next gradients replace those before. norm: of the gradients before clipping, of all
 * ranks together. Where it is not finite, the weights do not change, and this returns false; after any other failure *norm is
 * 0. Waits. */
bool gpt2_trainer_update(struct gpt2_trainer *trainer, const struct gpt2_adamw *settings, int64_t step, double *norm,
                         struct gpt2_error *error);

/* ---- the state ---- */

enum gpt2_part {
    GPT2_WEIGHTS,
    GPT2_GRADIENTS,
    GPT2_MOMENT1,
    GPT2_MOMENT2
}; /* all fp32, with the tensors of weights.h */

/* Valid until the close; each read waits. Divided parts can be read between gpt2_trainer_collect and gpt2_trainer_release, on
 * rank 0; at other times GPT2_WEIGHTS has the weights as the passes read them. */
struct gpt2_source gpt2_trainer_source(struct gpt2_trainer *trainer, enum gpt2_part part);

/* With `zero`, on all ranks: rank 0 may read all parts from here to its call of gpt2_trainer_release. The other ranks send what
 * it reads, and return when it has called that. Without `zero` nothing happens. */
bool gpt2_trainer_collect(struct gpt2_trainer *trainer, struct gpt2_error *error);
bool gpt2_trainer_release(struct gpt2_trainer *trainer, struct gpt2_error *error);

/* All tensors of a part, from a source of the same sizes. */
bool gpt2_trainer_load(struct gpt2_trainer *trainer, enum gpt2_part part, const struct gpt2_source *source,
                       struct gpt2_error *error);

/* A hash of the bits of each part that the ranks must have in common: weights (the fp32 ones) and both moments. With `zero`:
 * the weights that the passes read, and 0 in place of the moments. Waits. */
enum { GPT2_TRAINER_HASHES = 3 };
bool gpt2_trainer_hash(struct gpt2_trainer *trainer, uint64_t hashes[GPT2_TRAINER_HASHES], struct gpt2_error *error);

/* The algorithms of cuBLASLt that this trainer's products use: bytes that are valid for one device and library, which
 * gpt2_trainer_device names. NULL: out of memory. The caller frees them. */
void *gpt2_trainer_algorithms(const struct gpt2_trainer *trainer, size_t *size);
void gpt2_trainer_device(const struct gpt2_trainer *trainer, char *text, size_t size);

/* Before the first pass: uses these algorithms for the shapes that they name. False: invalid bytes. */
bool gpt2_trainer_use_algorithms(struct gpt2_trainer *trainer, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif
