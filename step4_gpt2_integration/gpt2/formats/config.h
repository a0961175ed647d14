/* config.h — the sizes of a GPT-2, with the letters of the whole course. */
#ifndef GPT2_CONFIG_H
#define GPT2_CONFIG_H

#include <stdint.h>

#include "gpt2/error.h"

struct gpt2_config {
    int max_tokens;        /* T: the context, rows of wpe */
    int vocabulary;        /* V: number of tokens */
    int padded_vocabulary; /* Vp >= V: rows of wte in products; rows V..Vp are zeros and never chosen */
    int layers;            /* L */
    int heads;             /* NH; divides C */
    int channels;          /* C */
    float epsilon;         /* of every LayerNorm */
};

/* "124M", "355M", "774M" or "1558M"; NULL for another name. */
const struct gpt2_config *gpt2_config_named(const char *name);

/* Are the sizes valid, and so small that no product of them overflows 62 bits? file: for the message. */
bool gpt2_config_check(const struct gpt2_config *config, const char *file, struct gpt2_error *error);

/* Are all sizes and epsilon equal, except the padding? */
bool gpt2_config_same(const struct gpt2_config *a, const struct gpt2_config *b);

/* The number of weights, with `vocabulary_rows` rows of wte: V for a model, Vp for a file of llm.c. */
int64_t gpt2_config_weights(const struct gpt2_config *config, int vocabulary_rows);

/* V rounded up to a multiple of 128: 50304 for GPT-2. */
int gpt2_pad_vocabulary(int vocabulary);

#endif
