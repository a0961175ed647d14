/* initial.h — the weights of a GPT-2 before training. */
#ifndef GPT2_INITIAL_H
#define GPT2_INITIAL_H

#include "gpt2/formats/weights.h"

/* As GPT-2: matrices and embeddings N(0, 0.02), the two projections into the residual stream scaled by 1 / sqrt(2 L) (it is a
 * sum of 2 L of them), biases 0, LayerNorm weights 1.
 *
 * A normal number is the sum of 12 uniform ones, less 6: whole numbers until the last multiplication, so that a seed gives the same
 * bits on every machine. (Its tails end at 6 standard deviations.) Each number depends on seed, tensor, layer and place. */
struct gpt2_initial {
    struct gpt2_config config;
    uint64_t seed;
};

/* Valid as long as `initial` is. */
struct gpt2_source gpt2_initial_source(struct gpt2_initial *initial);

/* splitmix64 of one number: what the seeds of this folder go through. */
uint64_t gpt2_mix(uint64_t number);

#endif
