/* reference_backward.h — GPT-2's gradients in float64 and plain loops, for comparison with training on the device. */
#ifndef GPT2_REFERENCE_BACKWARD_H
#define GPT2_REFERENCE_BACKWARD_H

#include "gpt2/formats/weights.h"

/* The gradient of each tensor of weights.h: at[tensor * layers + layer], (rows, columns) as listed there. */
struct gpt2_reference_gradients {
    struct gpt2_config config;
    double **at; /* (GPT2_TENSORS, L); NULL where a tensor has no such layer */
};

/* All zeros. False: out of memory. */
bool gpt2_reference_gradients_open(struct gpt2_reference_gradients *gradients, const struct gpt2_config *config);
void gpt2_reference_gradients_close(struct gpt2_reference_gradients *gradients);

/* *loss: the loss of one sequence, summed over its tokens. Adds `scale` times its gradients. Weights are read as F32.
 * tokens, targets: (T); a negative target is ignored. */
bool gpt2_reference_backward(const struct gpt2_source *source, const int32_t *tokens, const int32_t *targets, int T,
                             double scale, double *loss, struct gpt2_reference_gradients *gradients,
                             struct gpt2_error *error);

#endif
