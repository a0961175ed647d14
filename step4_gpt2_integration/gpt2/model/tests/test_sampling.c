/* Sampling on the device, in every form of decoding, against the same draws in float64 on the host; and these against
 * transformers' definitions. Like test_forms.c, also on the checked build. */
#define _GNU_SOURCE
#include "kernel_sets.h"
#include "tiny.h"

TestSuite(sampling, .timeout = 300);

/* ---- the same draws on the host ---- */

enum { MOST_V = 6001 };

struct weighted {
    double weight;
    int id;
};

/* Larger weights first, of equal ones the smaller id. */
static int by_weight(const void *a, const void *b) {
    const struct weighted *one = a, *other = b;
    if (one->weight != other->weight) { return one->weight > other->weight ? -1 : 1; }
    return one->id - other->id;
}

/* In [0, 1). */
static int draw_on_host(const struct gpt2_sampling *by, const float *given, const uint8_t *seen, int V, double random) {
    static struct weighted words[MOST_V];
    float logits[MOST_V], best = -INFINITY;
    int first = 0, used = V;
    for (int v = 0; v < V; v++) {
        const float penalty = (float)by->repetition_penalty;
        logits[v] = seen == NULL || !seen[v] ? given[v] : given[v] < 0.0f ? given[v] * penalty : given[v] / penalty;
        if (logits[v] > best) { best = logits[v], first = v; }
    }
    if (by->temperature == 0.0) { return first; }
    for (int v = 0; v < V; v++) {
        words[v].weight = (double)(float)exp(((double)logits[v] - (double)best) / by->temperature), words[v].id = v;
    }
    const bool limited = (by->top_k > 0 && by->top_k < V) || by->top_p < 1.0;
    if (limited) { qsort(words, (size_t)V, sizeof *words, by_weight); }
    if (by->top_k > 0 && by->top_k < V) { used = by->top_k; }
    if (by->top_p < 1.0) {
        double total = 0.0, kept = 0.0;
        int most = used;
        for (int i = 0; i < most; i++) { total += words[i].weight; }
        for (used = 0; used == 0 || (used < most && kept < by->top_p * total); used++) { kept += words[used].weight; }
    }
    double kept = 0.0;
    for (int i = 0; i < used; i++) {
        if (words[i].weight < by->min_p) { words[i].weight = 0.0; }
        kept += words[i].weight;
    }
    double left = random * kept;
    for (int i = 0; i < used; i++) {
        left -= words[i].weight;
        if (left < 0.0) { return words[i].id; }
    }
    return first;
}

enum { WORDS = 40 };

/* Of a logit, as transformers' processors in their order: mask or not, and the probability at the end. */
static void reference(const struct gpt2_sampling *by, const float *from, const int32_t *ids, size_t count,
                      double *share) {
    double scores[WORDS], probability[WORDS], total = 0.0, top = -INFINITY;
    bool masked[WORDS] = {false};
    for (int v = 0; v < WORDS; v++) {
        bool seen = false;
        for (size_t i = 0; i < count; i++) { seen = seen || ids[i] == v; }
        double score = (double)from[v], penalty = by->repetition_penalty;
        scores[v] = (!seen ? score : score < 0.0 ? score * penalty : score / penalty) / by->temperature;
    }
    for (int v = 0; v < WORDS && by->top_k > 0; v++) { /* TopKLogitsWarper */
        int above = 0;
        for (int w = 0; w < WORDS; w++) { above += scores[w] > scores[v]; }
        masked[v] = above >= by->top_k;
    }
    for (int v = 0; v < WORDS; v++) {
        probability[v] = masked[v] ? 0.0 : exp(scores[v]);
        total += probability[v];
    }
    bool cut[WORDS];
    for (int v = 0; v < WORDS; v++) { /* TopPLogitsWarper: the cumulative sum from the least likely up */
        double up_to = 0.0;
        for (int w = 0; w < WORDS; w++) { up_to += probability[w] <= probability[v] ? probability[w] / total : 0.0; }
        cut[v] = by->top_p < 1.0 && up_to <= 1.0 - by->top_p;
    }
    for (int v = 0; v < WORDS; v++) {
        if (cut[v]) { probability[v] = 0.0; }
        top = fmax(top, probability[v]);
    }
    total = 0.0;
    for (int v = 0; v < WORDS; v++) { /* MinPLogitsWarper */
        if (probability[v] < by->min_p * top) { probability[v] = 0.0; }
        total += probability[v];
    }
    for (int v = 0; v < WORDS; v++) { share[v] = probability[v] / total; }
}

Test(sampling, draws_on_the_host_are_those_of_transformers) {
    static const struct gpt2_sampling ways[] = {
        {1.0, 1.0, 0, 1.0, 0.1},  {1.3, 1.0, 0, 1.0, 0.0},  {0.7, 0.9, 0, 1.0, 0.0},   {1.2, 1.4, 12, 0.8, 0.0},
        {1.0, 0.8, 20, 1.0, 0.3}, {1.0, 2.0, 0, 0.95, 0.2}, {1.5, 0.7, 30, 0.9, 0.05}, {1.0, 1.0, 0, 1.0, 1.0},
    };
    static const int32_t ids[] = {3, 17, 3, 20, 39, 3, 8};
    enum { DRAWS = 10000 };
    float logits[WORDS];
    uint8_t seen[WORDS] = {0};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) { seen[ids[i]] = 1; }
    for (int v = 0; v < WORDS; v++) { logits[v] = 2.5f * sinf(3.7f * (float)v) + 0.001f * (float)v; }
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        double wanted[WORDS], share[WORDS] = {0.0};
        reference(&ways[way], logits, ids, sizeof ids / sizeof *ids, wanted);
        for (int i = 0; i < DRAWS; i++) {
            share[draw_on_host(&ways[way], logits, seen, WORDS, (i + 0.5) / DRAWS)] += 1.0 / DRAWS;
        }
        for (int v = 0; v < WORDS; v++) {
            cr_assert(fabs(share[v] - wanted[v]) < 2.0 / DRAWS, "way %zu, token %d: %g, not %g", way, v, share[v],
                      wanted[v]);
        }
    }
}

/* ---- on the device ---- */

/* A model whose logits are given: its last LayerNorm gives (1, 0, 0, ...), and the first column of its head has the logits. */
struct given {
    struct gpt2_config config;
    const float *logits; /* (V) */
};

static bool given_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                       void *out, struct gpt2_error *read_error) {
    const struct given *given = context;
    const struct gpt2_config *config = &given->config;
    const int64_t rows = gpt2_tensor_rows(config, tensor), columns = gpt2_tensor_columns(config, tensor);
    float *values = malloc((size_t)(rows * columns) * sizeof *values);
    (void)read_error;
    for (int64_t i = 0; i < rows * columns; i++) {
        values[i] = tensor == GPT2_LNFW   ? 0.0f
                    : tensor == GPT2_LNFB ? (float)(i == 0)
                    : tensor == GPT2_HEAD ? (i % columns == 0 ? given->logits[i / columns] : 0.0f)
                                          : tiny_value(config, tensor, layer, i);
    }
    struct gpt2_view view = {
        .bytes = values, .type = GPT2_F32, .layout = GPT2_OUT_IN, .rows = rows, .columns = columns};
    gpt2_view_read(&view, type, gpt2_tensor_is_linear(tensor) ? layout : GPT2_OUT_IN, out);
    free(values);
    return true;
}

enum { MOST_B = 3, CALLS = 4, LENGTH = 3, DRAWN = CALLS * (CALLS + 1) / 2, CONTEXT = LENGTH + DRAWN };

static struct gpt2_model *open_given(struct given *given, const float *logits, int V, enum gpt2_form form, int B) {
    *given = (struct given){
        .config = RELATIVE(CONTEXT, V, (V + 127) / 128 * 128, 1, 2, 16, GPT2_GELU_TANH, true, false), .logits = logits};
    struct gpt2_source source = {.config = given->config, .read = given_read, .context = given};
    struct gpt2_model_options options = {.type = GPT2_F32,
                                         .graph = true,
                                         .attention = GPT2_TAUGHT,
                                         .decode = form,
                                         .batch = B,
                                         .prompt = LENGTH,
                                         .kernels = kernels_of(sets[SETS - 1])};
    struct gpt2_model *model = gpt2_model_open(&source, &options, &error);
    cr_assert(model, "%s", error.text);
    cr_assert_eq(gpt2_model_decode_form(model, B), form);
    return model;
}

static void close_model(struct gpt2_model *model) {
    gpt2_model_close(model);
    close_kernels();
}

/* Prompts of other tokens, for each sequence. */
static void begin(struct gpt2_model *model, int V, int B, uint8_t *seen) {
    int32_t tokens[MOST_B * LENGTH];
    const int32_t lengths[MOST_B] = {LENGTH, LENGTH, LENGTH};
    memset(seen, 0, (size_t)B * (size_t)V);
    for (int i = 0; i < B * LENGTH; i++) {
        tokens[i] = 7 * i % V;
        seen[(i / LENGTH) * V + tokens[i]] = 1;
    }
    cr_assert(gpt2_prefill(model, tokens, lengths, B, LENGTH, &error), "%s", error.text);
}

/* Calls of 1, 2, 3, ... steps; the draws of each are the next ones. */
static void check_draws(struct gpt2_model *model, const float *logits, int V, const struct gpt2_sampling *by, int B,
                        uint64_t seed) {
    static uint8_t seen[MOST_B * MOST_V];
    static float after[MOST_B * MOST_V];
    uint64_t random[MOST_B], on_host[MOST_B];
    int32_t got[MOST_B * CALLS];
    const int choices = V - V / 7;
    begin(model, V, B, seen);
    for (int b = 0; b < B; b++) { on_host[b] = random[b] = gpt2_random_begin(seed, (uint64_t)b); }
    for (int steps = 1; steps <= CALLS; steps++) {
        struct gpt2_draws draws = {.by = *by, .random = random, .seen = by->repetition_penalty != 1.0 ? seen : NULL};
        cr_assert(gpt2_decode_choosing(model, steps, choices, -1, &draws, NULL, got, &error), "%s", error.text);
        for (int i = 0; i < B * steps; i++) {
            const int b = i / steps;
            const double draw = by->temperature > 0.0 ? gpt2_uniform(gpt2_random_next(&on_host[b])) : 0.0;
            const int wanted = draw_on_host(by, logits, draws.seen != NULL ? seen + b * V : NULL, choices, draw);
            cr_assert_eq(
                got[i], wanted,
                "V %d, penalty %g, temperature %g, top-k %d, top-p %g, min-p %g, sequence %d of %d: %d, not %d", V,
                by->repetition_penalty, by->temperature, by->top_k, by->top_p, by->min_p, b, B, got[i], wanted);
            seen[b * V + wanted] = 1;
        }
    }
    cr_assert_arr_eq(random, on_host, (size_t)B * sizeof *random);
    cr_assert(gpt2_logits(model, after, &error), "%s", error.text);
    for (int i = 0; i < B * V; i++) { cr_assert_eq(after[i], logits[i % V]); }
}

static const struct gpt2_sampling ways[] = {
    {1.0, 1.0, 0, 1.0, 0.0},   {1.0, 0.7, 0, 1.0, 0.02}, {1.0, 1.0, 1, 1.0, 0.0},    {1.0, 1.0, 5, 1.0, 0.0},
    {1.0, 2.0, 40, 1.0, 0.3},  {1.0, 1.5, 0, 0.9, 0.0},  {1.0, 1.0, 0, 0.01, 0.0},   {1.0, 1.0, 1500, 0.95, 0.0},
    {1.3, 1.0, 0, 0.5, 0.0},   {1.2, 0.0, 0, 1.0, 0.0},  {0.8, 1.0, 40, 0.9, 0.05},  {1.0, 1.0, 100000, 1.0, 0.0},
    {1.0, 0.01, 3, 0.99, 0.0}, {1.0, 5.0, 0, 0.9999, 0}, {1.1, 0.8, 2000, 1.0, 1.0},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Kinds of logits: few words; all different; very different; many equal ones; all equal. */
static float logit(int kind, int v) {
    const float u = uniform((uint64_t)kind << 32 | (uint64_t)v);
    switch (kind) {
        case 2: return 12.0f * u * u * u;
        case 3: return 0.5f * roundf(4.0f * u);
        case 4: return -1.5f;
    }
    return 3.0f * u + 1e-4f * (float)v;
}

static void check_form(enum gpt2_form form, int B) {
    static const int sizes[] = {6, MOST_V, 3000, MOST_V, 2500};
    static float logits[MOST_V];
    for (int kind = 0; kind < 5; kind++) {
        const int V = sizes[kind];
#ifdef CHECKED /* each form with some kinds, and each kind with some ways: all take minutes there */
        if (kind % 2 != (int)form % 2) { continue; }
#endif
        for (int v = 0; v < V; v++) { logits[v] = logit(kind, v); }
        struct given given;
        struct gpt2_model *model = open_given(&given, logits, V, form, B);
        for (int way = 0; way < WAYS; way++) {
#ifdef CHECKED
            if (way % 5 != kind) { continue; }
#endif
            check_draws(model, logits, V, &ways[way], B, (uint64_t)(way + 1));
        }
        close_model(model);
    }
}

Test(sampling, taught_steps_draw_as_the_host) {
    check_form(GPT2_TAUGHT, MOST_B);
}

Test(sampling, fused_steps_draw_as_the_host) {
    check_form(GPT2_FUSED, MOST_B);
}

Test(sampling, persistent_steps_draw_as_the_host) {
    check_form(GPT2_PERSISTENT, 1);
}

static const enum gpt2_form forms[] = {GPT2_TAUGHT, GPT2_FUSED, GPT2_PERSISTENT};

/* The sequence stops, with the draws of one that does not. */
Test(sampling, a_drawn_stop_ends_the_sequence) {
    enum { V = 6 };
    float logits[V];
    uint8_t seen[V];
    for (int v = 0; v < V; v++) { logits[v] = logit(0, v); }
    for (int form = 0; form < 3; form++) {
        struct given given;
        struct gpt2_model *model = open_given(&given, logits, V, forms[form], 1);
        int32_t all[DRAWN], stopped[DRAWN];
        uint64_t random = gpt2_random_begin(3, 0), again = random;
        struct gpt2_draws draws = {.by = ways[0], .random = &random}, same = {.by = ways[0], .random = &again};
        begin(model, V, 1, seen);
        cr_assert(gpt2_decode_choosing(model, DRAWN, V, -1, &draws, NULL, all, &error), "%s", error.text);
        begin(model, V, 1, seen);
        cr_assert(gpt2_decode_choosing(model, DRAWN, V, all[4], &same, NULL, stopped, &error), "%s", error.text);
        int end = 0;
        while (all[end] != all[4]) { end++; }
        for (int i = 0; i < DRAWN; i++) { cr_assert_eq(stopped[i], i <= end ? all[i] : -1); }
        close_model(model);
    }
}

/* Without draws the choice is the largest logit, of equal ones that with the smallest id. */
Test(sampling, the_likeliest_is_the_first_of_the_largest) {
    enum { V = 48 };
    const struct { float largest, others; } cases[] = {{-1.0f, -8.0f}, {0.0f, -2.0f}, {3.0f, -3.0f}, {0.25f, 0.125f}};
    uint8_t seen[V];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float logits[V];
        for (int v = 0; v < V; v++) { logits[v] = v == 21 || v == 22 || v == 45 ? cases[i].largest : cases[i].others; }
        for (int form = 0; form < 3; form++) {
            struct given given;
            struct gpt2_model *model = open_given(&given, logits, V, forms[form], 1);
            int32_t got[2];
            begin(model, V, 1, seen);
            cr_assert(gpt2_decode_choosing(model, 2, V, -1, NULL, NULL, got, &error), "%s", error.text);
            cr_assert(got[0] == 21 && got[1] == 21, "largest %g, form %d: %d, %d", (double)cases[i].largest, form,
                      got[0], got[1]);
            close_model(model);
        }
    }
}

Test(sampling, nan_is_no_choice) {
    enum { V = 6 };
    const float logits[V] = {0.0f, 1.0f, 2.0f, NAN, 1.0f, 0.0f};
    uint8_t seen[V];
    for (int form = 0; form < 3; form++) {
        struct given given;
        struct gpt2_model *model = open_given(&given, logits, V, forms[form], 1);
        int32_t got[2];
        uint64_t random = 1;
        struct gpt2_draws draws = {.by = ways[3], .random = &random};
        begin(model, V, 1, seen);
        cr_assert(!gpt2_decode_choosing(model, 2, V, -1, &draws, NULL, got, &error));
        cr_assert(strstr(error.text, "NaN"), "%s", error.text);
        close_model(model);
    }
}

Test(sampling, seeds_and_sequences_have_draws_of_their_own) {
    const uint64_t of[3][2] = {{1, 0}, {1, 1}, {2, 0}};
    double first[3][64], sum = 0.0;
    for (int run = 0; run < 3; run++) {
        uint64_t state = gpt2_random_begin(of[run][0], of[run][1]);
        for (int i = 0; i < 64; i++) {
            first[run][i] = gpt2_uniform(gpt2_random_next(&state));
            cr_assert(first[run][i] >= 0.0 && first[run][i] < 1.0);
            sum += first[run][i] / (3 * 64);
        }
    }
    cr_assert(fabs(sum - 0.5) < 0.1);
    cr_assert_neq(memcmp(first[0], first[1], sizeof first[0]), 0);
    cr_assert_neq(memcmp(first[0], first[2], sizeof first[0]), 0);
}

Test(sampling, impossible_limits_are_refused) {
    static const struct gpt2_sampling wrong[] = {
        {0.0, 1.0, 0, 1.0, 0.0}, {1.0, -1.0, 0, 1.0, 0.0}, {1.0, 1.0, -1, 1.0, 0.0}, {1.0, 1.0, 0, 0.0, 0.0},
        {1.0, 1.0, 0, 1.0, 1.1}, {1.0, NAN, 0, 1.0, 0.0},  {1.1, 1.0, 0, 1.0, 0.0}, /* without `seen` */
    };
    enum { V = 6 };
    float logits[V] = {0.0f};
    uint8_t seen[V];
    int32_t got[1];
    struct given given;
    struct gpt2_model *model = open_given(&given, logits, V, GPT2_FUSED, 1);
    begin(model, V, 1, seen);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t random = 1;
        struct gpt2_draws draws = {.by = wrong[i], .random = &random};
        cr_assert(!gpt2_decode_choosing(model, 1, V, -1, &draws, NULL, got, &error), "case %zu", i);
        cr_assert(strstr(error.text, "sampling: "), "%s", error.text);
    }
    close_model(model);
}
