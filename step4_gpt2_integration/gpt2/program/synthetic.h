/* synthetic.h — random weights of a given size. Speed depends on shapes, not on the values of the weights. */
#ifndef GPT2_SYNTHETIC_H
#define GPT2_SYNTHETIC_H

#include "gpt2/formats/weights.h"

struct synthetic {
    struct gpt2_config config;
    uint64_t seed;
    float *room; /* room for the largest tensor */
};

/* The same seed gives the same values. Linear weights and embeddings are uniform with a standard deviation of 0.02, that of
 * GPT-2's initial weights. LayerNorm weights are around 1. Biases are not zero. */
bool synthetic_open(struct synthetic *synthetic, const struct gpt2_config *config, uint64_t seed,
                    struct gpt2_error *error);
void synthetic_close(struct synthetic *synthetic); /* may be called on an all-zero struct */
struct gpt2_source synthetic_source(struct synthetic *synthetic);

#endif
