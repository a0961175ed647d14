/* initial.h — the weights of a GPT-2 before training. */
#ifndef GPT2_INITIAL_H
#define GPT2_INITIAL_H

#include "gpt2/formats/weights.h"

/* As GPT-2: matrices and embeddings are N(0, 0.02), biases 0, LayerNorm weights 1. The residual stream is a sum of 2 L
 * projections, so their weights are scaled by 1 / sqrt(2 L).
 *
 * A normal number is the sum of 12 uniform ones, less 6. It is computed in integers until the last multiplication, so a seed
 * gives the same bits on every machine. Its tails end at 6 standard deviations. A number depends on seed, tensor, layer and
 * position. */
struct gpt2_initial {
    struct gpt2_config config;
    uint64_t seed;
};

/* Valid as long as `initial`. */
struct gpt2_source gpt2_initial_source(struct gpt2_initial *initial);

#endif
