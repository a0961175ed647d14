/* model.c — a whole GPT-2 made of blocks: prompts, and decoding with a cache; see transformer.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

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
        size_t token = tokens[n] < 0 ? 0 : (size_t)tokens[n];
        size_t position = decoding ? (size_t)m->positions[n] : n % (size_t)m->w.T;
        struct field a = field_of(m->weights.token_embedding + token * C, C);
        struct field b = field_of(m->weights.position_embedding + position * C, C);
        transformer_add(&m->w, (struct field){m->residual.value + n * C, m->residual.error + n * C}, a, b, C);
        field_free(a);
        field_free(b);
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

/* normalised and logits of `rows` rows of residual + branch; logits are float in every type. */
static void run_end(struct model *m, struct field residual, struct field branch, int rows) {
    struct transformer in_float = m->w;
    in_float.rounding = 1.0;
    transformer_add(&m->w, residual, residual, branch, (size_t)rows * (size_t)m->w.C);
    transformer_layernorm(&m->w, m->normalised, residual, m->weights.final_weight, m->weights.final_bias, rows);
    transformer_linear(&in_float, m->logits, m->normalised, m->weights.token_embedding, NULL, rows, m->w.C,
                       m->call->sizes->V);
}

static struct model model_make(const struct op_call *call, int mistake) {
    const struct op_sizes *sizes = call->sizes;
    size_t count = (size_t)sizes->N * (size_t)sizes->C, cached = (size_t)(sizes->B * sizes->S) * (size_t)sizes->C;
    struct model m = {.call = call,
                      .w = call_transformer(call, mistake),
                      .weights = transformer_weights(sizes, call_given(call, "weights"))};
    m.residual = field_make(count);
    m.branch = field_make(count);
    m.normalised = field_make(count);
    m.logits = field_make((size_t)sizes->N * (size_t)sizes->V);
    m.k = calloc((size_t)sizes->L, sizeof *m.k);
    m.v = calloc((size_t)sizes->L, sizeof *m.v);
    m.positions = calloc((size_t)sizes->B, sizeof *m.positions);
    if (!m.k || !m.v || !m.positions) { abort(); }
    for (int layer = 0; layer < sizes->L; layer++) {
        m.k[layer] = field_make(cached);
        m.v[layer] = field_make(cached);
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

static struct field loss(const struct model *m, int n, int target) {
    size_t V = (size_t)m->call->sizes->V;
    const double *row = m->logits.value + (size_t)n * V, *error = m->logits.error + (size_t)n * V;
    struct field loss = field_make(1);
    double largest = -INFINITY, sum = 0.0, worst = 0.0, size = 0.0;
    for (size_t v = 0; v < V; v++) {
        largest = fmax(largest, row[v]);
        size = fmax(size, fabs(row[v]));
        worst = fmax(worst, error[v]);
    }
    for (size_t v = 0; v < V; v++) { sum += exp(row[v] - largest); }
    if (target < 0) { return loss; }
    loss.value[0] = log(sum) + largest - row[target];
    loss.error[0] = worst + size + sqrt((double)V) + 4.0;
    return loss;
}

void model_forward(const struct op_call *call, int mistake) {
    const struct op_sizes *sizes = call->sizes;
    struct model m = model_make(call, mistake);
    size_t count = (size_t)sizes->N * (size_t)sizes->C;
    embed(&m, call_given(call, "tokens"), false);
    run_blocks(&m, false, true);
    run_end(&m, m.residual, m.branch, sizes->N);
    call_put(call, "hidden", 2 * (size_t)sizes->L * count, m.normalised, count);
    call_put(call, "logits", 0, m.logits, (size_t)sizes->N * (size_t)sizes->V);
    for (int n = 0; n < sizes->N; n++) {
        struct field one = loss(&m, n, (int)call_given(call, "targets")[n]);
        call_put(call, "losses", (size_t)n, one, 1);
        field_free(one);
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
        const double *row = m->logits.value + b * V, *error = m->logits.error + b * V;
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
    struct field last = field_make(B * C), last_branch = field_make(B * C);
    embed(&m, call_given(call, "tokens"), false);
    run_blocks(&m, false, false);
    for (size_t b = 0; b < B; b++) {
        size_t from = (b * (size_t)sizes->T + (size_t)lengths[b] - 1) * C;
        memcpy(last.value + b * C, m.residual.value + from, C * sizeof(double));
        memcpy(last.error + b * C, m.residual.error + from, C * sizeof(double));
        memcpy(last_branch.value + b * C, m.branch.value + from, C * sizeof(double));
        memcpy(last_branch.error + b * C, m.branch.error + from, C * sizeof(double));
        m.positions[b] = lengths[b];
    }
    run_end(&m, last, last_branch, sizes->B);
    show_step(&m, 0, NULL);
    m.w.T = 1;
    for (int step = 0; step < sizes->S - sizes->T; step++, next += B) {
        embed(&m, next, true);
        run_blocks(&m, true, false);
        run_end(&m, m.residual, m.branch, sizes->B);
        show_step(&m, step + 1, next);
        for (size_t b = 0; b < B; b++) { m.positions[b] += next[b] >= 0; }
    }
    field_free(last);
    field_free(last_branch);
    model_free(&m);
}
