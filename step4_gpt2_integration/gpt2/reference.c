/* reference.c — the passes of a whole GPT-2 over the parts of common/ops/transformer (reference.h). One layer's weights are in
 * memory at a time. */
#include "gpt2/reference.h"

#include <stdlib.h>
#include <string.h>

#include "ops/transformer/transformer.h"

_Static_assert((int)GPT2_GELU_ERF == (int)TRANSFORMER_ERF && (int)GPT2_RELU == (int)TRANSFORMER_RELU, "the same order");

struct run {
    const struct gpt2_source *source;
    struct gpt2_error *error;
    gpt2_reference_observer *observer; /* or NULL */
    void *context;
    struct transformer w;
    struct transformer_model ends;
    struct field residual, branch, normalised, logits; /* (T, C), (T, C), (T, C), (T, V) */
    double *(*kept)[TRANSFORMER_KEPT];                 /* (L + 1): for the backward pass; or NULL */
    const struct gpt2_reference_dropout *dropout;      /* or NULL */
    int layer;                                         /* of the block that is being computed */
};

/* ---- weights ---- */

/* A tensor of the model, (out, in), which the caller frees. NULL and a message on failure. */
static float *tensor(const struct run *run, enum gpt2_tensor which, int layer) {
    const struct gpt2_source *source = run->source;
    float *values = malloc((size_t)gpt2_tensor_elements(&source->config, which) * sizeof *values);
    if (values == NULL) { gpt2_fail(run->error, "out of memory"); }
    if (values == NULL || source->read(source->context, which, layer, GPT2_F32, GPT2_OUT_IN, values, run->error)) {
        return values;
    }
    free(values);
    return NULL;
}

/* A block's tensors have the same order here and in struct transformer_block. */
static void block_close(struct transformer_block *block) {
    float *tensors[TRANSFORMER_BLOCK_TENSORS];
    memcpy(tensors, block, sizeof tensors);
    for (int i = 0; i < TRANSFORMER_BLOCK_TENSORS; i++) { free(tensors[i]); }
}

static bool block_open(const struct run *run, struct transformer_block *block, int layer) {
    float *tensors[TRANSFORMER_BLOCK_TENSORS] = {NULL};
    bool good = true;
    for (int i = 0; good && i < TRANSFORMER_BLOCK_TENSORS; i++) {
        tensors[i] = tensor(run, (enum gpt2_tensor)(GPT2_LN1W + i), layer);
        good = tensors[i] != NULL;
    }
    memcpy(block, tensors, sizeof tensors);
    if (!good) { block_close(block); }
    return good;
}

/* ---- stages ---- */

/* The input of a block is the last sum of the block before, or the embedding, whose layer is -1. */
static void show(const struct run *run, enum transformer_stage stage, int layer, const double *values, size_t rows,
                 size_t columns) {
    static const char *const names[] = {[STAGE_RESIDUAL] = "residual after mlp",
                                        [STAGE_NORMALISED] = "ln1",
                                        [STAGE_QKV] = "qkv",
                                        [STAGE_ATTENTION] = "attention",
                                        [STAGE_ATTENTION_BRANCH] = "attention projection",
                                        [STAGE_MIDDLE] = "residual after attention",
                                        [STAGE_NORMALISED_2] = "ln2",
                                        [STAGE_HIDDEN] = "gelu",
                                        [STAGE_BRANCH] = "mlp projection",
                                        [STAGE_LOGITS] = "logits"};
    const char *name = names[stage];
    if (stage == STAGE_RESIDUAL && layer == 0) { name = "embedding"; }
    if (stage == STAGE_NORMALISED && layer == run->source->config.layers) { name = "final layernorm"; }
    if (stage == STAGE_RESIDUAL) { layer--; }
    if (name != NULL) { run->observer(run->context, name, layer, values, (int64_t)rows, (int64_t)columns); }
}

static void observe(void *context, enum transformer_stage stage, int layer, struct field values, size_t rows,
                    size_t columns) {
    const struct run *run = context;
    if (run->observer != NULL) { show(run, stage, layer, values.value, rows, columns); }
    if (run->kept == NULL || stage >= TRANSFORMER_KEPT) { return; }
    run->kept[layer][stage] = transformer_numbers(rows * columns);
    memcpy(run->kept[layer][stage], values.value, rows * columns * sizeof(double));
}

/* ---- passes ---- */

static double factor(void *context, enum transformer_dropout place, size_t index) {
    const struct run *run = context;
    return run->dropout->factor(run->dropout->context, 1 + (int)place, run->layer, index);
}

/* x (T, C) with the mask of the embedding. */
static void drop_embedding(const struct run *run, double *x) {
    size_t count = (size_t)run->w.T * (size_t)run->w.C;
    for (size_t i = 0; run->dropout != NULL && i < count; i++) {
        x[i] *= run->dropout->factor(run->dropout->context, 0, 0, i);
    }
}

static bool forward(struct run *run, const int32_t *tokens) {
    size_t T = (size_t)run->w.T, C = (size_t)run->w.C;
    struct field no_cache = {NULL, NULL};
    struct transformer_block block;
    for (size_t t = 0; t < T; t++) {
        transformer_embed(&run->w, field_at(run->residual, t * C), &run->ends, (size_t)tokens[t], t);
    }
    drop_embedding(run, run->residual.value);
    for (int layer = 0; layer < run->source->config.layers; layer++) {
        run->layer = layer;
        if (!block_open(run, &block, layer)) { return false; }
        transformer_block(&run->w, &block, layer, run->residual, run->branch, no_cache, no_cache, NULL);
        block_close(&block);
    }
    transformer_end(&run->w, &run->ends, run->source->config.layers, run->residual, run->branch, run->normalised,
                    run->logits, T);
    return true;
}

/* run->logits: their gradient. */
static bool backward(struct run *run, const int32_t *tokens, const struct gpt2_reference_gradients *gradients) {
    int layers = run->source->config.layers;
    size_t count = (size_t)run->w.T * (size_t)run->w.C, C = (size_t)run->w.C;
    double *const dwte = gradients->at[GPT2_WTE * layers], *const dwpe = gradients->at[GPT2_WPE * layers];
    double *const dhead = run->ends.head != NULL ? gradients->at[GPT2_HEAD * layers] : dwte;
    struct field dx = run->residual, gradient[TRANSFORMER_BLOCK_TENSORS];
    struct transformer_block block;
    transformer_end_backward(&run->w, &run->ends, run->kept[layers], dx, run->logits, (struct field){dhead, NULL},
                             (struct field){gradients->at[GPT2_LNFW * layers], NULL},
                             (struct field){gradients->at[GPT2_LNFB * layers], NULL});
    for (int layer = layers - 1; layer >= 0; layer--) {
        run->layer = layer;
        if (!block_open(run, &block, layer)) { return false; }
        for (int i = 0; i < TRANSFORMER_BLOCK_TENSORS; i++) {
            gradient[i] = (struct field){gradients->at[(GPT2_LN1W + i) * layers + layer], NULL};
        }
        transformer_block_backward(&run->w, &block, run->kept[layer], dx, gradient);
        block_close(&block);
    }
    drop_embedding(run, dx.value);
    for (size_t i = 0; i < count; i++) {
        dwte[(size_t)tokens[i / C] * C + i % C] += dx.value[i];
        dwpe[i] += dx.value[i];
    }
    return true;
}

/* A forward pass; and a backward pass if there are targets. */
static bool pass(struct run *run, const int32_t *tokens, const int32_t *targets, int T, double scale, double *loss,
                 struct gpt2_reference_gradients *gradients) {
    const struct gpt2_config *config = &run->source->config;
    if (T < 1 || T > config->max_tokens) {
        return gpt2_fail(run->error, "%d tokens, where the context is %d", T, config->max_tokens);
    }
    for (int t = 0; t < T; t++) {
        if (tokens[t] < 0 || tokens[t] >= config->vocabulary) {
            return gpt2_fail(run->error, "token %d is outside the vocabulary of %d", tokens[t], config->vocabulary);
        }
    }
    size_t V = (size_t)config->vocabulary, C = (size_t)config->channels, count = (size_t)T * C;
    run->w = (struct transformer){.B = 1,
                                  .T = T,
                                  .H = config->heads,
                                  .D = config->channels / config->heads,
                                  .C = config->channels,
                                  .eps = (double)config->epsilon,
                                  .activation = (enum transformer_activation)config->activation,
                                  .observer = observe,
                                  .factor = run->dropout != NULL ? factor : NULL,
                                  .context = run};
    double *memory = calloc(3 * count + (size_t)T * V, sizeof *memory);
    float *wte = tensor(run, GPT2_WTE, 0), *wpe = tensor(run, GPT2_WPE, 0);
    float *lnfw = tensor(run, GPT2_LNFW, 0), *lnfb = tensor(run, GPT2_LNFB, 0);
    float *head = config->untied ? tensor(run, GPT2_HEAD, 0) : NULL;
    bool good = memory != NULL || gpt2_fail(run->error, "out of memory");
    good = good && wte != NULL && wpe != NULL && lnfw != NULL && lnfb != NULL && (head != NULL || !config->untied);
    if (good) {
        run->ends = (struct transformer_model){wte, wpe, lnfw, lnfb, V, head};
        run->residual = (struct field){memory, NULL};
        run->branch = field_at(run->residual, count);
        run->normalised = field_at(run->branch, count);
        run->logits = field_at(run->normalised, count);
        good = forward(run, tokens);
    }
    for (size_t t = 0; good && targets != NULL && t < (size_t)T; t++) {
        struct field row = field_at(run->logits, t * V);
        double unused;
        *loss += transformer_loss(row, V, targets[t], &unused);
        transformer_loss_backward(row.value, row.value, V, targets[t], scale);
    }
    good = good && (targets == NULL || backward(run, tokens, gradients));
    free(memory);
    free(wte);
    free(wpe);
    free(lnfw);
    free(lnfb);
    free(head);
    return good;
}

bool gpt2_reference(const struct gpt2_source *source, const int32_t *tokens, int T, gpt2_reference_observer *observer,
                    void *context, struct gpt2_error *error) {
    struct gpt2_source scaled = gpt2_scaled_source(source);
    struct run run = {.source = &scaled, .error = error, .observer = observer, .context = context};
    return pass(&run, tokens, NULL, T, 0.0, NULL, NULL);
}

bool gpt2_reference_backward(const struct gpt2_source *source, const int32_t *tokens, const int32_t *targets, int T,
                             double scale, const struct gpt2_reference_dropout *dropout, double *loss,
                             struct gpt2_reference_gradients *gradients, struct gpt2_error *error) {
    struct run run = {.source = source, .error = error, .dropout = dropout};
    int layers = source->config.layers;
    if (source->config.scale_by_layer) { return gpt2_fail(error, "no gradients with scale_attn_by_inverse_layer_idx"); }
    run.kept = calloc((size_t)layers + 1, sizeof *run.kept);
    *loss = 0.0;
    bool good =
        run.kept != NULL ? pass(&run, tokens, targets, T, scale, loss, gradients) : gpt2_fail(error, "out of memory");
    for (int i = 0; run.kept != NULL && i < (layers + 1) * TRANSFORMER_KEPT; i++) {
        free(run.kept[i / TRANSFORMER_KEPT][i % TRANSFORMER_KEPT]);
    }
    free(run.kept);
    return good;
}

/* ---- gradients ---- */

bool gpt2_reference_gradients_open(struct gpt2_reference_gradients *g, const struct gpt2_config *config) {
    *g = (struct gpt2_reference_gradients){.config = *config};
    g->at = calloc((size_t)GPT2_TENSORS * (size_t)config->layers, sizeof *g->at);
    bool good = g->at != NULL;
    for (int tensor = 0; good && tensor < GPT2_TENSORS; tensor++) {
        int layers = gpt2_tensor_layers(config, (enum gpt2_tensor)tensor);
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
