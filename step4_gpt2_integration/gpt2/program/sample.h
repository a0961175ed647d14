/* sample.h — chooses the next token from logits. */
#ifndef GPT2_SAMPLE_H
#define GPT2_SAMPLE_H

#include <stdint.h>

/* With temperature 0 the likeliest token is chosen, of equal ones the smallest id. Otherwise the logits are divided by the
 * temperature, restricted to the top_k likeliest tokens (0: all), then to the fewest of these whose total probability is at least
 * top_p, and one token is drawn. */
struct sampler {
    double temperature, top_p;
    int top_k;
    uint64_t state; /* of the random numbers; each sequence has its own, independent of the others */
};

struct sampler sampler_make(double temperature, int top_k, double top_p, uint64_t seed, uint64_t sequence);

/* logits: (V), overwritten. candidates: scratch of V ints. -1 when a logit is NaN. */
int sampler_choose(struct sampler *sampler, float *logits, int *candidates, int V);

#endif
