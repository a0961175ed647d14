/* reference.c — GPT-2 in float64 (reference.h). Order of stages: embedding; for each layer ln1, qkv, attention, its projection, the
 * residual, ln2, gelu, the MLP's projection, the residual; the final LayerNorm, logits. */
#include "gpt2/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run {
    const struct gpt2_source *source;
    struct gpt2_error *error;
    gpt2_reference_observer *observer;
    void *context;
    int T, C;
};

/* A tensor of the model as doubles, (out, in), which the caller frees. NULL and a message on failure. */
static double *tensor(const struct run *run, enum gpt2_tensor which, int layer) {
    size_t count = (size_t)gpt2_tensor_elements(&run->source->config, which);
    float *values = malloc(count * sizeof *values);
    double *doubles = malloc(count * sizeof *doubles);
    bool good = values != NULL && doubles != NULL;
    if (!good) { gpt2_fail(run->error, "out of memory"); }
    good = good && run->source->read(run->source->context, which, layer, GPT2_F32, GPT2_OUT_IN, values, run->error);
    for (size_t i = 0; good && i < count; i++) { doubles[i] = (double)values[i]; }
    free(values);
    if (!good) {
        free(doubles);
        return NULL;
    }
    return doubles;
}

static void show(const struct run *run, const char *stage, int layer, const double *values, int columns) {
    run->observer(run->context, stage, layer, values, run->T, columns);
}

/* out (T, OC) = x (T, C) weight^T + bias */
static bool linear(const struct run *run, double *out, const double *x, int C, int OC, enum gpt2_tensor weight,
                   enum gpt2_tensor bias, int layer) {
    double *w = tensor(run, weight, layer), *b = bias == GPT2_TENSORS ? NULL : tensor(run, bias, layer);
    bool good = w != NULL && (b != NULL || bias == GPT2_TENSORS);
    for (int t = 0; good && t < run->T; t++) {
        for (int o = 0; o < OC; o++) {
            double sum = b != NULL ? b[o] : 0.0;
            for (int c = 0; c < C; c++) { sum += x[(size_t)t * C + c] * w[(size_t)o * C + c]; }
            out[(size_t)t * OC + o] = sum;
        }
    }
    free(w);
    free(b);
    return good;
}

static bool layernorm(const struct run *run, double *out, const double *x, enum gpt2_tensor weight,
                      enum gpt2_tensor bias, int layer) {
    double *w = tensor(run, weight, layer), *b = tensor(run, bias, layer);
    bool good = w != NULL && b != NULL;
    int C = run->C;
    for (int t = 0; good && t < run->T; t++) {
        const double *row = x + (size_t)t * C;
        double mean = 0.0, variance = 0.0;
        for (int c = 0; c < C; c++) { mean += row[c] / C; }
        for (int c = 0; c < C; c++) { variance += (row[c] - mean) * (row[c] - mean) / C; }
        double rstd = 1.0 / sqrt(variance + (double)run->source->config.epsilon);
        for (int c = 0; c < C; c++) { out[(size_t)t * C + c] = (row[c] - mean) * rstd * w[c] + b[c]; }
    }
    free(w);
    free(b);
    return good;
}

/* out (T, C) from qkv (T, 3, H, D) */
static bool attention(const struct run *run, double *out, const double *qkv) {
    int H = run->source->config.heads, C = run->C, D = C / H;
    double *p = malloc((size_t)run->T * sizeof *p);
    if (p == NULL) { return gpt2_fail(run->error, "out of memory"); }
    for (int h = 0; h < H; h++) {
        for (int i = 0; i < run->T; i++) {
            const double *q = qkv + (size_t)i * 3 * C + h * D;
            double largest = -INFINITY, sum = 0.0;
            for (int j = 0; j <= i; j++) {
                const double *k = qkv + (size_t)j * 3 * C + C + h * D;
                p[j] = 0.0;
                for (int d = 0; d < D; d++) { p[j] += q[d] * k[d]; }
                p[j] /= sqrt((double)D);
                largest = fmax(largest, p[j]);
            }
            for (int j = 0; j <= i; j++) { sum += p[j] = exp(p[j] - largest); }
            for (int d = 0; d < D; d++) {
                double total = 0.0;
                for (int j = 0; j <= i; j++) { total += p[j] / sum * qkv[(size_t)j * 3 * C + 2 * C + h * D + d]; }
                out[(size_t)i * C + h * D + d] = total;
            }
        }
    }
    free(p);
    return true;
}

static bool embedding(const struct run *run, double *x, const int32_t *tokens) {
    double *wte = tensor(run, GPT2_WTE, 0), *wpe = tensor(run, GPT2_WPE, 0);
    bool good = wte != NULL && wpe != NULL;
    for (int t = 0; good && t < run->T; t++) {
        for (int c = 0; c < run->C; c++) {
            x[(size_t)t * run->C + c] = wte[(size_t)tokens[t] * run->C + c] + wpe[(size_t)t * run->C + c];
        }
    }
    free(wte);
    free(wpe);
    return good;
}

static void add(double *x, const double *branch, size_t count) {
    for (size_t i = 0; i < count; i++) { x[i] += branch[i]; }
}

static double gelu(double u) {
    return 0.5 * u * (1.0 + tanh(0.79788456080286535588 * (u + 0.044715 * u * u * u)));
}

/* x (T, C): input and output; a and b: scratch of (T, 4C) each. */
static bool block(const struct run *run, double *x, double *a, double *b, int layer) {
    int C = run->C;
    size_t count = (size_t)run->T * C;
    if (!layernorm(run, a, x, GPT2_LN1W, GPT2_LN1B, layer)) { return false; }
    show(run, "ln1", layer, a, C);
    if (!linear(run, b, a, C, 3 * C, GPT2_QKVW, GPT2_QKVB, layer)) { return false; }
    show(run, "qkv", layer, b, 3 * C);
    if (!attention(run, a, b)) { return false; }
    show(run, "attention", layer, a, C);
    if (!linear(run, b, a, C, C, GPT2_ATTPROJW, GPT2_ATTPROJB, layer)) { return false; }
    show(run, "attention projection", layer, b, C);
    add(x, b, count);
    show(run, "residual after attention", layer, x, C);

    if (!layernorm(run, a, x, GPT2_LN2W, GPT2_LN2B, layer)) { return false; }
    show(run, "ln2", layer, a, C);
    if (!linear(run, b, a, C, 4 * C, GPT2_FCW, GPT2_FCB, layer)) { return false; }
    for (size_t i = 0; i < 4 * count; i++) { b[i] = gelu(b[i]); }
    show(run, "gelu", layer, b, 4 * C);
    if (!linear(run, a, b, 4 * C, C, GPT2_FCPROJW, GPT2_FCPROJB, layer)) { return false; }
    show(run, "mlp projection", layer, a, C);
    add(x, a, count);
    show(run, "residual after mlp", layer, x, C);
    return true;
}

static bool forward(const struct run *run, const int32_t *tokens, double *x, double *a, double *b, double *logits) {
    const struct gpt2_config *config = &run->source->config;
    if (!embedding(run, x, tokens)) { return false; }
    show(run, "embedding", -1, x, run->C);
    for (int layer = 0; layer < config->layers; layer++) {
        if (!block(run, x, a, b, layer)) { return false; }
    }
    if (!layernorm(run, a, x, GPT2_LNFW, GPT2_LNFB, 0)) { return false; }
    show(run, "final layernorm", config->layers, a, run->C);
    if (!linear(run, logits, a, run->C, config->vocabulary, GPT2_WTE, GPT2_TENSORS, 0)) { return false; }
    show(run, "logits", config->layers, logits, config->vocabulary);
    return true;
}

bool gpt2_reference(const struct gpt2_source *source, const int32_t *tokens, int T, gpt2_reference_observer *observer,
                    void *context, struct gpt2_error *error) {
    struct run run = {source, error, observer, context, T, source->config.channels};
    if (T < 1 || T > source->config.max_tokens) {
        return gpt2_fail(error, "%d tokens, where the context is %d", T, source->config.max_tokens);
    }
    for (int t = 0; t < T; t++) {
        if (tokens[t] < 0 || tokens[t] >= source->config.vocabulary) {
            return gpt2_fail(error, "token %d is outside the vocabulary of %d", tokens[t], source->config.vocabulary);
        }
    }
    size_t count = (size_t)T * (size_t)run.C;
    double *x = malloc(count * sizeof *x), *a = malloc(4 * count * sizeof *a), *b = malloc(4 * count * sizeof *b);
    double *logits = malloc((size_t)T * (size_t)source->config.vocabulary * sizeof *logits);
    bool good = x != NULL && a != NULL && b != NULL && logits != NULL;
    good = good ? forward(&run, tokens, x, a, b, logits) : gpt2_fail(error, "out of memory");
    free(x);
    free(a);
    free(b);
    free(logits);
    return good;
}
