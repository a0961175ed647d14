/* model.c — a whole GPT-2 made of blocks: prompts, and decoding with a cache; see calls.h. */
#include <math.h>
#include <stdlib.h>

#include "calls.h"

/* The state of a pass. */
struct model {
    const struct op_call *call;
    struct transformer w; /* T is 1 when decoding */
    struct transformer_model weights;
    struct field residual, branch;   /* (N, C) */
    struct field *k, *v;             /* (L) of (B, H, S, D) */
    struct field normalised, logits; /* (N, C), (N, V) */
    float *positions;                /* (B): tokens in the cache */
};

/* residual (N, C) = token and position embeddings */
static void embed(struct model *m, const float *tokens, bool decoding) {
    size_t C = (size_t)m->w.C, N = (size_t)(m->w.B * m->w.T);
    for (size_t n = 0; n < N; n++) {
        size_t position = decoding ? (size_t)m->positions[n] : n % (size_t)m->w.T;
        transformer_embed(&m->w, field_at(m->residual, n * C), &m->weights, tokens[n] < 0 ? 0 : (size_t)tokens[n],
                          position);
    }
}

static void run_blocks(struct model *m, bool decoding, bool shown) {
    const struct op_sizes *sizes = m->call->sizes;
    size_t count = (size_t)(m->w.B * m->w.T) * (size_t)m->w.C;
    for (int layer = 0; layer < sizes->L; layer++) {
        int cache = m->w.mistake == TRANSFORMER_CACHE_OF_LAYER_0 ? 0 : layer;
        int of = m->w.mistake == TRANSFORMER_WEIGHTS_OF_LAYER_0 ? 0 : layer;
        struct transformer_block weights = transformer_layer(sizes, call_given(m->call, "weights"), of);
        transformer_block(&m->w, &weights, layer, m->residual, m->branch, m->k[cache], m->v[cache],
                          decoding ? m->positions : NULL);
        if (!shown) { continue; }
        call_put(m->call, "hidden", (size_t)(2 * layer) * count, m->residual, count);
        call_put(m->call, "hidden", (size_t)(2 * layer + 1) * count, m->branch, count);
    }
}

static struct model model_make(const struct op_call *call, int mistake) {
    const struct op_sizes *sizes = call->sizes;
    size_t count = (size_t)sizes->N * (size_t)sizes->C, cached = (size_t)(sizes->B * sizes->S) * (size_t)sizes->C;
    struct model m = {.call = call,
                      .w = call_transformer(call, mistake),
                      .weights = transformer_weights(sizes, call_given(call, "weights"))};
    m.residual = transformer_field(&m.w, count);
    m.branch = transformer_field(&m.w, count);
    m.normalised = transformer_field(&m.w, count);
    m.logits = transformer_field(&m.w, (size_t)sizes->N * (size_t)sizes->V);
    m.k = calloc((size_t)sizes->L, sizeof *m.k);
    m.v = calloc((size_t)sizes->L, sizeof *m.v);
    m.positions = calloc((size_t)sizes->B, sizeof *m.positions);
    if (!m.k || !m.v || !m.positions) { abort(); }
    for (int layer = 0; layer < sizes->L; layer++) {
        m.k[layer] = transformer_field(&m.w, cached);
        m.v[layer] = transformer_field(&m.w, cached);
    }
    return m;
}

static void model_free(struct model *m) {
    for (int layer = 0; layer < m->call->sizes->L; layer++) {
        field_free(m->k[layer]);
        field_free(m->v[layer]);
    }
    free(m->k);
    free(m->v);
    free(m->positions);
    field_free(m->residual);
    field_free(m->branch);
    field_free(m->normalised);
    field_free(m->logits);
}

void model_forward(const struct op_call *call, int mistake) {
    const struct op_sizes *sizes = call->sizes;
    struct model m = model_make(call, mistake);
    size_t count = (size_t)sizes->N * (size_t)sizes->C;
    embed(&m, call_given(call, "tokens"), false);
    run_blocks(&m, false, true);
    transformer_end(&m.w, &m.weights, sizes->L, m.residual, m.branch, m.normalised, m.logits, (size_t)sizes->N);
    call_put(call, "hidden", 2 * (size_t)sizes->L * count, m.normalised, count);
    call_put(call, "logits", 0, m.logits, (size_t)sizes->N * (size_t)sizes->V);
    for (int n = 0; n < sizes->N; n++) {
        double loss, error;
        struct field row = field_at(m.logits, (size_t)n * m.weights.V);
        loss = transformer_loss(row, m.weights.V, (int)call_given(call, "targets")[n], &error);
        call_put(call, "losses", (size_t)n, (struct field){&loss, &error}, 1);
    }
    model_free(&m);
}

/* hidden, logits and the likeliest token of one step; undefined for a sequence that skips the step. */
static void show_step(const struct model *m, int step, const float *next) {
    const struct op_call *call = m->call;
    size_t B = (size_t)m->w.B, C = (size_t)m->w.C, V = (size_t)call->sizes->V, first = (size_t)step * B;
    double *hidden = call_condition(call, "hidden"), *logits = call_condition(call, "logits");
    double *greedy = call_expected(call, "greedy"), *greedy_condition = call_condition(call, "greedy");
    call_put(call, "hidden", first * C, m->normalised, B * C);
    call_put(call, "logits", first * V, m->logits, B * V);
    for (size_t b = 0; b < B; b++) {
        const double *row = m->logits.value + b * V, *error = field_at(m->logits, b * V).error;
        size_t best = 0, second = 1;
        for (size_t v = 0; v < V; v++) { best = row[v] > row[best] ? v : best; }
        for (size_t v = 0; v < V; v++) { second = v != best && (second == best || row[v] > row[second]) ? v : second; }
        greedy[first + b] = (double)best;
        if (!greedy_condition) { continue; }
        bool rests = next && next[b] < 0;
        double doubt = 16.0 * 0x1p-24 * (error[best] + error[second]);
        greedy_condition[first + b] = rests || row[best] - row[second] <= doubt ? INFINITY : 0.0;
        for (size_t c = 0; rests && c < C; c++) { hidden[(first + b) * C + c] = INFINITY; }
        for (size_t v = 0; rests && v < V; v++) { logits[(first + b) * V + v] = INFINITY; }
    }
}

void model_decode(const struct op_call *call, int mistake) {
    const struct op_sizes *sizes = call->sizes;
    struct model m = model_make(call, mistake);
    size_t C = (size_t)sizes->C, B = (size_t)sizes->B;
    const float *lengths = call_given(call, "lengths"), *next = call_given(call, "next");
    struct field last = transformer_field(&m.w, B * C), last_branch = transformer_field(&m.w, B * C);
    embed(&m, call_given(call, "tokens"), false);
    run_blocks(&m, false, false);
    for (size_t b = 0; b < B; b++) {
        size_t from = (b * (size_t)sizes->T + (size_t)lengths[b] - 1) * C;
        field_copy(field_at(last, b * C), field_at(m.residual, from), C);
        field_copy(field_at(last_branch, b * C), field_at(m.branch, from), C);
        m.positions[b] = lengths[b];
    }
    transformer_end(&m.w, &m.weights, sizes->L, last, last_branch, m.normalised, m.logits, B);
    show_step(&m, 0, NULL);
    m.w.T = 1;
    for (int step = 0; step < sizes->S - sizes->T; step++, next += B) {
        embed(&m, next, true);
        run_blocks(&m, true, false);
        transformer_end(&m.w, &m.weights, sizes->L, m.residual, m.branch, m.normalised, m.logits, B);
        show_step(&m, step + 1, next);
        for (size_t b = 0; b < B; b++) { m.positions[b] += next[b] >= 0; }
    }
    field_free(last);
    field_free(last_branch);
    model_free(&m);
}
