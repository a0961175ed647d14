#include "config.h"

#include <math.h>
#include <string.h>

enum { MOST_LAYERS = 1 << 12, MOST_CHANNELS = 1 << 18, MOST_TOKENS = 1 << 24 };

static const struct {
    const char *name;
    struct gpt2_config config;
} named[] = {
    /*          T     V      Vp     L   NH  C    epsilon */
    {"124M", {1024, 50257, 50304, 12, 12, 768, 1e-5f, GPT2_GELU_TANH, false, false, {0}}},
    {"355M", {1024, 50257, 50304, 24, 16, 1024, 1e-5f, GPT2_GELU_TANH, false, false, {0}}},
    {"774M", {1024, 50257, 50304, 36, 20, 1280, 1e-5f, GPT2_GELU_TANH, false, false, {0}}},
    {"1558M", {1024, 50257, 50304, 48, 25, 1600, 1e-5f, GPT2_GELU_TANH, false, false, {0}}},
};

const struct gpt2_config *gpt2_config_named(const char *name) {
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (strcmp(named[i].name, name) == 0) { return &named[i].config; }
    }
    return NULL;
}

static bool in_range(int value, int most, const char *what, const char *file, struct gpt2_error *error) {
    if (value >= 1 && value <= most) { return true; }
    return gpt2_fail(error, "%s: %s is %d; it must be 1 to %d", file, what, value, most);
}

bool gpt2_config_check(const struct gpt2_config *config, const char *file, struct gpt2_error *error) {
    if (!in_range(config->max_tokens, MOST_TOKENS, "the context length", file, error) ||
        !in_range(config->vocabulary, MOST_TOKENS, "the vocabulary size", file, error) ||
        !in_range(config->layers, MOST_LAYERS, "the number of layers", file, error) ||
        !in_range(config->channels, MOST_CHANNELS, "the number of channels", file, error) ||
        !in_range(config->heads, config->channels, "the number of heads", file, error)) {
        return false;
    }
    if (config->channels % config->heads != 0) {
        return gpt2_fail(error, "%s: %d channels cannot be divided among %d heads", file, config->channels,
                         config->heads);
    }
    if (config->padded_vocabulary < config->vocabulary || config->padded_vocabulary > MOST_TOKENS) {
        return gpt2_fail(error, "%s: the padded vocabulary of %d does not fit the vocabulary of %d", file,
                         config->padded_vocabulary, config->vocabulary);
    }
    if (!isfinite(config->epsilon) || !(config->epsilon >= 0)) {
        return gpt2_fail(error, "%s: the epsilon of LayerNorm is %g", file, (double)config->epsilon);
    }
    return true;
}

bool gpt2_config_same(const struct gpt2_config *a, const struct gpt2_config *b) {
    return a->max_tokens == b->max_tokens && a->vocabulary == b->vocabulary && a->layers == b->layers &&
           a->heads == b->heads && a->channels == b->channels && a->epsilon == b->epsilon &&
           a->activation == b->activation && a->untied == b->untied && a->scale_by_layer == b->scale_by_layer;
}

const char *gpt2_config_differs(const struct gpt2_config *config) {
    if (config->untied) { return "tie_word_embeddings false"; }
    if (config->scale_by_layer) { return "scale_attn_by_inverse_layer_idx true"; }
    switch (config->activation) {
        case GPT2_GELU_TANH: break;
        case GPT2_GELU_ERF: return "activation_function gelu";
        case GPT2_RELU: return "activation_function relu";
    }
    return NULL;
}

const char *gpt2_activation_name(enum gpt2_activation activation) {
    static const char *const names[] = {[GPT2_GELU_TANH] = "gelu_new", [GPT2_GELU_ERF] = "gelu", [GPT2_RELU] = "relu"};
    return names[activation];
}

int64_t gpt2_config_weights(const struct gpt2_config *config, int vocabulary_rows) {
    int64_t C = config->channels, layer = 12 * C * C + 13 * C;
    int64_t rows = (config->untied ? 2 : 1) * (int64_t)vocabulary_rows + config->max_tokens;
    return rows * C + config->layers * layer + 2 * C;
}

int gpt2_pad_vocabulary(int vocabulary) {
    return (vocabulary + 127) / 128 * 128;
}
