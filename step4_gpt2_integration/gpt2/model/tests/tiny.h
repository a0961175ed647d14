/* tiny.h — for the tests: small random models with all weights in use, and their hidden states in float64. */
#ifndef GPT2_MODEL_TESTS_TINY_H
#define GPT2_MODEL_TESTS_TINY_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/model/model.h"
#include "gpt2/reference.h"

/* T positions, V tokens padded to Vp, L blocks of H heads, C channels. */
#define TINY(T, V, Vp, L, H, C)                                                                            \
    {                                                                                                      \
        .max_tokens = T, .vocabulary = V, .padded_vocabulary = Vp, .layers = L, .heads = H, .channels = C, \
        .epsilon = 1e-5f                                                                                   \
    }

/* A relative of GPT-2 of these sizes: another activation; untied, head: an output projection of its own; by_layer: scores
 * divided by the layer's number. */
#define RELATIVE(T, V, Vp, L, H, C, function, head, by_layer)                                              \
    {                                                                                                      \
        .max_tokens = T, .vocabulary = V, .padded_vocabulary = Vp, .layers = L, .heads = H, .channels = C, \
        .epsilon = 1e-5f, .activation = function, .untied = head, .scale_by_layer = by_layer               \
    }

static inline uint32_t mix(uint64_t z) {
    return (uint32_t)(gpt2_mix(z) >> 32);
}

static inline float uniform(uint64_t seed) { /* in -1..1, with 12 bits, exact in F32 only */
    return (float)((int)(mix(seed) >> 20) - 2048) / 2048.0f;
}

/* Biases of 0.1, LayerNorm weights around 1, attention far from uniform. */
static inline float tiny_value(const struct gpt2_config *config, enum gpt2_tensor tensor, int layer, int64_t i) {
    float u = uniform((uint64_t)tensor << 56 | (uint64_t)layer << 40 | (uint64_t)i);
    float in = sqrtf(3.0f / (float)gpt2_tensor_columns(config, tensor));
    switch (tensor) {
        case GPT2_WTE:
        case GPT2_WPE: return u;
        case GPT2_LN1W:
        case GPT2_LN2W:
        case GPT2_LNFW: return 1.0f + 0.3f * u;
        case GPT2_QKVW: return 2.0f * u * in;
        case GPT2_ATTPROJW:
        case GPT2_FCW:
        case GPT2_FCPROJW: return u * in;
        default: return 0.2f * u;
    }
}

static inline bool tiny_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                             enum gpt2_layout layout, void *out, struct gpt2_error *error) {
    const struct gpt2_config *config = context;
    int64_t rows = gpt2_tensor_rows(config, tensor), columns = gpt2_tensor_columns(config, tensor);
    float *values = malloc((size_t)(rows * columns) * sizeof *values);
    (void)error;
    for (int64_t i = 0; i < rows * columns; i++) { values[i] = tiny_value(config, tensor, layer, i); }
    struct gpt2_view view = {
        .bytes = values, .type = GPT2_F32, .layout = GPT2_OUT_IN, .rows = rows, .columns = columns};
    gpt2_view_read(&view, type, gpt2_tensor_is_linear(tensor) ? layout : GPT2_OUT_IN, out);
    free(values);
    return true;
}

static inline struct gpt2_source tiny_source(const struct gpt2_config *config) {
    return (struct gpt2_source){.config = *config, .read = tiny_read, .context = (void *)(uintptr_t)config};
}

/* Weights that a type holds exactly, and blocks that add little to the stream: what their results lose does not hide what the
 * last product loses. context: struct quiet_source */
struct quiet_source {
    const struct gpt2_config *config;
    enum gpt2_type type;
};

static inline bool quiet_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                              enum gpt2_layout layout, void *out, struct gpt2_error *error) {
    const struct quiet_source *quiet = context;
    const struct gpt2_config *config = quiet->config;
    const int64_t rows = gpt2_tensor_rows(config, tensor), columns = gpt2_tensor_columns(config, tensor);
    const bool adds =
        tensor == GPT2_ATTPROJW || tensor == GPT2_ATTPROJB || tensor == GPT2_FCPROJW || tensor == GPT2_FCPROJB;
    float *values = malloc((size_t)(rows * columns) * sizeof *values);
    void *held = malloc((size_t)(rows * columns) * sizeof *values);
    (void)error;
    for (int64_t i = 0; i < rows * columns; i++) {
        values[i] = tiny_value(config, tensor, layer, i) * (adds ? 0x1p-10f : 1.0f);
    }
    gpt2_convert(held, quiet->type, values, GPT2_F32, (size_t)(rows * columns));
    struct gpt2_view view = {
        .bytes = held, .type = quiet->type, .layout = GPT2_OUT_IN, .rows = rows, .columns = columns};
    gpt2_view_read(&view, type, gpt2_tensor_is_linear(tensor) ? layout : GPT2_OUT_IN, out);
    free(values), free(held);
    return true;
}

static inline void tiny_tokens(int32_t *tokens, int count, int vocabulary, uint64_t seed) {
    for (int i = 0; i < count; i++) { tokens[i] = (int32_t)(mix(seed << 32 | (uint64_t)i) % (uint32_t)vocabulary); }
}

/* ---- hidden states ---- */

enum { MOST_STATES = 128 };
struct state {
    char stage[32];
    int layer;
    double *values; /* (rows, columns) */
    int64_t rows, columns;
};
struct states {
    struct state at[MOST_STATES];
    int count;
};

static inline struct state *states_add(struct states *all, const char *stage, int layer, int64_t rows,
                                       int64_t columns) {
    cr_assert_lt(all->count, MOST_STATES);
    struct state *state = &all->at[all->count++];
    snprintf(state->stage, sizeof state->stage, "%s", stage);
    state->layer = layer;
    state->rows = rows;
    state->columns = columns;
    state->values = malloc((size_t)(rows * columns) * sizeof *state->values);
    return state;
}

static inline void states_of_reference(void *context, const char *stage, int layer, const double *values, int64_t rows,
                                       int64_t columns) {
    memcpy(states_add(context, stage, layer, rows, columns)->values, values, (size_t)(rows * columns) * sizeof *values);
}

static inline void states_of_model(void *context, const char *stage, int layer, const float *values, int64_t rows,
                                   int64_t columns) {
    struct state *state = states_add(context, stage, layer, rows, columns);
    for (int64_t i = 0; i < rows * columns; i++) { state->values[i] = (double)values[i]; }
}

static inline void states_free(struct states *all) {
    for (int i = 0; i < all->count; i++) { free(all->at[i].values); }
    all->count = 0;
}

/* The largest difference between two rows, over the largest value of the second. */
static inline double row_error(const double *a, const double *b, int64_t columns) {
    double error = 0.0, largest = 1e-30;
    for (int64_t c = 0; c < columns; c++) {
        double difference = fabs(a[c] - b[c]);
        if (!(difference <= error)) { error = difference; }
        largest = fmax(largest, fabs(b[c]));
    }
    return error / largest;
}

#endif
