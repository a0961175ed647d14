/* sample.h — from logits to the next token. */
#ifndef GPT2_SAMPLE_H
#define GPT2_SAMPLE_H

#include <stdint.h>

/* How to choose. temperature 0: the likeliest token, of equal ones the smallest id. Else logits are divided by it, cut to the
 * top_k likeliest (0: all), then to the fewest of these that together have at least probability top_p, and one is drawn. */
struct sampler {
    double temperature, top_p;
    int top_k;
    uint64_t state; /* of the random numbers; a sequence has its own, so that others do not change it */
};

struct sampler sampler_make(double temperature, int top_k, double top_p, uint64_t seed, uint64_t sequence);

/* logits: (V), which are changed. candidates: room for V ints. -1 when a logit is NaN. */
int sampler_choose(struct sampler *sampler, float *logits, int *candidates, int V);

#endif
