/* reference_backward.c — GPT-2's gradients in float64 (reference_backward.h): a forward pass that keeps all results, then the derivative
 * of each stage in reverse. */
#include "gpt2/reference_backward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kept results of one block. */
struct block {
    double *x1, *n1, *qkv, *p, *heads, *x2, *n2, *u, *h; /* (T, C), (T, C), (T, 3C), (H, T, T), (T, C) ... (T, 4C) */
};

struct run {
    struct gpt2_config config;
    struct gpt2_reference_gradients weights, *gradients;
    int T, C;
    struct block *blocks; /* (L) */
    double *x, *n;        /* (T, C): the last residual, and its LayerNorm */
    double *logits;       /* (T, V) */
};

/* ---- tensors ---- */

bool gpt2_reference_gradients_open(struct gpt2_reference_gradients *g, const struct gpt2_config *config) {
    *g = (struct gpt2_reference_gradients){.config = *config};
    g->at = calloc((size_t)GPT2_TENSORS * (size_t)config->layers, sizeof *g->at);
    bool good = g->at != NULL;
    for (int tensor = 0; good && tensor < GPT2_TENSORS; tensor++) {
        int layers = gpt2_tensor_is_layered((enum gpt2_tensor)tensor) ? config->layers : 1;
        for (int layer = 0; good && layer < layers; layer++) {
            double **place = &g->at[tensor * config->layers + layer];
            *place = calloc((size_t)gpt2_tensor_elements(config, (enum gpt2_tensor)tensor), sizeof **place);
            good = *place != NULL;
        }
    }
    if (!good) { gpt2_reference_gradients_close(g); }
    return good;
}

void gpt2_reference_gradients_close(struct gpt2_reference_gradients *g) {
    for (int i = 0; g->at != NULL && i < GPT2_TENSORS * g->config.layers; i++) { free(g->at[i]); }
    free(g->at);
    g->at = NULL;
}

static bool load(struct run *run, const struct gpt2_source *source, struct gpt2_error *error) {
    const struct gpt2_config *config = &source->config;
    if (!gpt2_reference_gradients_open(&run->weights, config)) { return gpt2_fail(error, "out of memory"); }
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        int64_t count = gpt2_tensor_elements(config, t);
        float *values = malloc((size_t)count * sizeof *values);
        if (values == NULL) { return gpt2_fail(error, "out of memory"); }
        bool good = true;
        for (int layer = 0; good && layer < (gpt2_tensor_is_layered(t) ? config->layers : 1); layer++) {
            good = source->read(source->context, t, layer, GPT2_F32, GPT2_OUT_IN, values, error);
            double *to = run->weights.at[tensor * config->layers + layer];
            for (int64_t i = 0; good && i < count; i++) { to[i] = (double)values[i]; }
        }
        free(values);
        if (!good) { return false; }
    }
    return true;
}

static const double *weight(const struct run *run, enum gpt2_tensor tensor, int layer) {
    return run->weights.at[(int)tensor * run->config.layers + layer];
}
static double *gradient(const struct run *run, enum gpt2_tensor tensor, int layer) {
    return run->gradients->at[(int)tensor * run->config.layers + layer];
}

/* ---- the parts, forward and backward. A backward part overwrites dx and adds to the parameters' gradients ---- */

static void linear(const struct run *run, double *y, const double *x, int C, int OC, enum gpt2_tensor w, int layer) {
    const double *W = weight(run, w, layer), *b = weight(run, (enum gpt2_tensor)(w + 1), layer);
    for (int t = 0; t < run->T; t++) {
        for (int o = 0; o < OC; o++) {
            double sum = b[o];
            for (int c = 0; c < C; c++) { sum += x[t * C + c] * W[o * C + c]; }
            y[t * OC + o] = sum;
        }
    }
}

static void linear_backward(const struct run *run, double *dx, const double *dy, const double *x, int C, int OC,
                            enum gpt2_tensor w, int layer) {
    const double *W = weight(run, w, layer);
    double *dW = gradient(run, w, layer), *db = gradient(run, (enum gpt2_tensor)(w + 1), layer);
    memset(dx, 0, (size_t)run->T * (size_t)C * sizeof *dx);
    for (int t = 0; t < run->T; t++) {
        for (int o = 0; o < OC; o++) {
            double d = dy[t * OC + o];
            db[o] += d;
            for (int c = 0; c < C; c++) {
                dW[o * C + c] += d * x[t * C + c];
                dx[t * C + c] += d * W[o * C + c];
            }
        }
    }
}

static void statistics(const struct run *run, const double *row, double *mean, double *rstd) {
    double variance = 0.0;
    *mean = 0.0;
    for (int c = 0; c < run->C; c++) { *mean += row[c] / run->C; }
    for (int c = 0; c < run->C; c++) { variance += (row[c] - *mean) * (row[c] - *mean) / run->C; }
    *rstd = 1.0 / sqrt(variance + (double)run->config.epsilon);
}

static void layernorm(const struct run *run, double *y, const double *x, enum gpt2_tensor w, int layer) {
    const double *g = weight(run, w, layer), *b = weight(run, (enum gpt2_tensor)(w + 1), layer);
    for (int t = 0; t < run->T; t++) {
        double mean, rstd;
        statistics(run, x + t * run->C, &mean, &rstd);
        for (int c = 0; c < run->C; c++) { y[t * run->C + c] = (x[t * run->C + c] - mean) * rstd * g[c] + b[c]; }
    }
}

/* Adds to dx, which holds the gradient of the residual branch. */
static void layernorm_backward(const struct run *run, double *dx, const double *dy, const double *x, enum gpt2_tensor w,
                               int layer) {
    int C = run->C;
    const double *weights = weight(run, w, layer);
    double *dw = gradient(run, w, layer), *db = gradient(run, (enum gpt2_tensor)(w + 1), layer);
    for (int t = 0; t < run->T; t++) {
        const double *row = x + t * C, *d = dy + t * C;
        double mean, rstd, g_mean = 0.0, g_xhat_mean = 0.0;
        statistics(run, row, &mean, &rstd);
        for (int c = 0; c < C; c++) {
            double xhat = (row[c] - mean) * rstd;
            dw[c] += d[c] * xhat;
            db[c] += d[c];
            g_mean += d[c] * weights[c] / C;
            g_xhat_mean += d[c] * weights[c] * xhat / C;
        }
        for (int c = 0; c < C; c++) {
            dx[t * C + c] += rstd * (d[c] * weights[c] - g_mean - (row[c] - mean) * rstd * g_xhat_mean);
        }
    }
}

static void attention(const struct run *run, struct block *a) {
    int H = run->config.heads, C = run->C, D = C / H, T = run->T;
    for (int h = 0; h < H; h++) {
        for (int i = 0; i < T; i++) {
            const double *q = a->qkv + i * 3 * C + h * D, *v = a->qkv + 2 * C + h * D;
            double *p = a->p + (h * T + i) * T, largest = -INFINITY, sum = 0.0;
            for (int j = 0; j <= i; j++) {
                const double *k = a->qkv + j * 3 * C + C + h * D;
                p[j] = 0.0;
                for (int d = 0; d < D; d++) { p[j] += q[d] * k[d] / sqrt((double)D); }
                largest = fmax(largest, p[j]);
            }
            for (int j = 0; j <= i; j++) { sum += p[j] = exp(p[j] - largest); }
            for (int j = 0; j <= i; j++) { p[j] /= sum; }
            for (int d = 0; d < D; d++) {
                double total = 0.0;
                for (int j = 0; j <= i; j++) { total += p[j] * v[j * 3 * C + d]; }
                a->heads[i * C + h * D + d] = total;
            }
        }
    }
}

static void attention_backward(const struct run *run, double *dqkv, const double *dheads, const struct block *a) {
    int H = run->config.heads, C = run->C, D = C / H, T = run->T;
    memset(dqkv, 0, (size_t)T * 3 * (size_t)C * sizeof *dqkv);
    for (int h = 0; h < H; h++) {
        for (int i = 0; i < T; i++) {
            const double *p = a->p + (h * T + i) * T, *dout = dheads + i * C + h * D;
            const double *q = a->qkv + i * 3 * C + h * D;
            double *dq = dqkv + i * 3 * C + h * D, s = 0.0;
            for (int j = 0; j <= i; j++) {
                for (int d = 0; d < D; d++) { s += p[j] * dout[d] * a->qkv[j * 3 * C + 2 * C + h * D + d]; }
            }
            for (int j = 0; j <= i; j++) {
                const double *k = a->qkv + j * 3 * C + C + h * D, *v = k + C;
                double *dk = dqkv + j * 3 * C + C + h * D, *dv = dk + C, dp = 0.0;
                for (int d = 0; d < D; d++) { dp += dout[d] * v[d]; }
                double ds = p[j] * (dp - s) / sqrt((double)D);
                for (int d = 0; d < D; d++) {
                    dv[d] += p[j] * dout[d];
                    dq[d] += ds * k[d];
                    dk[d] += ds * q[d];
                }
            }
        }
    }
}

static const double root = 0.79788456080286535588; /* sqrt(2 / pi) */
static double gelu(double u) {
    return 0.5 * u * (1.0 + tanh(root * (u + 0.044715 * u * u * u)));
}
static double gelu_slope(double u) {
    double t = tanh(root * (u + 0.044715 * u * u * u));
    return 0.5 * (1.0 + t) + 0.5 * u * (1.0 - t * t) * root * (1.0 + 3.0 * 0.044715 * u * u);
}

/* ---- the whole model ---- */

static void forward(struct run *run, const int32_t *tokens) {
    int T = run->T, C = run->C, V = run->config.vocabulary;
    const double *wte = weight(run, GPT2_WTE, 0), *wpe = weight(run, GPT2_WPE, 0);
    for (int i = 0; i < T * C; i++) { run->x[i] = wte[tokens[i / C] * C + i % C] + wpe[i]; }
    for (int layer = 0; layer < run->config.layers; layer++) {
        struct block *a = &run->blocks[layer];
        memcpy(a->x1, run->x, (size_t)(T * C) * sizeof *a->x1);
        layernorm(run, a->n1, a->x1, GPT2_LN1W, layer);
        linear(run, a->qkv, a->n1, C, 3 * C, GPT2_QKVW, layer);
        attention(run, a);
        linear(run, a->x2, a->heads, C, C, GPT2_ATTPROJW, layer);
        for (int i = 0; i < T * C; i++) { a->x2[i] += a->x1[i]; }
        layernorm(run, a->n2, a->x2, GPT2_LN2W, layer);
        linear(run, a->u, a->n2, C, 4 * C, GPT2_FCW, layer);
        for (int i = 0; i < 4 * T * C; i++) { a->h[i] = gelu(a->u[i]); }
        linear(run, run->x, a->h, 4 * C, C, GPT2_FCPROJW, layer);
        for (int i = 0; i < T * C; i++) { run->x[i] += a->x2[i]; }
    }
    layernorm(run, run->n, run->x, GPT2_LNFW, 0);
    for (int i = 0; i < T * V; i++) {
        run->logits[i] = 0.0;
        for (int c = 0; c < C; c++) { run->logits[i] += run->n[i / V * C + c] * wte[i % V * C + c]; }
    }
}

/* Overwrites the logits with their gradient. */
static double cross_entropy(struct run *run, const int32_t *targets, double scale) {
    int V = run->config.vocabulary;
    double loss = 0.0;
    for (int t = 0; t < run->T; t++) {
        double *row = run->logits + t * V, largest = -INFINITY, sum = 0.0, factor = targets[t] < 0 ? 0.0 : scale;
        for (int v = 0; v < V; v++) { largest = fmax(largest, row[v]); }
        for (int v = 0; v < V; v++) { sum += exp(row[v] - largest); }
        if (targets[t] >= 0) { loss += log(sum) + largest - row[targets[t]]; }
        for (int v = 0; v < V; v++) { row[v] = factor * (exp(row[v] - largest) / sum - (v == targets[t])); }
    }
    return loss;
}

/* dx, a: (T, C) and b: (T, 4C): scratch. */
static void backward(struct run *run, const int32_t *tokens, double *dx, double *a, double *b) {
    const int T = run->T, C = run->C, V = run->config.vocabulary;
    const double *wte = weight(run, GPT2_WTE, 0);
    double *dwte = gradient(run, GPT2_WTE, 0), *dwpe = gradient(run, GPT2_WPE, 0);
    memset(a, 0, (size_t)(T * C) * sizeof *a);
    memset(dx, 0, (size_t)(T * C) * sizeof *dx);
    for (int i = 0; i < T * V; i++) {
        for (int c = 0; c < C; c++) {
            a[i / V * C + c] += run->logits[i] * wte[i % V * C + c];
            dwte[i % V * C + c] += run->logits[i] * run->n[i / V * C + c];
        }
    }
    layernorm_backward(run, dx, a, run->x, GPT2_LNFW, 0);
    for (int layer = run->config.layers - 1; layer >= 0; layer--) {
        const struct block *at = &run->blocks[layer];
        linear_backward(run, b, dx, at->h, 4 * C, C, GPT2_FCPROJW, layer);
        for (int i = 0; i < 4 * T * C; i++) { b[i] *= gelu_slope(at->u[i]); }
        linear_backward(run, a, b, at->n2, C, 4 * C, GPT2_FCW, layer);
        layernorm_backward(run, dx, a, at->x2, GPT2_LN2W, layer);
        linear_backward(run, a, dx, at->heads, C, C, GPT2_ATTPROJW, layer);
        attention_backward(run, b, a, at);
        linear_backward(run, a, b, at->n1, C, 3 * C, GPT2_QKVW, layer);
        layernorm_backward(run, dx, a, at->x1, GPT2_LN1W, layer);
    }
    for (int i = 0; i < T * C; i++) {
        dwte[tokens[i / C] * C + i % C] += dx[i];
        dwpe[i] += dx[i];
    }
}

bool gpt2_reference_backward(const struct gpt2_source *source, const int32_t *tokens, const int32_t *targets, int T,
                             double scale, double *loss, struct gpt2_reference_gradients *gradients,
                             struct gpt2_error *error) {
    const struct gpt2_config *config = &source->config;
    size_t rows = (size_t)T, C = (size_t)config->channels, each = rows * (16 * C + (size_t)config->heads * rows);
    size_t ends = rows * (8 * C + (size_t)config->vocabulary);
    struct run run = {.config = *config, .gradients = gradients, .T = T, .C = config->channels};
    run.blocks = calloc((size_t)config->layers, sizeof *run.blocks);
    double *memory = calloc((size_t)config->layers * each + ends, sizeof *memory), *at = memory;
    bool good = (memory != NULL && run.blocks != NULL) || gpt2_fail(error, "out of memory");
    good = good && load(&run, source, error);
    if (good) {
        for (int layer = 0; layer < config->layers; layer++) {
            struct block *a = &run.blocks[layer];
            double **parts[] = {&a->x1, &a->n1, &a->heads, &a->x2, &a->n2, &a->qkv, &a->u, &a->h, &a->p};
            const size_t sizes[] = {C, C, C, C, C, 3 * C, 4 * C, 4 * C, (size_t)config->heads * rows};
            for (int i = 0; i < 9; at += rows * sizes[i++]) { *parts[i] = at; }
        }
        run.x = at, run.n = at + rows * C, run.logits = at + 8 * rows * C;
        forward(&run, tokens);
        *loss = cross_entropy(&run, targets, scale);
        backward(&run, tokens, at + 2 * rows * C, at + 3 * rows * C, at + 4 * rows * C);
    }
    gpt2_reference_gradients_close(&run.weights);
    free(run.blocks);
    free(memory);
    return good;
}
