/* sample.h — chooses the next token from logits. */
#ifndef GPT2_SAMPLE_H
#define GPT2_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* How a token is chosen, in this order, as transformers' logits processors do:
 *   repetition_penalty  the logit of each token that is in the sequence is divided by it if positive, else multiplied; 1: unchanged
 *   temperature         the logits are divided by it; with 0 the likeliest token is chosen, of equal ones the smallest id
 *   top_k               among the K likeliest tokens; 0: among all
 *   top_p               among the fewest of these with a total probability of at least top_p
 *   min_p               among those of these with at least min_p times the probability of the likeliest
 * Then one token is drawn from what is left. */
struct sampling {
    double repetition_penalty, temperature;
    int top_k;
    double top_p, min_p;
};

struct sampler {
    struct sampling by;
    uint64_t state; /* of the random numbers; each sequence has its own, independent of the others */
};

struct sampler sampler_make(const struct sampling *by, uint64_t seed, uint64_t sequence);

/* logits: (V), overwritten. ids: (count), the sequence so far, for the penalty. candidates: scratch of V ints. -1 when a logit is
 * NaN. */
int sampler_choose(struct sampler *sampler, float *logits, const int32_t *ids, size_t count, int *candidates, int V);

#endif
