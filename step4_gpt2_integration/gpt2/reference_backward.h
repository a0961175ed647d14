/* reference_backward.h — GPT-2's gradients in float64 and plain loops: what training on the device is compared with. */
#ifndef GPT2_REFERENCE_BACKWARD_H
#define GPT2_REFERENCE_BACKWARD_H

#include "gpt2/formats/weights.h"

/* One tensor's gradient for each place of weights.h: at[tensor * layers + layer], (rows, columns) as listed there. */
struct gpt2_reference_gradients {
    struct gpt2_config config;
    double **at; /* (GPT2_TENSORS, L); NULL where a tensor has no such layer */
};

/* All zeros. False without memory. */
bool gpt2_reference_gradients_open(struct gpt2_reference_gradients *gradients, const struct gpt2_config *config);
void gpt2_reference_gradients_close(struct gpt2_reference_gradients *gradients);

/* The loss of one sequence, summed over its tokens, and `scale` times its gradients, added. Weights are taken as F32.
 * tokens, targets: (T); a negative target is ignored. */
bool gpt2_reference_backward(const struct gpt2_source *source, const int32_t *tokens, const int32_t *targets, int T,
                             double scale, double *loss, struct gpt2_reference_gradients *gradients,
                             struct gpt2_error *error);

#endif
