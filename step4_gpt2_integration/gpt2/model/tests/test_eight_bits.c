/* Matrices in 8 bits against the float64 reference of the decoded weights: prompts, steps in both forms, and every code by
 * itself. Like test_model.c, also on the checked build. */
#define _GNU_SOURCE
#include <math.h>

#include "gpt2/formats/quantize.h"
#include "kernel_sets.h"
#include "tiny.h"

TestSuite(eight_bits, .timeout = 300);

static const enum gpt2_scheme both[] = {GPT2_INT8, GPT2_FP8};

/* Rows of 16 codes and of several vectors a lane; rows that no vector divides; a head in several parts; relatives of GPT-2. */
#define CONFIG(T, V, L, H, C) TINY(T, V, V + 3, L, H, C)
static const struct gpt2_config configs[] = {
    CONFIG(16, 50, 2, 2, 16),
    CONFIG(12, 501, 1, 2, 32),
    CONFIG(10, 37, 2, 3, 15),
    CONFIG(8, 70, 1, 17, 544),
    RELATIVE(12, 50, 128, 2, 2, 32, GPT2_GELU_ERF, true, true),
};
enum { CONFIGS = sizeof configs / sizeof *configs, MOST_T = 16, MOST_V = 501, MOST_B = 8, STEPS = 3 };

static struct gpt2_model *open_codes(const struct gpt2_source *source, enum gpt2_type type, int batch,
                                     enum gpt2_form decode) {
    struct gpt2_model_options options = {.type = type,
                                         .scheme = source->scheme,
                                         .graph = true,
                                         .attention = GPT2_TAUGHT,
                                         .decode = decode,
                                         .batch = batch,
                                         .prompt = source->config.max_tokens,
                                         .kernels = kernels_of(sets[SETS - 1])};
    struct gpt2_model *model = gpt2_model_open(source, &options, &error);
    cr_assert(model, "%s", error.text);
    return model;
}

static void close_model(struct gpt2_model *model) {
    gpt2_model_close(model);
    close_kernels();
}

/* The logits after `length` tokens, against the reference's. */
static void check_logits(struct gpt2_model *model, const struct gpt2_source *source, int32_t (*tokens)[MOST_T], int B,
                         int length, double tolerance) {
    static float logits[MOST_B * MOST_V];
    const int V = source->config.vocabulary;
    cr_assert(gpt2_logits(model, logits, &error), "%s", error.text);
    for (int b = 0; b < B; b++) {
        struct states states = {.count = 0};
        double got[MOST_V];
        cr_assert(gpt2_reference(source, tokens[b], length, states_of_reference, &states, &error), "%s", error.text);
        for (int v = 0; v < V; v++) { got[v] = (double)logits[b * V + v]; }
        double off = row_error(got, states.at[states.count - 1].values + (int64_t)(length - 1) * V, V);
        cr_assert(off <= tolerance, "C %d, batch %d, after %d tokens: off by %g", source->config.channels, B, length,
                  off);
        states_free(&states);
    }
}

static void check_steps(const struct gpt2_config *config, enum gpt2_scheme scheme, enum gpt2_type type, int B,
                        enum gpt2_form decode, double tolerance) {
    int32_t tokens[MOST_B][MOST_T], prompts[MOST_B * MOST_T], lengths[MOST_B];
    const int T = config->max_tokens, length = T - STEPS;
    struct gpt2_source plain = tiny_source(config);
    struct gpt2_quantizer quantizer;
    cr_assert(gpt2_quantizer_open(&quantizer, &plain, scheme, &error), "%s", error.text);
    struct gpt2_source source = gpt2_quantizer_source(&quantizer);
    for (int b = 0; b < B; b++) {
        tiny_tokens(tokens[b], T, config->vocabulary, (uint64_t)b + 3);
        memcpy(prompts + b * length, tokens[b], (size_t)length * sizeof **tokens);
        lengths[b] = length;
    }
    struct gpt2_model *model = open_codes(&source, type, B, decode);
    cr_assert(gpt2_prefill(model, prompts, lengths, B, length, &error), "%s", error.text);
    check_logits(model, &source, tokens, B, length, tolerance);
    for (int at = length; at < T; at++) {
        int32_t next[MOST_B];
        for (int b = 0; b < B; b++) { next[b] = tokens[b][at]; }
        cr_assert(gpt2_decode(model, next, &error), "%s", error.text);
        check_logits(model, &source, tokens, B, at + 1, tolerance);
    }
    close_model(model);
    gpt2_quantizer_close(&quantizer);
}

/* The same matrix everywhere: the reference multiplies by the weights that the codes stand for. */
static void check_all(enum gpt2_form decode) {
    for (int i = 0; i < 2 * CONFIGS; i++) {
        check_steps(&configs[i / 2], both[i % 2], GPT2_F32, 1, decode, 2e-5);
#ifndef CHECKED
        check_steps(&configs[i / 2], both[i % 2], GPT2_F32, 3, decode, 2e-5);
        check_steps(&configs[i / 2], both[i % 2], GPT2_F16, 2, decode, 0.03);
        check_steps(&configs[i / 2], both[i % 2], GPT2_BF16, 8, decode, 0.2);
#endif
    }
}

Test(eight_bits, fused_steps_have_the_references_logits) {
    check_all(GPT2_FUSED);
}

Test(eight_bits, taught_steps_have_the_references_logits) {
    check_all(GPT2_TAUGHT);
}

/* ---- the persistent form ---- */

/* Heads of 16, 32, 64, 128 and 8 channels; clusters with several heads; each width of a warp; a relative of GPT-2. */
static const struct gpt2_config persistent_configs[] = {
    CONFIG(16, 50, 2, 2, 32),    CONFIG(12, 501, 1, 17, 544),
    CONFIG(10, 50, 2, 12, 768),  CONFIG(10, 50, 1, 10, 1280),
    CONFIG(10, 50, 1, 25, 1600), RELATIVE(12, 50, 128, 2, 8, 64, GPT2_GELU_ERF, true, true),
};
enum { PERSISTENT_CONFIGS = sizeof persistent_configs / sizeof *persistent_configs };

/* Calls of 1, 2 and 3 steps, and after each the logits. */
static void check_persistent(const struct gpt2_source *plain, enum gpt2_type type, double tolerance) {
    enum { CALLS = 3, ADDED = CALLS * (CALLS + 1) / 2 };
    const struct gpt2_config *config = &plain->config;
    int32_t tokens[1][MOST_T], length = config->max_tokens - ADDED;
    struct gpt2_quantizer quantizer;
    cr_assert(gpt2_quantizer_open(&quantizer, plain, GPT2_INT8, &error), "%s", error.text);
    struct gpt2_source source = gpt2_quantizer_source(&quantizer);
    struct gpt2_model *model = open_codes(&source, type, 1, GPT2_PERSISTENT);
    cr_assert_eq(gpt2_model_decode_form(model, 1), GPT2_PERSISTENT);
    tiny_tokens(tokens[0], length, config->vocabulary, 5);
    cr_assert(gpt2_prefill(model, tokens[0], &length, 1, length, &error), "%s", error.text);
    for (int steps = 1; steps <= CALLS; steps++) {
        cr_assert(gpt2_decode_choosing(model, steps, config->vocabulary, -1, NULL, NULL, tokens[0] + length, &error),
                  "%s", error.text);
        length += steps;
        check_logits(model, &source, tokens, 1, length, tolerance);
    }
    cr_assert_eq(gpt2_model_decode_form(model, 1), GPT2_PERSISTENT, "its integers hold all that came");
    close_model(model);
    gpt2_quantizer_close(&quantizer);
}

Test(eight_bits, persistent_steps_have_the_references_logits) {
    static const enum gpt2_type types[] = {GPT2_F16, GPT2_BF16};
    for (int i = 0; i < 2 * PERSISTENT_CONFIGS; i++) {
        const bool bf16 = i % 2 == 1;
#ifdef CHECKED
        if (i > 3) { continue; } /* the small ones */
#endif
        const struct gpt2_source tiny = tiny_source(&persistent_configs[i / 2]);
        struct quiet_source quiet = {&persistent_configs[i / 2], types[i % 2]};
        const struct gpt2_source little = {.config = persistent_configs[i / 2], .read = quiet_read, .context = &quiet};
        if (bf16) { check_persistent(&tiny, GPT2_BF16, 0.2); }
        check_persistent(&little, types[i % 2], bf16 ? 4e-5 : 2e-5); /* x has a unit of 2^-16 deviations */
    }
}

/* The first attention adds `added` to channel 5 of the stream. All tokens' embeddings, or that of `position` alone, have
 * `embedded` or its negative in every channel, and the first attention takes `cancelled` or its negative from it. */
struct change {
    float added, embedded, cancelled;
    int position; /* -1: all */
};
struct changing_source {
    const struct gpt2_config *config;
    struct change by;
};

static bool changing_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                          enum gpt2_layout layout, void *out, struct gpt2_error *because) {
    const struct changing_source *changing = context;
    const struct change *by = &changing->by;
    const int C = changing->config->channels;
    const bool embeds = by->embedded != 0.0f && tensor == (by->position < 0 ? GPT2_WTE : GPT2_WPE);
    const int64_t count = embeds && by->position < 0 ? (int64_t)gpt2_tensor_rows(changing->config, tensor) * C : C;
    if (!tiny_read((void *)(uintptr_t)changing->config, tensor, layer, type, layout, out, because)) { return false; }
    if (!embeds && !(tensor == GPT2_ATTPROJB && layer == 0)) { return true; }
    float *values = malloc((size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        const float sign = i % C % 3 == 0 ? 1.0f : -1.0f;
        values[i] = embeds ? sign * by->embedded : (i == 5 ? by->added : 0.0f) - sign * by->cancelled;
    }
    const size_t first = embeds && by->position >= 0 ? (size_t)(by->position * C) : 0;
    gpt2_convert((char *)out + first * gpt2_type_bytes(type), type, values, GPT2_F32, (size_t)count);
    free(values);
    return true;
}

/* Two calls with two tokens each: the likeliest, and then drawn with a penalty. tokens: the prompt, and room for them */
static void choose_four(struct gpt2_model *model, int32_t *tokens, int32_t length, float *logits) {
    const int V = gpt2_model_config(model)->vocabulary;
    uint8_t seen[MOST_V] = {0};
    uint64_t random = gpt2_random_begin(7, 0);
    struct gpt2_draws draws = {.by = {1.5, 2.0, 0, 1.0, 0.0}, .random = &random, .seen = seen};
    cr_assert(gpt2_prefill(model, tokens, &length, 1, length, &error), "%s", error.text);
    cr_assert(gpt2_decode_choosing(model, 2, V, -1, NULL, NULL, tokens + length, &error), "%s", error.text);
    for (int i = 0; i < length + 2; i++) { seen[tokens[i]] = 1; }
    cr_assert(gpt2_decode_choosing(model, 2, V, -1, &draws, NULL, tokens + length + 2, &error), "%s", error.text);
    cr_assert(gpt2_logits(model, logits, &error), "%s", error.text);
}

/* What the integers of the persistent form cannot hold, the fused form computes, from the first step of a call on. */
static void check_change(enum gpt2_scheme scheme, enum gpt2_type type, struct change by, bool fits) {
    enum { LENGTH = 4, ALL = LENGTH + 4 };
    static const enum gpt2_form forms[2] = {GPT2_FUSED, GPT2_PERSISTENT};
    const struct gpt2_config *config = &persistent_configs[0];
    struct changing_source changing = {config, by};
    const struct gpt2_source plain = {.config = *config, .read = changing_read, .context = &changing};
    int32_t tokens[2][MOST_T];
    float logits[2][MOST_V];
    struct gpt2_quantizer quantizer;
    if (scheme != GPT2_PLAIN) { cr_assert(gpt2_quantizer_open(&quantizer, &plain, scheme, &error), "%s", error.text); }
    struct gpt2_source source = scheme != GPT2_PLAIN ? gpt2_quantizer_source(&quantizer) : plain;
    for (int i = 0; i < 2; i++) {
        struct gpt2_model *model = open_codes(&source, type, 1, forms[i]);
        cr_assert_eq(gpt2_model_decode_form(model, 1), forms[i]);
        tiny_tokens(tokens[i], LENGTH, config->vocabulary, 5);
        choose_four(model, tokens[i], LENGTH, logits[i]);
        cr_assert_eq(gpt2_model_decode_form(model, 1), fits ? forms[i] : GPT2_FUSED, "%g, %g, %g", (double)by.added,
                     (double)by.embedded, (double)by.cancelled);
        close_model(model);
    }
    if (!fits) {
        cr_assert_arr_eq(tokens[0], tokens[1], ALL * sizeof **tokens);
        cr_assert_arr_eq(logits[0], logits[1], (size_t)config->vocabulary * sizeof **logits);
    }
    if (scheme != GPT2_PLAIN) { gpt2_quantizer_close(&quantizer); }
}

/* The unit of a LayerNorm's input follows the deviation before. */
static void check_change_in_codes(struct change by, bool fits) {
    check_change(GPT2_INT8, GPT2_BF16, by, fits);
    if (!fits) { return; }
    struct changing_source changing = {&persistent_configs[0], by};
    const struct gpt2_source plain = {.config = persistent_configs[0], .read = changing_read, .context = &changing};
    check_persistent(&plain, GPT2_BF16, 0.2);
}

Test(eight_bits, inputs_that_the_integers_of_persistent_steps_cannot_hold_are_of_fused_ones) {
    check_change_in_codes((struct change){.added = 500.0f, .position = -1}, true);
    check_change_in_codes((struct change){.added = 60000.0f, .position = -1}, false);
    check_change_in_codes((struct change){.embedded = 16.0f, .cancelled = 16.0f, .position = -1}, true);
    check_change_in_codes((struct change){.embedded = 4096.0f, .cancelled = 4096.0f, .position = -1}, false);
    /* The second token of the first call, after which the logits are others than before it. */
    check_change_in_codes((struct change){.embedded = 4096.0f, .cancelled = 4096.0f, .position = 5}, false);
}

/* Parts below 65536, and streams below 2^20. */
Test(eight_bits, streams_that_the_totals_of_persistent_steps_cannot_hold_are_of_fused_ones) {
    check_change(GPT2_PLAIN, GPT2_F32, (struct change){.added = 60000.0f, .position = -1}, true);
    check_change(GPT2_PLAIN, GPT2_F32, (struct change){.added = 70000.0f, .position = -1}, false);
    check_change(GPT2_PLAIN, GPT2_F32, (struct change){.added = -1e12f, .position = -1}, false);
    check_change(GPT2_PLAIN, GPT2_F32, (struct change){.embedded = 1e5f, .position = -1}, true);
    check_change(GPT2_PLAIN, GPT2_F32, (struct change){.embedded = 3e6f, .position = -1}, false);
    check_change(GPT2_PLAIN, GPT2_F32, (struct change){.embedded = 1e12f, .position = 5}, false);
}

/* ---- every code ---- */

/* All weights are zero but the head: row v has the code v. The last LayerNorm gives the unit vector of channel `one`. */
enum { CODES = 256, CHANNELS = 32 };
struct probe {
    enum gpt2_scheme scheme;
    int one;
};
static const struct gpt2_config probe_config = CONFIG(4, CODES, 1, 1, CHANNELS);

static uint8_t code_of(const struct probe *probe, int v) {
    return probe->scheme == GPT2_FP8 && (v & 0x7f) == 0x7f ? 0 : (uint8_t)v;
}
static float scale_of(int v) {
    return 0.5f + (float)v / 1024.0f; /* times a code: exact */
}

static bool probe_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                       void *out, struct gpt2_error *problem) {
    const struct probe *probe = context;
    static float zeros[CODES * CHANNELS];
    (void)layer, (void)layout, (void)problem;
    zeros[probe->one] = tensor == GPT2_LNFB ? 1.0f : 0.0f;
    gpt2_convert(out, type, zeros, GPT2_F32, (size_t)gpt2_tensor_elements(&probe_config, tensor));
    zeros[probe->one] = 0.0f;
    return true;
}

static bool probe_codes(void *context, enum gpt2_tensor tensor, int layer, uint8_t *codes, float *scales,
                        struct gpt2_error *problem) {
    const struct probe *probe = context;
    const int64_t rows = gpt2_tensor_rows(&probe_config, tensor), columns = gpt2_tensor_columns(&probe_config, tensor);
    (void)layer, (void)problem;
    for (int64_t i = 0; i < rows * columns; i++) {
        codes[i] = tensor == GPT2_WTE ? code_of(probe, (int)(i / columns)) : 0;
    }
    for (int64_t row = 0; row < rows; row++) { scales[row] = scale_of((int)(row % CODES)); }
    return true;
}

/* The logits of a prompt (expanded) and of a step (the codes themselves) are the decoded weights, to the bit; and the embedding
 * of a token is its row. */
static void keep_embedding(void *context, const char *stage, int layer, const float *values, int64_t rows,
                           int64_t columns) {
    (void)layer;
    if (strcmp(stage, "embedding") == 0) { memcpy(context, values, (size_t)(rows * columns) * sizeof *values); }
}

static void check_probe(enum gpt2_scheme scheme, int one) {
    struct probe probe = {scheme, one};
    struct gpt2_source source = {
        .config = probe_config, .read = probe_read, .context = &probe, .scheme = scheme, .read_codes = probe_codes};
    int32_t prompt[1] = {65}, length = 1, next = 200;
    float logits[CODES], embedding[CHANNELS];
    struct gpt2_model *model = open_codes(&source, GPT2_F32, 1, GPT2_FUSED);
    cr_assert(gpt2_prefill(model, prompt, &length, 1, 1, &error), "%s", error.text);
    for (int step = 0; step < 2; step++) {
        cr_assert(gpt2_logits(model, logits, &error), "%s", error.text);
        for (int v = 0; v < CODES; v++) {
            const float wanted = gpt2_code_value(scheme, code_of(&probe, v)) * scale_of(v);
            cr_assert_eq(logits[v], wanted, "step %d, code %d: %g, not %g", step, v, (double)logits[v], (double)wanted);
        }
        cr_assert(gpt2_decode(model, &next, &error), "%s", error.text);
    }
    gpt2_observe(model, keep_embedding, embedding);
    cr_assert(gpt2_decode(model, &next, &error), "%s", error.text);
    for (int c = 0; c < CHANNELS; c++) {
        cr_assert_eq(embedding[c], gpt2_code_value(scheme, code_of(&probe, next)) * scale_of(next));
    }
    close_model(model);
}

Test(eight_bits, every_code_is_exact_in_every_place_of_a_vector) {
    for (int one = 0; one < CHANNELS; one += 5) {
        check_probe(GPT2_INT8, one);
        check_probe(GPT2_FP8, one);
    }
    check_probe(GPT2_INT8, 18), check_probe(GPT2_FP8, 19);
}

/* ---- the range of F16 ---- */

static float far_scale;

static bool far_codes(void *context, enum gpt2_tensor tensor, int layer, uint8_t *codes, float *scales,
                      struct gpt2_error *problem) {
    const bool good = probe_codes(context, tensor, layer, codes, scales, problem);
    if (tensor == GPT2_FCW) { scales[3] = far_scale; }
    return good;
}

Test(eight_bits, channels_beyond_f16_are_refused) {
    static const float scales[] = {600.0f, -600.0f}; /* 127 and 448 of them are beyond 65504 */
    for (int i = 0; i < 4; i++) {
        struct probe probe = {both[i / 2], 0};
        struct gpt2_source source = {.config = probe_config,
                                     .read = probe_read,
                                     .context = &probe,
                                     .scheme = probe.scheme,
                                     .read_codes = far_codes};
        struct gpt2_model_options options = {
            .type = GPT2_F16, .scheme = probe.scheme, .batch = 1, .prompt = 1, .kernels = kernels_of(sets[SETS - 1])};
        far_scale = scales[i % 2];
        cr_assert_null(gpt2_model_open(&source, &options, &error));
        cr_assert(strstr(error.text, "h.0.mlp.c_fc.weight: channel 3 is beyond the range of F16"), "%s", error.text);
        close_kernels();
    }
}

/* ---- activations in 8 bits ---- */

static const struct gpt2_config activation_configs[] = {
    CONFIG(10, 37, 2, 2, 32),
    RELATIVE(9, 50, 128, 2, 3, 48, GPT2_GELU_ERF, true, false),
    RELATIVE(9, 50, 128, 1, 1, 16, GPT2_RELU, false, false),
};
enum { ACTIVATION_CONFIGS = sizeof activation_configs / sizeof *activation_configs, ROWS_B = 2 };

static const enum gpt2_tensor product_tensors[GPT2_PRODUCTS] = {GPT2_QKVW, GPT2_ATTPROJW, GPT2_FCW, GPT2_FCPROJW};

static const struct state *find_state(const struct states *states, const char *stage, int layer) {
    for (int i = 0; i < states->count; i++) {
        if (states->at[i].layer == layer && strcmp(states->at[i].stage, stage) == 0) { return &states->at[i]; }
    }
    cr_assert(false, "no stage %s of layer %d", stage, layer);
    return NULL;
}

static double activated(double u, enum gpt2_activation activation) {
    switch (activation) {
        case GPT2_GELU_TANH: return 0.5 * u * (1.0 + tanh(0.7978845608028654 * (u + 0.044715 * u * u * u)));
        case GPT2_GELU_ERF: return 0.5 * u * (1.0 + erf(u / sqrt(2.0)));
        case GPT2_RELU: break;
    }
    return fmax(u, 0.0);
}

static double input_value(enum gpt2_scheme scheme, float x, float scale) {
    const float units = x * (1.0f / scale);
    return scheme == GPT2_FP8 ? (double)gpt2_float_of_e4m3(gpt2_e4m3_of_float(units))
                              : rint(fmin(fmax((double)units, -127.0), 127.0));
}

/* One product: its observed result is that of the observed input's codes. */
static void check_product(const struct gpt2_source *source, const struct states *states, int layer, int product,
                          double tolerance) {
    static const char *const inputs[] = {"ln1", "attention", "ln2", "gelu"}, *const results[] = {
                                                                                 "qkv", "attention projection", "gelu",
                                                                                 "mlp projection"};
    const struct state *in = find_state(states, inputs[product], layer),
                       *out = find_state(states, results[product], layer);
    const enum gpt2_tensor tensor = product_tensors[product];
    const float scale = source->input_scales[layer * GPT2_PRODUCTS + product];
    static uint8_t codes[4 * 48 * 48];
    static float scales[4 * 48], bias[4 * 48];
    cr_assert(source->read_codes(source->context, tensor, layer, codes, scales, &error), "%s", error.text);
    cr_assert(
        source->read(source->context, (enum gpt2_tensor)(tensor + 1), layer, GPT2_F32, GPT2_OUT_IN, bias, &error));
    cr_assert_eq(in->rows, out->rows);
    for (int64_t n = 0; n < in->rows; n++) {
        double wanted[4 * 48];
        for (int64_t o = 0; o < out->columns; o++) {
            double sum = 0.0;
            for (int64_t c = 0; c < in->columns; c++) {
                sum += input_value(source->scheme, (float)in->values[n * in->columns + c], scale) *
                       (double)gpt2_code_value(source->scheme, codes[o * in->columns + c]);
            }
            wanted[o] = sum * (double)scale * (double)scales[o] + (double)bias[o];
            if (product == 2) { wanted[o] = activated(wanted[o], source->config.activation); }
        }
        const double off = row_error(out->values + n * out->columns, wanted, out->columns);
        cr_assert(off <= tolerance, "C %d, %s, layer %d, product %d, row %d: off by %g", source->config.channels,
                  gpt2_scheme_name(source->scheme), layer, product, (int)n, off);
    }
}

static void check_activations(const struct gpt2_config *config, enum gpt2_scheme scheme, enum gpt2_type type,
                              double tolerance) {
    const int T = config->max_tokens - 1, V = config->vocabulary;
    int32_t tokens[ROWS_B * MOST_T], targets[ROWS_B * MOST_T], lengths[ROWS_B] = {T, T};
    float losses[ROWS_B * MOST_T], scales[2 * GPT2_PRODUCTS];
    static float all[ROWS_B * MOST_T * MOST_V], last[ROWS_B * MOST_V];
    struct gpt2_source plain = tiny_source(config);
    struct gpt2_quantizer quantizer;
    struct states states = {.count = 0};
    /* Of values up to 2 or 3: some are clipped. */
    for (int i = 0; i < 2 * GPT2_PRODUCTS; i++) { scales[i] = (2.0f + (float)i / 8.0f) / gpt2_scheme_most(scheme); }
    cr_assert(gpt2_quantizer_open(&quantizer, &plain, scheme, &error), "%s", error.text);
    quantizer.input_scales = scales;
    struct gpt2_source source = gpt2_quantizer_source(&quantizer);
    struct gpt2_model_options options = {.type = type,
                                         .scheme = scheme,
                                         .activations = true,
                                         .attention = GPT2_AUTO,
                                         .decode = GPT2_AUTO,
                                         .batch = ROWS_B,
                                         .prompt = T,
                                         .kernels = kernels_of(sets[SETS - 1])};
    struct gpt2_model *model = gpt2_model_open(&source, &options, &error);
    cr_assert(model, "%s", error.text);
    tiny_tokens(tokens, ROWS_B * T, V, 7), tiny_tokens(targets, ROWS_B * T, V, 8);
    gpt2_observe(model, states_of_model, &states);
    cr_assert(gpt2_losses(model, tokens, targets, ROWS_B, T, losses, &error), "%s", error.text);
    gpt2_observe(model, NULL, NULL);
    for (int i = 0; i < config->layers * GPT2_PRODUCTS; i++) {
        check_product(&source, &states, i / GPT2_PRODUCTS, i % GPT2_PRODUCTS, tolerance);
    }
    /* A prompt, whose last block is computed for the last position alone. */
    cr_assert(gpt2_all_logits(model, tokens, lengths, ROWS_B, T, all, &error), "%s", error.text);
    cr_assert(gpt2_prefill(model, tokens, lengths, ROWS_B, T, &error), "%s", error.text);
    cr_assert(gpt2_logits(model, last, &error), "%s", error.text);
    for (int i = 0; i < ROWS_B * V; i++) {
        const double wanted = (double)all[((int64_t)(i / V) * T + T - 1) * V + i % V];
        cr_assert(fabs((double)last[i] - wanted) <= 2.0 * tolerance * (1.0 + fabs(wanted)), "%d: %g, not %g", i,
                  (double)last[i], wanted);
    }
    states_free(&states);
    close_model(model);
    gpt2_quantizer_close(&quantizer);
}

Test(eight_bits, activations_are_multiplied_as_codes) {
    struct gpt2_device_info device;
    cr_assert(gpt2_device_ask(&device, &error), "%s", error.text);
    for (int i = 0; i < 2 * ACTIVATION_CONFIGS; i++) {
        /* The tensor cores of capability 9.0 add products of fp8 with some 14 bits. */
        const bool rough = both[i % 2] == GPT2_FP8 && !device.is_cpu;
        check_activations(&activation_configs[i / 2], both[i % 2], GPT2_F32, rough ? 1e-3 : 1e-5);
#ifndef CHECKED
        check_activations(&activation_configs[i / 2], both[i % 2], GPT2_F16, 2e-3);
        check_activations(&activation_configs[i / 2], both[i % 2], GPT2_BF16, 1e-2);
#endif
    }
}

/* Each layer divides the scales of its queries by another number, and a product of fp8 has one scale. */
Test(eight_bits, fp8_activations_with_scales_by_layer_are_refused) {
    static const struct gpt2_config by_layer = RELATIVE(9, 50, 128, 2, 3, 48, GPT2_GELU_TANH, false, true);
    float scales[2 * GPT2_PRODUCTS];
    for (int i = 0; i < 2 * GPT2_PRODUCTS; i++) { scales[i] = 0.1f; }
    for (int i = 0; i < 2; i++) {
        struct gpt2_source plain = tiny_source(&by_layer);
        struct gpt2_quantizer quantizer;
        cr_assert(gpt2_quantizer_open(&quantizer, &plain, both[i], &error), "%s", error.text);
        quantizer.input_scales = scales;
        struct gpt2_source source = gpt2_quantizer_source(&quantizer);
        struct gpt2_model_options options = {
            .scheme = both[i], .activations = true, .batch = 1, .prompt = 1, .kernels = kernels_of(sets[SETS - 1])};
        struct gpt2_model *model = gpt2_model_open(&source, &options, &error);
        cr_assert_eq(model == NULL, both[i] == GPT2_FP8);
        cr_assert(model != NULL || strstr(error.text, "scale_attn_by_inverse_layer_idx"), "%s", error.text);
        gpt2_model_close(model);
        close_kernels();
        gpt2_quantizer_close(&quantizer);
    }
}

/* ---- choices ---- */

Test(eight_bits, forms_memory_and_refusals) {
    const struct gpt2_config *config = &configs[3];
    struct gpt2_source plain = tiny_source(config);
    struct gpt2_quantizer quantizer;
    cr_assert(gpt2_quantizer_open(&quantizer, &plain, GPT2_INT8, &error), "%s", error.text);
    struct gpt2_source source = gpt2_quantizer_source(&quantizer);
    struct gpt2_model *coded = open_codes(&source, GPT2_F32, 1, GPT2_PERSISTENT);
    cr_assert_eq(gpt2_model_decode_form(coded, 1), GPT2_FUSED); /* no persistent form in fp32 */
    source.scheme = GPT2_PLAIN;
    struct gpt2_model *decoded = open_codes(&source, GPT2_F32, 1, GPT2_FUSED);
    const size_t matrices = 12 * 544 * 544 * sizeof(float);
    /* One block: its codes and its expanded matrices, where the other has the matrices alone. */
    cr_assert_geq(gpt2_model_bytes(coded), gpt2_model_bytes(decoded));
    cr_assert_leq(gpt2_model_bytes(coded), gpt2_model_bytes(decoded) + matrices / 3);
    gpt2_model_close(decoded);
    close_model(coded);
    source.scheme = GPT2_INT8;
    struct gpt2_model_options without = {.scheme = GPT2_INT8, .activations = true, .batch = 1, .prompt = 1};
    cr_assert_null(gpt2_model_open(&source, &without, &error));
    cr_assert(strstr(error.text, "no scales for activations"), "%s", error.text);
    struct gpt2_model_options options = {.scheme = GPT2_FP8, .batch = 1, .prompt = 1};
    cr_assert_null(gpt2_model_open(&source, &options, &error));
    cr_assert(strstr(error.text, "not in 8 bits of the scheme"), "%s", error.text);
    gpt2_quantizer_close(&quantizer);
}
