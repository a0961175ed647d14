/* config.h — the sizes of a GPT-2, with the letters of the whole course, and the settings in which its relatives differ. */
#ifndef GPT2_CONFIG_H
#define GPT2_CONFIG_H

#include <stdint.h>

#include "gpt2/error.h"

/* Between the two products of the MLP. */
enum gpt2_activation {
    GPT2_GELU_TANH, /* GPT-2's: 0.5 u (1 + tanh(sqrt(2 / pi) (u + 0.044715 u^3))) */
    GPT2_GELU_ERF,  /* 0.5 u (1 + erf(u / sqrt(2))) */
    GPT2_RELU,      /* max(u, 0) */
};

/* The tokens that end a text, where the model names them. */
enum { GPT2_MOST_STOPS = 16 };
struct gpt2_stops {
    bool given;
    int count;
    int32_t ids[GPT2_MOST_STOPS];
};

/* All zero after epsilon: GPT-2 itself. */
struct gpt2_config {
    int max_tokens;        /* T: the context, rows of wpe */
    int vocabulary;        /* V: number of tokens */
    int padded_vocabulary; /* Vp >= V: rows of wte in products; rows V..Vp are zeros and never chosen */
    int layers;            /* L */
    int heads;             /* NH; divides C */
    int channels;          /* C */
    float epsilon;         /* of every LayerNorm */
    enum gpt2_activation activation;
    bool untied;         /* the output projection has weights of its own (GPT2_HEAD); else they are wte */
    bool scale_by_layer; /* scores are also divided by the layer's number, from 1 */
    struct gpt2_stops stops;
};

/* "124M", "355M", "774M" or "1558M"; NULL for another name. */
const struct gpt2_config *gpt2_config_named(const char *name);

/* Are the sizes valid, and so small that no product of them overflows 62 bits? file: for the message. */
bool gpt2_config_check(const struct gpt2_config *config, const char *file, struct gpt2_error *error);

/* Are all sizes and settings equal, except the padding and the stops? */
bool gpt2_config_same(const struct gpt2_config *a, const struct gpt2_config *b);

/* The setting of config.json that makes the model another one than GPT-2, as "activation_function relu"; NULL: there is none. */
const char *gpt2_config_differs(const struct gpt2_config *config);

/* "gelu_new", "gelu" or "relu", as config.json names it. */
const char *gpt2_activation_name(enum gpt2_activation activation);

/* The number of weights, with `vocabulary_rows` rows of wte and of an untied head: V for a model, Vp for a file of llm.c. */
int64_t gpt2_config_weights(const struct gpt2_config *config, int vocabulary_rows);

/* V rounded up to a multiple of 128: 50304 for GPT-2. */
int gpt2_pad_vocabulary(int vocabulary);

#endif
