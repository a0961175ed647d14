/* The fused forms and rows against the float64 reference and the taught ones: every hidden state of prompts, prompts of
 * different length, decoding, and greedy decoding. Like test_model.c, also on the checked build. */
#define _GNU_SOURCE
#include "kernel_sets.h"
#include "tiny.h"

TestSuite(forms, .timeout = 300);

/* Heads of 64 channels over more than two tiles of tokens; of 8, 5, 67 and 128; of 16 over several parts of the cache; of 128
 * over two tiles. */
#define CONFIG(T, V, L, H, C) TINY(T, V, V + 3, L, H, C)
static const struct gpt2_config configs[] = {
    CONFIG(150, 50, 1, 2, 128), CONFIG(16, 50, 2, 2, 16),  CONFIG(70, 37, 2, 3, 15),   CONFIG(33, 131, 1, 1, 67),
    CONFIG(40, 64, 2, 2, 256),  CONFIG(200, 41, 1, 2, 32), CONFIG(193, 40, 1, 2, 256),
};
enum { CONFIGS = sizeof configs / sizeof *configs, MOST_T = 200, MOST_V = 6001 };

/* Rows of W that several warps share, and more columns than resident warps. */
static const struct gpt2_config wide = CONFIG(6, 6001, 1, 17, 544);

static struct gpt2_model *open_forms(const struct gpt2_config *config, enum gpt2_type type, int batch,
                                     enum gpt2_form attention, enum gpt2_form decode, bool graph) {
    struct gpt2_source source = tiny_source(config);
    struct gpt2_model_options options = {.type = type,
                                         .graph = graph,
                                         .attention = attention,
                                         .decode = decode,
                                         .batch = batch,
                                         .prompt = config->max_tokens,
                                         .kernels = kernels_of(sets[SETS - 1])};
    struct gpt2_model *model = gpt2_model_open(&source, &options, &error);
    cr_assert(model, "%s", error.text);
    return model;
}

static struct gpt2_model *open_model(const struct gpt2_config *config, enum gpt2_type type, int batch,
                                     enum gpt2_form form, bool graph) {
    return open_forms(config, type, batch, form, form, graph);
}

static void close_model(struct gpt2_model *model) {
    gpt2_model_close(model);
    close_kernels();
}

/* ---- prompts ---- */

static void check_states(const struct gpt2_config *config, enum gpt2_type type, enum gpt2_form attention,
                         double tolerance) {
    int T = config->max_tokens;
    int32_t tokens[MOST_T], length = T;
    struct states wanted = {.count = 0}, got = {.count = 0};
    struct gpt2_source source = tiny_source(config);
    tiny_tokens(tokens, T, config->vocabulary, 5);
    cr_assert(gpt2_reference(&source, tokens, T, states_of_reference, &wanted, &error), "%s", error.text);
    struct gpt2_model *model = open_forms(config, type, 1, attention, GPT2_TAUGHT, false);
    float *logits = malloc((size_t)T * (size_t)config->vocabulary * sizeof *logits);
    gpt2_observe(model, states_of_model, &got);
    cr_assert(gpt2_all_logits(model, tokens, &length, 1, T, logits, &error), "%s", error.text);
    cr_assert_geq(got.count, wanted.count);
    for (int i = 0; i + 1 < wanted.count; i++) { /* the logits, the last stage, are observed a few rows at a time */
        struct state *a = &got.at[i], *b = &wanted.at[i];
        cr_assert_str_eq(a->stage, b->stage);
        for (int64_t row = 0; row < a->rows; row++) {
            double off = row_error(a->values + row * a->columns, b->values + row * b->columns, a->columns);
            cr_assert(off <= tolerance, "C %d: %s of layer %d is off by %g in row %d", config->channels, a->stage,
                      a->layer, off, (int)row);
        }
    }
    free(logits);
    states_free(&wanted);
    states_free(&got);
    close_model(model);
}

static void check_states_of_types(enum gpt2_form attention) {
    for (int i = 0; i < CONFIGS; i++) {
        check_states(&configs[i], GPT2_F32, attention, 2e-5);
        check_states(&configs[i], GPT2_F16, attention, 0.03);
        check_states(&configs[i], GPT2_BF16, attention, 0.2);
    }
}

Test(forms, fused_attention_has_the_references_states) {
    check_states_of_types(GPT2_FUSED);
}

Test(forms, rows_have_the_references_states) {
    check_states_of_types(GPT2_ROWS);
    check_states(&wide, GPT2_F32, GPT2_ROWS, 2e-5);
}

/* Prompts of different length, padded, in all forms: the logits of the last position and of a step after it. */
static void check_lengths(const struct gpt2_config *config, enum gpt2_type type, double tolerance) {
    static const enum gpt2_form forms[] = {GPT2_TAUGHT, GPT2_FUSED, GPT2_ROWS};
    enum { B = 3, FORMS = 3 };
    int T = config->max_tokens - 1, V = config->vocabulary;
    int32_t tokens[B * MOST_T], lengths[B] = {T, 1, T / 2 + 1};
    const int32_t next[B] = {3, 4, 5};
    static float logits[FORMS][2][B * MOST_V]; /* after the prompts, after a step */
    tiny_tokens(tokens, B * T, V, 8);
    for (int form = 0; form < FORMS; form++) {
        struct gpt2_model *model = open_forms(config, type, B, forms[form], GPT2_TAUGHT, false);
        cr_assert(gpt2_prefill(model, tokens, lengths, B, T, &error), "%s", error.text);
        cr_assert(gpt2_logits(model, logits[form][0], &error), "%s", error.text);
        cr_assert(gpt2_decode(model, next, &error), "%s", error.text);
        cr_assert(gpt2_logits(model, logits[form][1], &error), "%s", error.text);
        close_model(model);
    }
    for (int i = 0; i < 2 * (FORMS - 1) * B; i++) {
        const int b = i % B, form = 1 + i / B % (FORMS - 1), step = i / B / (FORMS - 1);
        double one[MOST_V], other[MOST_V];
        for (int v = 0; v < V; v++) {
            one[v] = (double)logits[0][step][b * V + v];
            other[v] = (double)logits[form][step][b * V + v];
        }
        double off = row_error(other, one, V);
        cr_assert(off <= tolerance, "form %d, C %d, length %d, step %d: off by %g", form, config->channels, lengths[b],
                  step, off);
    }
}

Test(forms, padded_prompts_are_the_same_in_all) {
    for (int i = 0; i < CONFIGS; i++) {
        check_lengths(&configs[i], GPT2_F32, 2e-5);
        check_lengths(&configs[i], GPT2_F16, 0.03);
        check_lengths(&configs[i], GPT2_BF16, 0.2);
    }
}

/* Without an observer the products of 16-bit prompts add to the residual stream (block_fused.cuh), which check_states does not
 * see: the logits of all positions, and of the last one of prompts of different length, in two groups. */
static void check_all_logits(const struct gpt2_config *config, enum gpt2_type type, double tolerance) {
    enum { B = 3 };
    const int T = config->max_tokens, V = config->vocabulary;
    int32_t tokens[B * MOST_T];
    const int32_t lengths[B] = {T, 1, T / 2 + 1}, whole[B] = {T, T, T};
    float *logits = malloc((size_t)(B * T * V) * sizeof *logits), *last = malloc((size_t)(B * V) * sizeof *last);
    tiny_tokens(tokens, B * T, V, 11);
    struct gpt2_source source = tiny_source(config);
    struct gpt2_model_options options = {.type = type,
                                         .attention = GPT2_FUSED,
                                         .batch = B,
                                         .prompt = T,
                                         .together = 2,
                                         .kernels = kernels_of(sets[SETS - 1])};
    struct gpt2_model *model = gpt2_model_open(&source, &options, &error);
    cr_assert(model, "%s", error.text);
    cr_assert(gpt2_all_logits(model, tokens, whole, B, T, logits, &error), "%s", error.text);
    cr_assert(gpt2_prefill(model, tokens, lengths, B, T, &error), "%s", error.text);
    cr_assert(gpt2_logits(model, last, &error), "%s", error.text);
    for (int b = 0; b < B; b++) {
        struct states wanted = {.count = 0};
        cr_assert(gpt2_reference(&source, tokens + b * T, T, states_of_reference, &wanted, &error), "%s", error.text);
        for (int t = 0; t <= T; t++) { /* T: the last position of the prompt */
            const float *row = t < T ? logits + (b * T + t) * V : last + b * V;
            double got[MOST_V];
            for (int v = 0; v < V; v++) { got[v] = (double)row[v]; }
            const int position = t < T ? t : lengths[b] - 1;
            double off = row_error(got, wanted.at[wanted.count - 1].values + (int64_t)position * V, V);
            cr_assert(off <= tolerance, "C %d, prompt %d, row %d: off by %g", config->channels, b, t, off);
        }
        states_free(&wanted);
    }
    free(logits), free(last);
    close_model(model);
}

Test(forms, fused_prompts_have_the_references_logits) {
    for (int i = 0; i < CONFIGS; i++) {
        check_all_logits(&configs[i], GPT2_F32, 2e-5);
        check_all_logits(&configs[i], GPT2_F16, 0.03);
        check_all_logits(&configs[i], GPT2_BF16, 0.2);
    }
}

/* Prompts that pass through the blocks together, by ones and by twos: the same logits, losses and cache. */
static void check_groups(const struct gpt2_config *config, enum gpt2_form form) {
    enum { B = 3, SIZES = 3 };
    static const int sizes[SIZES] = {B, 1, 2};
    const int T = config->max_tokens - 1, V = config->vocabulary;
    int32_t tokens[B * MOST_T], targets[B * MOST_T], lengths[B] = {T, 1, T / 2 + 1};
    const int32_t next[B] = {3, 4, 5};
    float *rows[SIZES];
    tiny_tokens(tokens, B * T, V, 8);
    tiny_tokens(targets, B * T, V, 9);
    const int64_t all = (int64_t)B * T * V, count = all + 2 * B * V + B * T;
    size_t bytes[SIZES];
    for (int i = 0; i < SIZES; i++) {
        struct gpt2_source source = tiny_source(config);
        struct gpt2_model_options options = {.type = GPT2_F32,
                                             .attention = form,
                                             .batch = B,
                                             .prompt = config->max_tokens,
                                             .together = sizes[i],
                                             .kernels = kernels_of(sets[SETS - 1])};
        struct gpt2_model *model = gpt2_model_open(&source, &options, &error);
        cr_assert(model, "%s", error.text);
        bytes[i] = gpt2_model_bytes(model);
        float *at = rows[i] = calloc((size_t)count, sizeof *at);
        const int32_t whole[B] = {T, T, T};
        cr_assert(gpt2_all_logits(model, tokens, whole, B, T, at, &error), "%s", error.text);
        cr_assert(gpt2_losses(model, tokens, targets, B, T, at + all + 2 * B * V, &error), "%s", error.text);
        cr_assert(gpt2_prefill(model, tokens, lengths, B, T, &error), "%s", error.text);
        cr_assert(gpt2_logits(model, at + all, &error), "%s", error.text);
        cr_assert(gpt2_decode(model, next, &error), "%s", error.text);
        cr_assert(gpt2_logits(model, at + all + B * V, &error), "%s", error.text);
        close_model(model);
    }
    cr_assert(bytes[1] < bytes[2] && bytes[2] < bytes[0]);
    for (int i = 1; i < SIZES; i++) {
        for (int64_t j = 0; j < count; j++) {
            const double off = fabs((double)rows[i][j] - (double)rows[0][j]);
            cr_assert(off <= 1e-4, "form %d, groups of %d: element %d is off by %g", (int)form, sizes[i], (int)j, off);
        }
    }
    for (int i = 0; i < SIZES; i++) { free(rows[i]); }
}

Test(forms, prompts_in_groups_are_the_same) {
    static const enum gpt2_form forms[] = {GPT2_TAUGHT, GPT2_FUSED, GPT2_ROWS};
    for (int i = 0; i < 3; i++) {
        check_groups(&configs[0], forms[i]);
        check_groups(&configs[2], forms[i]);
    }
}

/* On a GPU the products are large enough for trials. */
Test(forms, timed_products_have_the_same_results) {
    enum { B = 8, T = 1024, SHORT_T = 8, V = 50 };
    static const struct gpt2_config config = CONFIG(T, V, 2, 8, 512);
    static int32_t tokens[B * T];
    static float logits[2][B * V];
    struct gpt2_device_info device;
    cr_assert(gpt2_device_ask(&device, &error), "%s", error.text);
    const int length = device.is_cpu ? SHORT_T : T;
    int32_t lengths[B];
    for (int b = 0; b < B; b++) { lengths[b] = length; }
    tiny_tokens(tokens, B * length, V, 10);
    for (int timed = 0; timed < 2; timed++) {
        struct gpt2_source source = tiny_source(&config);
        struct gpt2_model_options options = {.type = GPT2_F16,
                                             .timed = timed,
                                             .attention = GPT2_FUSED,
                                             .batch = B,
                                             .prompt = length,
                                             .kernels = kernels_of(sets[SETS - 1])};
        struct gpt2_model *model = gpt2_model_open(&source, &options, &error);
        cr_assert(model, "%s", error.text);
        for (int turn = 0; turn < 2; turn++) { /* with the trials, without */
            cr_assert(gpt2_prefill(model, tokens, lengths, B, length, &error), "%s", error.text);
        }
        cr_assert(gpt2_logits(model, logits[timed], &error), "%s", error.text);
        close_model(model);
    }
    for (int b = 0; b < B; b++) {
        double got[V], wanted[V];
        for (int v = 0; v < V; v++) { got[v] = (double)logits[1][b * V + v], wanted[v] = (double)logits[0][b * V + v]; }
        const double off = row_error(got, wanted, V);
        cr_assert(off <= 0.03, "prompt %d: off by %g", b, off);
    }
}

Test(forms, fused_attention_needs_no_room_for_scores) {
    const struct gpt2_config *config = &configs[0];
    struct gpt2_model *taught = open_forms(config, GPT2_BF16, 1, GPT2_TAUGHT, GPT2_TAUGHT, false);
    struct gpt2_model *fused = open_forms(config, GPT2_BF16, 1, GPT2_FUSED, GPT2_TAUGHT, false);
    int T = config->max_tokens;
    size_t scores = (size_t)(config->heads * T * T) * 2;
    cr_assert(gpt2_model_bytes(taught) > gpt2_model_bytes(fused) + scores * 9 / 10, "%zu and %zu",
              gpt2_model_bytes(taught), gpt2_model_bytes(fused));
    close_model(taught);
    close_model(fused);
}

/* By the memory that each form needs: of 128 queries' scores here, of all or of none in the other forms. */
Test(forms, auto_is_rows_with_the_reference_set_on_the_cpu_backend) {
    const struct gpt2_config *config = &configs[5];
    static const enum gpt2_form forms[] = {GPT2_AUTO, GPT2_ROWS, GPT2_FUSED, GPT2_TAUGHT};
    struct gpt2_device_info device;
    size_t bytes[4];
    cr_assert(gpt2_device_ask(&device, &error), "%s", error.text);
    for (int i = 0; i < 4; i++) {
        struct gpt2_model *model = open_forms(config, GPT2_F32, 1, forms[i], GPT2_TAUGHT, false);
        bytes[i] = gpt2_model_bytes(model);
        close_model(model);
    }
    cr_assert(bytes[1] != bytes[2] && bytes[1] != bytes[3] && bytes[2] != bytes[3]);
    if (device.is_cpu) { cr_assert_eq(bytes[0], bytes[strcmp(sets[SETS - 1], "reference") == 0 ? 1 : 3]); }
}

/* ---- decoding: each step's logits are those of the whole sequence ---- */

enum { MOST_B = 9 };

static void check_decoding(const struct gpt2_config *config, enum gpt2_form form, enum gpt2_type type, int B,
                           bool graph, int steps, double tolerance) {
    int S = config->max_tokens, V = config->vocabulary, longest = S - steps, now[MOST_B];
    int32_t sequences[MOST_B][MOST_T], prompts[MOST_B * MOST_T], lengths[MOST_B], next[MOST_B];
    static float logits[MOST_B * MOST_V];
    for (int b = 0; b < B; b++) {
        tiny_tokens(sequences[b], S, V, 10 + (uint64_t)b);
        now[b] = lengths[b] = b == 1 ? 1 : longest - longest * b / 16;
        for (int t = 0; t < longest; t++) { prompts[b * longest + t] = sequences[b][t]; }
    }
    struct gpt2_model *model = open_model(config, type, B, form, graph);
    cr_assert(gpt2_prefill(model, prompts, lengths, B, longest, &error), "%s", error.text);
    for (int step = 0; step < steps; step++) {
        for (int b = 0; b < B; b++) { next[b] = b == 2 && step % 3 == 1 ? -1 : sequences[b][now[b]++]; }
        cr_assert(gpt2_decode(model, next, &error), "%s", error.text);
        if (step % 4 != 3 && step + 1 != steps) { continue; }
        cr_assert(gpt2_logits(model, logits, &error), "%s", error.text);
        for (int b = 0; b < B; b++) {
            if (next[b] < 0) { continue; }
            struct states states = {.count = 0};
            struct gpt2_source source = tiny_source(config);
            cr_assert(gpt2_reference(&source, sequences[b], now[b], states_of_reference, &states, &error));
            double got[MOST_V];
            for (int v = 0; v < V; v++) { got[v] = (double)logits[b * V + v]; }
            double off = row_error(got, states.at[states.count - 1].values + (int64_t)(now[b] - 1) * V, V);
            cr_assert(off <= tolerance, "C %d, sequence %d of %d, after %d tokens: off by %g", config->channels, b, B,
                      now[b], off);
            states_free(&states);
        }
    }
    close_model(model);
}

static void check_decoding_of_sizes(enum gpt2_form form) {
    static const int batches[] = {1, 2, 3, 8, 9};
    for (int i = 0; i < CONFIGS; i++) {
        for (int k = 0; k < 5; k++) {
            if (i > 0 && k != i % 5) { continue; } /* all batches for the first size, one for each other */
            check_decoding(&configs[i], form, GPT2_F32, batches[k], k % 2, 8, 2e-5);
        }
        check_decoding(&configs[i], form, GPT2_F16, 3, false, 4, 0.03);
        check_decoding(&configs[i], form, GPT2_BF16, 3, true, 4, 0.2);
    }
}

Test(forms, fused_decoding_gives_what_whole_sequences_give) {
    check_decoding_of_sizes(GPT2_FUSED);
}

Test(forms, decoding_by_rows_gives_what_whole_sequences_give) {
    check_decoding_of_sizes(GPT2_ROWS);
    check_decoding(&wide, GPT2_ROWS, GPT2_F32, 2, true, 1, 2e-5);
}

Test(forms, fused_decoding_of_wide_rows) {
    check_decoding(&wide, GPT2_FUSED, GPT2_F32, 1, false, 1, 2e-5);
#ifndef CHECKED
    check_decoding(&wide, GPT2_FUSED, GPT2_F32, 2, false, 4, 2e-5);
    check_decoding(&wide, GPT2_FUSED, GPT2_BF16, 1, true, 4, 0.2);
#endif
}

/* ---- greedy ---- */

/* The same tokens, chosen on the host. */
static void choose(struct gpt2_model *model, const struct gpt2_config *config, int choices, int B, int32_t *next) {
    static float logits[MOST_B * MOST_V];
    cr_assert(gpt2_logits(model, logits, &error), "%s", error.text);
    for (int b = 0; b < B; b++) {
        const float *row = logits + b * config->vocabulary;
        int best = 0;
        for (int v = 1; v < choices; v++) { best = row[v] > row[best] ? v : best; }
        next[b] = best;
    }
}

static void check_greedy(const struct gpt2_config *config, enum gpt2_form form, int B, bool graph) {
    enum { MOST = 3, STEPS = 9 };
    int T = 7, choices = config->vocabulary - 5;
    int32_t tokens[MOST * 7], lengths[MOST] = {7, 2, 5}, next[MOST], wanted[MOST][STEPS], got[MOST * STEPS];
    tiny_tokens(tokens, B * T, config->vocabulary, 21);
    struct gpt2_model *model = open_model(config, GPT2_F32, B, form, graph);
    cr_assert(gpt2_prefill(model, tokens, lengths, B, T, &error), "%s", error.text);
    for (int i = 0; i < STEPS; i++) {
        choose(model, config, choices, B, next);
        for (int b = 0; b < B; b++) { wanted[b][i] = next[b]; }
        cr_assert(gpt2_decode(model, next, &error), "%s", error.text);
    }
    /* Sequence 0 stops at the first occurrence of its fourth token; the others continue. */
    int stop = wanted[0][3], stops[MOST];
    const bool rests[MOST] = {false, false, true};
    for (int b = 0; b < B; b++) {
        stops[b] = 0;
        while (stops[b] < STEPS && wanted[b][stops[b]] != stop) { stops[b]++; }
    }
    cr_assert(gpt2_prefill(model, tokens, lengths, B, T, &error), "%s", error.text);
    int32_t first[MOST * 2], rest[MOST * (STEPS - 2)];
    cr_assert(gpt2_decode_choosing(model, 2, choices, -1, NULL, NULL, first, &error), "%s", error.text);
    cr_assert(gpt2_decode_choosing(model, STEPS - 2, choices, -1, NULL, NULL, rest, &error), "%s", error.text);
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < STEPS; i++) {
            int token = i < 2 ? first[b * 2 + i] : rest[b * (STEPS - 2) + i - 2];
            cr_assert_eq(token, wanted[b][i], "sequence %d, step %d: %d, not %d", b, i, token, wanted[b][i]);
        }
    }
    cr_assert(gpt2_prefill(model, tokens, lengths, B, T, &error), "%s", error.text);
    cr_assert(gpt2_decode_choosing(model, STEPS, choices, stop, NULL, rests, got, &error), "%s", error.text);
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < STEPS; i++) {
            int token = rests[b] || i > stops[b] ? -1 : wanted[b][i];
            cr_assert_eq(got[b * STEPS + i], token, "sequence %d, step %d: %d, not %d", b, i, got[b * STEPS + i],
                         token);
        }
    }
    close_model(model);
}

Test(forms, greedy_on_the_device_is_greedy_on_the_host) {
    for (int i = 0; i < CONFIGS; i++) {
        check_greedy(&configs[i], GPT2_TAUGHT, 3, i % 2);
        check_greedy(&configs[i], GPT2_FUSED, 3, i % 2);
        check_greedy(&configs[i], GPT2_PERSISTENT, 1, i % 2);
    }
    check_greedy(&configs[0], GPT2_PERSISTENT, 3, true); /* fused */
}

static void check_full(enum gpt2_form form) {
    const struct gpt2_config *config = &configs[1];
    int32_t tokens[16], length = 14, got[5];
    tiny_tokens(tokens, 16, config->vocabulary, 2);
    struct gpt2_model *model = open_model(config, GPT2_F32, 1, form, false);
    cr_assert(!gpt2_decode_choosing(model, 1, 50, -1, NULL, NULL, got, &error));
    cr_assert(strstr(error.text, "no sequence"), "%s", error.text);
    cr_assert(gpt2_prefill(model, tokens, &length, 1, 14, &error), "%s", error.text);
    cr_assert(!gpt2_decode_choosing(model, 17, 50, -1, NULL, NULL, got, &error));
    cr_assert(strstr(error.text, "1 to 16"), "%s", error.text);
    cr_assert(!gpt2_decode_choosing(model, 1, 51, -1, NULL, NULL, got, &error));
    cr_assert(gpt2_decode_choosing(model, 5, 50, -1, NULL, NULL, got, &error), "%s", error.text);
    cr_assert(got[0] >= 0 && got[1] >= 0 && got[2] == -1 && got[3] == -1 && got[4] == -1);
    cr_assert(gpt2_decode_choosing(model, 2, 50, -1, NULL, NULL, got, &error), "%s", error.text);
    cr_assert(got[0] == -1 && got[1] == -1);
    int32_t next = 1;
    cr_assert(!gpt2_decode(model, &next, &error));
    cr_assert(strstr(error.text, "is full"), "%s", error.text);
    close_model(model);
}

Test(forms, a_full_sequence_rests) {
    check_full(GPT2_FUSED);
    check_full(GPT2_PERSISTENT);
}

/* ---- decoding in one kernel ---- */

/* Heads of 64, 8, 16, 128 and 32 channels; clusters without a head, and with several; each width of a warp; a second round of
 * keys in tiles, with 832 channels. */
static const struct gpt2_config persistent_configs[] = {
    CONFIG(150, 50, 1, 2, 128),
    CONFIG(16, 50, 2, 2, 16),
    CONFIG(400, 41, 2, 1, 16),
    CONFIG(40, 64, 3, 2, 256),
    CONFIG(24, 1501, 1, 17, 544),
    CONFIG(150, 50, 1, 13, 832),
    CONFIG(14, 50, 1, 10, 1280),
    CONFIG(14, 50, 1, 21, 1344),
    RELATIVE(16, 50, 128, 2, 2, 16, GPT2_GELU_ERF, true, true),
};
enum { PERSISTENT_CONFIGS = sizeof persistent_configs / sizeof *persistent_configs, MOST_PERSISTENT_T = 400 };

/* Calls of 1, 2, 3, ... steps. After each: the logits of the reference for all tokens so far, and their likeliest token next. */
static void check_persistent(const struct gpt2_config *config, enum gpt2_type type, double tolerance) {
    enum { CALLS = 3 };
    const int V = config->vocabulary, S = config->max_tokens;
    int32_t sequence[MOST_PERSISTENT_T], length = S - CALLS * (CALLS + 1) / 2, choice_of_host = 0;
    static float logits[MOST_V];
    tiny_tokens(sequence, length, V, 31);
    struct gpt2_model *model = open_forms(config, type, 1, GPT2_TAUGHT, GPT2_PERSISTENT, true);
    const bool too_large = type == GPT2_F32 && config->channels > 1024; /* for a GPU's shared memory */
    if (too_large && gpt2_model_decode_form(model, 1) == GPT2_FUSED) {
        close_model(model);
        return;
    }
    cr_assert_eq(gpt2_model_decode_form(model, 1), GPT2_PERSISTENT);
    cr_assert_eq(gpt2_model_decode_form(model, 2), GPT2_FUSED);
    cr_assert(gpt2_prefill(model, sequence, &length, 1, length, &error), "%s", error.text);
    for (int steps = 1; steps <= CALLS; steps++) {
        choose(model, config, V, 1, &choice_of_host);
        cr_assert(gpt2_decode_choosing(model, steps, V, -1, NULL, NULL, sequence + length, &error), "%s", error.text);
        cr_assert_eq(sequence[length], choice_of_host);
        length += steps;
        cr_assert(gpt2_logits(model, logits, &error), "%s", error.text);
        struct states states = {.count = 0};
        struct gpt2_source source = tiny_source(config);
        cr_assert(gpt2_reference(&source, sequence, length, states_of_reference, &states, &error));
        double got[MOST_V];
        for (int v = 0; v < V; v++) { got[v] = (double)logits[v]; }
        double off = row_error(got, states.at[states.count - 1].values + (int64_t)(length - 1) * V, V);
        cr_assert(off <= tolerance, "C %d, after %d tokens: off by %g", config->channels, length, off);
        for (int t = length - steps; t < length; t++) { /* the token at t is the likeliest of the logits before it */
            const double *row = states.at[states.count - 1].values + (int64_t)(t - 1) * V;
            double most = 0.0, likeliest = row[0];
            for (int v = 0; v < V; v++) { most = fmax(most, fabs(row[v])), likeliest = fmax(likeliest, row[v]); }
            cr_assert(likeliest - row[sequence[t]] <= 2 * tolerance * most, "C %d: token %d is %d", config->channels, t,
                      sequence[t]);
        }
        states_free(&states);
    }
    close_model(model);
}

Test(forms, persistent_decoding_gives_what_whole_sequences_give) {
    static const struct {
        enum gpt2_type type;
        double tolerance;
    } types[] = {{GPT2_F32, 2e-5}, {GPT2_F16, 0.03}, {GPT2_BF16, 0.2}};
    for (int i = 0; i < PERSISTENT_CONFIGS; i++) {
        for (int t = 0; t < 3; t++) {
#ifdef CHECKED /* all take two minutes there: each size with one type */
            if (i % 3 != t) { continue; }
#endif
            check_persistent(&persistent_configs[i], types[t].type, types[t].tolerance);
        }
    }
}

/* The logits' error is that of the last product, whose input has more bits than a 16-bit type. */
static void check_quiet(const struct gpt2_config *config, enum gpt2_type type, double tolerance) {
    enum { LENGTH = 5, STEPS = 2 };
    const int V = config->vocabulary;
    int32_t sequence[LENGTH + STEPS], length = LENGTH;
    static float logits[MOST_V];
    struct quiet_source quiet = {config, type};
    struct gpt2_source source = {.config = *config, .read = quiet_read, .context = &quiet};
    struct gpt2_model_options options = {.type = type,
                                         .attention = GPT2_TAUGHT,
                                         .decode = GPT2_PERSISTENT,
                                         .batch = 1,
                                         .prompt = LENGTH,
                                         .kernels = kernels_of(sets[SETS - 1])};
    struct gpt2_model *model = gpt2_model_open(&source, &options, &error);
    cr_assert(model, "%s", error.text);
    cr_assert_eq(gpt2_model_decode_form(model, 1), GPT2_PERSISTENT);
    tiny_tokens(sequence, length, V, 33);
    cr_assert(gpt2_prefill(model, sequence, &length, 1, length, &error), "%s", error.text);
    cr_assert(gpt2_decode_choosing(model, STEPS, V, -1, NULL, NULL, sequence + length, &error), "%s", error.text);
    cr_assert(gpt2_logits(model, logits, &error), "%s", error.text);
    struct states states = {.count = 0};
    cr_assert(gpt2_reference(&source, sequence, LENGTH + STEPS, states_of_reference, &states, &error));
    double got[MOST_V];
    for (int v = 0; v < V; v++) { got[v] = (double)logits[v]; }
    double off = row_error(got, states.at[states.count - 1].values + (int64_t)(LENGTH + STEPS - 1) * V, V);
    cr_assert(off <= tolerance, "C %d: off by %g", config->channels, off);
    states_free(&states);
    close_model(model);
}

Test(forms, persistent_products_keep_more_than_16_bits_of_their_input) {
    for (int i = 0; i < PERSISTENT_CONFIGS; i++) {
#ifdef CHECKED /* each size with one type */
        const bool both = false;
#else
        const bool both = true;
#endif
        if (both || i % 2 == 0) { check_quiet(&persistent_configs[i], GPT2_F16, 5e-6); }
        if (both || i % 2 == 1) { check_quiet(&persistent_configs[i], GPT2_BF16, 4e-5); }
    }
}

/* Steps whose tokens the host chooses are fused; both kinds of step extend the same cache. */
Test(forms, persistent_steps_follow_given_tokens) {
    const struct gpt2_config *config = &persistent_configs[3];
    enum { STEPS = 6 };
    int32_t prompt[5], length = 5, wanted[STEPS], next, got[2];
    tiny_tokens(prompt, length, config->vocabulary, 4);
    struct gpt2_model *model = open_forms(config, GPT2_F32, 1, GPT2_TAUGHT, GPT2_PERSISTENT, false);
    cr_assert(gpt2_prefill(model, prompt, &length, 1, length, &error), "%s", error.text);
    cr_assert(gpt2_decode_choosing(model, STEPS, config->vocabulary, -1, NULL, NULL, wanted, &error), "%s", error.text);
    cr_assert(gpt2_go_back(model, &length, &error), "%s", error.text);
    cr_assert(gpt2_prefill(model, prompt, &length, 1, length, &error), "%s", error.text);
    for (int i = 0; i < STEPS; i += 3) {
        choose(model, config, config->vocabulary, 1, &next);
        cr_assert_eq(next, wanted[i]);
        cr_assert(gpt2_decode(model, &next, &error), "%s", error.text);
        cr_assert(gpt2_decode_choosing(model, 2, config->vocabulary, -1, NULL, NULL, got, &error), "%s", error.text);
        cr_assert(got[0] == wanted[i + 1] && got[1] == wanted[i + 2]);
    }
    close_model(model);
}

Test(forms, sizes_that_persistent_decoding_does_not_support_are_fused) {
    struct gpt2_model *model = open_forms(&configs[2], GPT2_F32, 1, GPT2_TAUGHT, GPT2_PERSISTENT, false);
    cr_assert_eq(gpt2_model_decode_form(model, 1), GPT2_TAUGHT); /* heads of 5 channels */
    close_model(model);
}
