/* synthetic.h — weights of a real size, made in memory: speed depends on shapes, not on what a model has learned. */
#ifndef GPT2_SYNTHETIC_H
#define GPT2_SYNTHETIC_H

#include "gpt2/formats/weights.h"

struct synthetic {
    struct gpt2_config config;
    uint64_t seed;
    float *room; /* of the largest tensor */
};

/* The same values for the same seed. Linear weights and embeddings are N(0, 0.02)-like as GPT-2's before training, uniform
 * with that spread; LayerNorm weights lie around 1; biases are not zero. */
bool synthetic_open(struct synthetic *synthetic, const struct gpt2_config *config, uint64_t seed,
                    struct gpt2_error *error);
void synthetic_close(struct synthetic *synthetic); /* an all-zero struct is fine */
struct gpt2_source synthetic_source(struct synthetic *synthetic);

#endif
