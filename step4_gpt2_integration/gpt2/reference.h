/* reference.h — a whole GPT-2 in float64, for comparison with the model on the device: the hidden states, the loss, and the
 * gradients of one sequence. The mathematics is in common/ops/transformer/transformer.h. Weights are read as F32.
 *
 * A failure gives a message. One exception: the program ends if there is no memory for the intermediate results of a block.
 */
#ifndef GPT2_REFERENCE_H
#define GPT2_REFERENCE_H

#include "gpt2/formats/weights.h"

/* Called with each tensor in order: (T, columns). Stages and layers are those of gpt2_observe (model/model.h); the last one
 * is "logits", with V columns. */
typedef void gpt2_reference_observer(void *context, const char *stage, int layer, const double *values, int64_t rows,
                                     int64_t columns);

/* tokens: (T), each in 0..V-1; T at most the context. */
bool gpt2_reference(const struct gpt2_source *source, const int32_t *tokens, int T, gpt2_reference_observer *observer,
                    void *context, struct gpt2_error *error);

/* The gradient of each tensor of weights.h: at[tensor * layers + layer], (rows, columns) as listed there. */
struct gpt2_reference_gradients {
    struct gpt2_config config;
    double **at; /* (GPT2_TENSORS, L); NULL where a tensor has no such layer */
};

/* All zeros. False: out of memory. */
bool gpt2_reference_gradients_open(struct gpt2_reference_gradients *gradients, const struct gpt2_config *config);
void gpt2_reference_gradients_close(struct gpt2_reference_gradients *gradients);

/* Dropout: the factor of an element of one sequence, 0 or 1 / (1 - p). place 0: the embedding (T, C); 1: the attention's weights
 * (H, T, T); 2 and 3: the attention's and the MLP's branch (T, C). layer: 0 for the embedding. */
struct gpt2_reference_dropout {
    double (*factor)(void *context, int place, int layer, size_t index);
    void *context;
};

/* *loss: the cross-entropy of one sequence in nats, summed over its tokens. Adds `scale` times its gradients. tokens, targets:
 * (T); a negative target is ignored. dropout: NULL for none. */
bool gpt2_reference_backward(const struct gpt2_source *source, const int32_t *tokens, const int32_t *targets, int T,
                             double scale, const struct gpt2_reference_dropout *dropout, double *loss,
                             struct gpt2_reference_gradients *gradients, struct gpt2_error *error);

#endif
