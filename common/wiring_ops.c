/* wiring_ops.c — the ops that are made of a model's parts, and the model made of blocks; see wiring.h. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "wiring.h"

enum { KEPT_ERRORS = 1 }; /* a condition is the usual size of an error: what is allowed is four times that */

/* ---- tensors in and out ---- */

struct call {
    const struct op *op;
    const struct op_sizes *sizes;
    const float *const *tensor;
    double *const *out, *const *condition;
    struct wiring w;
};

static const float *given(const struct call *call, const char *name) {
    return call->tensor[op_tensor_find(call->op, name)];
}

static struct field start(const struct call *call, const char *name) {
    int t = op_tensor_find(call->op, name);
    return field_of(call->tensor[t], op_elements(call->op, t, call->sizes));
}

/* Values that were copied carry no error and are compared exactly. */
static void put(const struct call *call, const char *name, size_t offset, struct field from, size_t count) {
    int t = op_tensor_find(call->op, name);
    for (size_t i = 0; i < count; i++) {
        call->out[t][offset + i] = from.value[i];
        if (!call->condition) { continue; }
        bool exact = from.error[i] == 0.0 || isnan(from.value[i]);
        call->condition[t][offset + i] = exact ? 0.0 : KEPT_ERRORS * from.error[i] + DBL_MIN;
    }
}

static void finish(const struct call *call, const char *name, struct field field) {
    put(call, name, 0, field, op_elements(call->op, op_tensor_find(call->op, name), call->sizes));
    field_free(field);
}

/* ---- attention, decoding, a block ---- */

static void attention(const struct call *call) {
    struct field k = start(call, "k"), v = start(call, "v"), qkv = start(call, "qkv");
    struct field out = field_make((size_t)call->sizes->N * (size_t)call->sizes->C);
    wiring_attention(&call->w, out, k, v, qkv);
    field_free(qkv);
    finish(call, "out", out);
    finish(call, "k", k);
    finish(call, "v", v);
}

static void decode_attention(const struct call *call) {
    struct field k = start(call, "k"), v = start(call, "v"), qkv = start(call, "qkv");
    struct field out = field_make((size_t)call->sizes->N * (size_t)call->sizes->C);
    wiring_decode(&call->w, out, k, v, qkv, given(call, "positions"));
    field_free(qkv);
    finish(call, "out", out);
    finish(call, "k", k);
    finish(call, "v", v);
}

static void block(const struct call *call) {
    struct field k = start(call, "k"), v = start(call, "v");
    struct field residual = start(call, "residual"), branch = start(call, "branch");
    struct wiring_block weights;
    const float *tensors[WIRING_BLOCK_TENSORS];
    int first = op_tensor_find(call->op, "ln1_weight");
    for (int i = 0; i < WIRING_BLOCK_TENSORS; i++) { tensors[i] = call->tensor[first + i]; }
    memcpy(&weights, tensors, sizeof weights);
    wiring_block(&call->w, &weights, call->sizes->L, residual, branch, k, v, NULL);
    finish(call, "k", k);
    finish(call, "v", v);
    finish(call, "residual", residual);
    finish(call, "branch", branch);
}

/* ---- the model ---- */

void wiring_block_elements(int C, size_t elements[WIRING_BLOCK_TENSORS]) {
    size_t c = (size_t)C;
    const size_t sizes[WIRING_BLOCK_TENSORS] = {c, c, 3 * c * c, 3 * c, c * c, c, c, c, 4 * c * c, 4 * c, 4 * c * c, c};
    memcpy(elements, sizes, sizeof sizes);
}

struct wiring_block wiring_layer(const struct op_sizes *sizes, const float *weights, int layer) {
    size_t elements[WIRING_BLOCK_TENSORS];
    const float *tensors[WIRING_BLOCK_TENSORS];
    struct wiring_block block;
    wiring_block_elements(sizes->C, elements);
    weights += (size_t)(sizes->V + sizes->S) * (size_t)sizes->C;
    for (int i = 0; i < WIRING_BLOCK_TENSORS; i++) {
        tensors[i] = weights + (size_t)layer * elements[i];
        weights += (size_t)sizes->L * elements[i];
    }
    memcpy(&block, tensors, sizeof block);
    return block;
}

struct wiring_model wiring_weights(const struct op_sizes *sizes, const float *weights) {
    size_t C = (size_t)sizes->C, V = (size_t)sizes->V, S = (size_t)sizes->S, L = (size_t)sizes->L;
    const float *end = weights + (V + S) * C + L * (12 * C + 13) * C;
    return (struct wiring_model){weights, weights + V * C, end, end + C};
}

/* Everything that a pass needs. */
struct model {
    const struct call *call;
    struct wiring w; /* T is 1 when decoding */
    struct wiring_model weights;
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
        wiring_add(&m->w, (struct field){m->residual.value + n * C, m->residual.error + n * C}, a, b, C);
        field_free(a);
        field_free(b);
    }
}

static void run_blocks(struct model *m, bool decoding, bool shown) {
    const struct op_sizes *sizes = m->call->sizes;
    size_t count = (size_t)(m->w.B * m->w.T) * (size_t)m->w.C;
    for (int layer = 0; layer < sizes->L; layer++) {
        int cache = m->w.mistake == WIRING_CACHE_OF_LAYER_0 ? 0 : layer;
        int of = m->w.mistake == WIRING_WEIGHTS_OF_LAYER_0 ? 0 : layer;
        struct wiring_block weights = wiring_layer(sizes, given(m->call, "weights"), of);
        wiring_block(&m->w, &weights, layer, m->residual, m->branch, m->k[cache], m->v[cache],
                     decoding ? m->positions : NULL);
        if (!shown) { continue; }
        put(m->call, "hidden", (size_t)(2 * layer) * count, m->residual, count);
        put(m->call, "hidden", (size_t)(2 * layer + 1) * count, m->branch, count);
    }
}

/* normalised and logits of `rows` rows of residual + branch; logits are float whatever the type. */
static void run_end(struct model *m, struct field residual, struct field branch, int rows) {
    struct wiring in_float = m->w;
    in_float.rounding = 1.0;
    wiring_add(&m->w, residual, residual, branch, (size_t)rows * (size_t)m->w.C);
    wiring_layernorm(&m->w, m->normalised, residual, m->weights.final_weight, m->weights.final_bias, rows);
    wiring_linear(&in_float, m->logits, m->normalised, m->weights.token_embedding, NULL, rows, m->w.C,
                  m->call->sizes->V);
}

static struct model model_make(const struct call *call) {
    const struct op_sizes *sizes = call->sizes;
    size_t count = (size_t)sizes->N * (size_t)sizes->C, cached = (size_t)(sizes->B * sizes->S) * (size_t)sizes->C;
    struct model m = {.call = call, .w = call->w, .weights = wiring_weights(sizes, given(call, "weights"))};
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

static void gpt2_forward(const struct call *call) {
    const struct op_sizes *sizes = call->sizes;
    struct model m = model_make(call);
    size_t count = (size_t)sizes->N * (size_t)sizes->C;
    embed(&m, given(call, "tokens"), false);
    run_blocks(&m, false, true);
    run_end(&m, m.residual, m.branch, sizes->N);
    put(call, "hidden", 2 * (size_t)sizes->L * count, m.normalised, count);
    put(call, "logits", 0, m.logits, (size_t)sizes->N * (size_t)sizes->V);
    for (int n = 0; n < sizes->N; n++) {
        struct field one = loss(&m, n, (int)given(call, "targets")[n]);
        put(call, "losses", (size_t)n, one, 1);
        field_free(one);
    }
    model_free(&m);
}

/* hidden, logits and the likeliest token of one step; a sequence that rests may hold anything. */
static void show_step(const struct model *m, int step, const float *next) {
    const struct call *call = m->call;
    size_t B = (size_t)m->w.B, C = (size_t)m->w.C, V = (size_t)call->sizes->V, first = (size_t)step * B;
    int hidden = op_tensor_find(call->op, "hidden"), logits = op_tensor_find(call->op, "logits");
    int greedy = op_tensor_find(call->op, "greedy");
    put(call, "hidden", first * C, m->normalised, B * C);
    put(call, "logits", first * V, m->logits, B * V);
    for (size_t b = 0; b < B; b++) {
        const double *row = m->logits.value + b * V, *error = m->logits.error + b * V;
        size_t best = 0, second = 1;
        for (size_t v = 0; v < V; v++) { best = row[v] > row[best] ? v : best; }
        for (size_t v = 0; v < V; v++) { second = v != best && (second == best || row[v] > row[second]) ? v : second; }
        call->out[greedy][first + b] = (double)best;
        if (!call->condition) { continue; }
        bool rests = next && next[b] < 0;
        double doubt = 16.0 * KEPT_ERRORS * 0x1p-24 * (error[best] + error[second]);
        call->condition[greedy][first + b] = rests || row[best] - row[second] <= doubt ? INFINITY : 0.0;
        for (size_t c = 0; rests && c < C; c++) { call->condition[hidden][(first + b) * C + c] = INFINITY; }
        for (size_t v = 0; rests && v < V; v++) { call->condition[logits][(first + b) * V + v] = INFINITY; }
    }
}

static void gpt2_decode(const struct call *call) {
    const struct op_sizes *sizes = call->sizes;
    struct model m = model_make(call);
    size_t C = (size_t)sizes->C, B = (size_t)sizes->B;
    const float *lengths = given(call, "lengths"), *next = given(call, "next");
    struct field last = field_make(B * C), last_branch = field_make(B * C);
    embed(&m, given(call, "tokens"), false);
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

bool wiring_compute(const struct op *op, const struct op_sizes *sizes, const float *const tensor[],
                    enum wiring_mistake mistake, double *const out[], double *const condition[]) {
    static const struct {
        const char *op;
        void (*compute)(const struct call *);
    } parts[] = {
        {"attention_forward", attention}, {"decode_attention", decode_attention}, {"block_forward", block},
        {"gpt2_forward", gpt2_forward},   {"gpt2_decode", gpt2_decode},
    };
    int lengths = op_tensor_find(op, "lengths");
    struct call call = {op,  sizes,     tensor,
                        out, condition, wiring_of(sizes, lengths >= 0 ? tensor[lengths] : NULL, mistake)};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(parts[i].op, op->name) != 0) { continue; }
        parts[i].compute(&call);
        return true;
    }
    return false;
}
