/* config.h — the sizes of a GPT-2. The letters are those of the whole course. */
#ifndef GPT2_CONFIG_H
#define GPT2_CONFIG_H

#include <stdint.h>

#include "gpt2/error.h"

struct gpt2_config {
    int max_tokens;        /* T: the context, rows of wpe */
    int vocabulary;        /* V: tokens that exist */
    int padded_vocabulary; /* Vp >= V: rows of wte in a matmul's operand; the rest are zeros and must never win */
    int layers;            /* L */
    int heads;             /* NH, divides C */
    int channels;          /* C */
    float epsilon;         /* of every LayerNorm */
};

/* "124M", "355M", "774M" or "1558M"; NULL for another name. */
const struct gpt2_config *gpt2_config_named(const char *name);

/* Are these sizes a model at all, and small enough that no product of them overflows 62 bits? file: for the message. */
bool gpt2_config_check(const struct gpt2_config *config, const char *file, struct gpt2_error *error);

/* The same model: all sizes and epsilon, but not the padding. */
bool gpt2_config_same(const struct gpt2_config *a, const struct gpt2_config *b);

/* Weights in all, wte with `vocabulary_rows` rows: V for what a model has, Vp for what a llm.c file stores. */
int64_t gpt2_config_weights(const struct gpt2_config *config, int vocabulary_rows);

/* V rounded up to a multiple of 128: 50304 for GPT-2. */
int gpt2_pad_vocabulary(int vocabulary);

#endif
