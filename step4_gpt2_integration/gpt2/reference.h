/* reference.h — GPT-2's forward pass in float64 and plain loops, for comparison with the model on the device.
 *
 * One sequence, no cache, no fusion. Read it as the definition of the model.
 */
#ifndef GPT2_REFERENCE_H
#define GPT2_REFERENCE_H

#include "gpt2/formats/weights.h"

/* Called with each tensor in order: (T, columns). Stages and layers are those of gpt2_observe (model/model.h); the last one
 * is "logits", with V columns. */
typedef void gpt2_reference_observer(void *context, const char *stage, int layer, const double *values, int64_t rows,
                                     int64_t columns);

/* Weights are read as F32. tokens: (T), each in 0..V-1; T at most the context. */
bool gpt2_reference(const struct gpt2_source *source, const int32_t *tokens, int T, gpt2_reference_observer *observer,
                    void *context, struct gpt2_error *error);

#endif
