/* The model against the float64 reference: every hidden state, prompts of different length, decoding, graphs, losses. The same
 * tests run on the fast build with every kernel set, and (CHECKED) on the checked build with the naive one. */
#define _GNU_SOURCE
#include "kernel_sets.h"
#include "tiny.h"

TestSuite(model, .timeout = 300);

/* Sizes: even ones, odd ones, one head, a head wider than a warp; then GPT-2's relatives. */
static const struct gpt2_config configs[] = {
    TINY(16, 50, 128, 2, 2, 16),
    TINY(11, 37, 37, 3, 3, 15),
    TINY(9, 131, 256, 1, 1, 67),
    TINY(40, 64, 64, 2, 2, 256),
    RELATIVE(16, 50, 128, 3, 2, 16, GPT2_GELU_ERF, true, false),
    RELATIVE(11, 37, 37, 3, 3, 15, GPT2_RELU, false, true),
    RELATIVE(16, 50, 128, 2, 2, 256, GPT2_RELU, true, true),
};
enum { CONFIGS = sizeof configs / sizeof *configs };

static struct gpt2_model *open_model(const struct gpt2_config *config, const char *set, enum gpt2_type type, int batch,
                                     bool graph) {
    struct gpt2_source source = tiny_source(config);
    struct gpt2_model_options options = {
        .type = type, .graph = graph, .batch = batch, .prompt = config->max_tokens, .kernels = kernels_of(set)};
    struct gpt2_model *model = gpt2_model_open(&source, &options, &error);
    cr_assert(model, "%s", error.text);
    return model;
}

static void close_model(struct gpt2_model *model) {
    gpt2_model_close(model);
    close_kernels();
}

/* ---- every hidden state ---- */

static void check_states(const struct gpt2_config *config, const char *set, enum gpt2_type type, double tolerance) {
    int T = config->max_tokens;
    int32_t tokens[64], length = T;
    struct states wanted = {.count = 0}, got = {.count = 0};
    struct gpt2_source source = tiny_source(config);
    tiny_tokens(tokens, T, config->vocabulary, 5);
    cr_assert(gpt2_reference(&source, tokens, T, states_of_reference, &wanted, &error), "%s", error.text);

    struct gpt2_model *model = open_model(config, set, type, 1, false);
    float *logits = malloc((size_t)T * (size_t)config->vocabulary * sizeof *logits);
    gpt2_observe(model, states_of_model, &got);
    cr_assert(gpt2_all_logits(model, tokens, &length, 1, T, logits, &error), "%s", error.text);
    cr_assert_eq(got.count, wanted.count);
    for (int i = 0; i < got.count; i++) {
        struct state *a = &got.at[i], *b = &wanted.at[i];
        cr_assert(strcmp(a->stage, b->stage) == 0 && a->layer == b->layer && a->rows == b->rows &&
                      a->columns == b->columns,
                  "%s of layer %d, where %s of layer %d should be", a->stage, a->layer, b->stage, b->layer);
        for (int64_t row = 0; row < a->rows; row++) {
            double off = row_error(a->values + row * a->columns, b->values + row * b->columns, a->columns);
            cr_assert(off <= tolerance, "%s: %s of layer %d is off by %g in row %d", set, a->stage, a->layer, off,
                      (int)row);
        }
    }
    for (int i = 0; i < T * config->vocabulary; i++) {
        cr_assert_eq((double)logits[i], got.at[got.count - 1].values[i]);
    }
    free(logits);
    states_free(&wanted);
    states_free(&got);
    close_model(model);
}

Test(model, every_hidden_state_is_the_references) {
    for (int set = 0; set < SETS; set++) {
        for (int i = 0; i < CONFIGS; i++) { check_states(&configs[i], sets[set], GPT2_F32, 2e-5); }
    }
}

Test(model, sixteen_bit_types_are_near_it) {
    for (int set = 0; set < SETS; set++) {
        for (int i = 0; i < CONFIGS; i++) {
            check_states(&configs[i], sets[set], GPT2_F16, 0.03);
            check_states(&configs[i], sets[set], GPT2_BF16, 0.2);
        }
    }
}

/* ---- prompts of different length, and decoding: the logits equal those of each sequence alone ---- */

static double *reference_logits(const struct gpt2_config *config, const int32_t *tokens, int T) {
    struct states states = {.count = 0};
    struct gpt2_source source = tiny_source(config);
    cr_assert(gpt2_reference(&source, tokens, T, states_of_reference, &states, &error), "%s", error.text);
    double *logits = malloc((size_t)config->vocabulary * sizeof *logits);
    memcpy(logits, states.at[states.count - 1].values + (int64_t)(T - 1) * config->vocabulary,
           (size_t)config->vocabulary * sizeof *logits);
    states_free(&states);
    return logits;
}

static void expect_logits(const struct gpt2_config *config, const float *logits, const int32_t *tokens, int T,
                          const char *where) {
    double *wanted = reference_logits(config, tokens, T), got[512];
    for (int v = 0; v < config->vocabulary; v++) { got[v] = (double)logits[v]; }
    double off = row_error(got, wanted, config->vocabulary);
    cr_assert(off <= 2e-5, "%s, after %d tokens: off by %g", where, T, off);
    free(wanted);
}

static void check_decoding(const struct gpt2_config *config, const char *set, bool graph) {
    enum { B = 3 };
    int S = config->max_tokens, V = config->vocabulary;
    int32_t sequences[B][64], prompts[B * 64], lengths[B] = {S / 2, 1, S / 3}, next[B];
    float logits[B * 512];
    int longest = S / 2, now[B];
    for (int b = 0; b < B; b++) {
        tiny_tokens(sequences[b], S, V, 10 + (uint64_t)b);
        for (int t = 0; t < longest; t++) { prompts[b * longest + t] = t < lengths[b] ? sequences[b][t] : -7; }
        now[b] = lengths[b];
    }
    struct gpt2_model *model = open_model(config, set, GPT2_F32, B, graph);
    cr_assert(gpt2_prefill(model, prompts, lengths, B, longest, &error), "%s", error.text);
    for (int step = 0; now[1] <= S; step++) {
        cr_assert(gpt2_logits(model, logits, &error), "%s", error.text);
        for (int b = 0; b < B; b++) {
            bool rested = step > 0 && next[b] < 0;
            if (!rested) { expect_logits(config, logits + b * V, sequences[b], now[b], step ? "decoding" : "prefill"); }
        }
        if (now[1] == S) { break; }
        for (int b = 0; b < B; b++) { /* sequence 2 rests at every third step, and full sequences rest */
            bool rests = now[b] == S || (b == 2 && step % 3 == 1);
            next[b] = rests ? -1 : sequences[b][now[b]++];
        }
        cr_assert(gpt2_decode(model, next, &error), "%s", error.text);
    }
    next[0] = next[2] = -1, next[1] = 0;
    cr_assert(!gpt2_decode(model, next, &error));
    cr_assert(strstr(error.text, "sequence 1 is full"), "%s", error.text);
    close_model(model);
}

Test(model, decoding_gives_what_whole_sequences_give) {
    for (int set = 0; set < SETS; set++) {
        for (int i = 0; i < CONFIGS; i++) { check_decoding(&configs[i], sets[set], false); }
    }
}

Test(model, decoding_by_a_graph_is_the_same) {
    for (int i = 0; i < CONFIGS; i++) { check_decoding(&configs[i], sets[SETS - 1], true); }
}

/* A prompt that fills the cache rests in every step. The first key of the next sequence must not change. */
Test(model, a_full_prompt_leaves_its_neighbour_alone) {
    enum { STEPS = 3 };
    for (int i = 0; i < CONFIGS; i++) {
        const struct gpt2_config *config = &configs[i];
        int S = config->max_tokens, V = config->vocabulary;
        int32_t prompts[2 * 64], lengths[2] = {S, 2}, next[2] = {-1, 0};
        float logits[2 * 512];
        tiny_tokens(prompts, 2 * S, V, 20);
        struct gpt2_model *model = open_model(config, "naive", GPT2_F32, 2, false);
        cr_assert(gpt2_prefill(model, prompts, lengths, 2, S, &error), "%s", error.text);
        for (int step = 0; step < STEPS; step++) {
            next[1] = prompts[S + lengths[1]++];
            cr_assert(gpt2_decode(model, next, &error), "%s", error.text);
            cr_assert(gpt2_logits(model, logits, &error), "%s", error.text);
            expect_logits(config, logits + V, prompts + S, lengths[1], "beside a full prompt");
        }
        close_model(model);
    }
}

Test(model, losses_are_those_of_the_logits) {
    const struct gpt2_config *config = &configs[1];
    enum { B = 2 };
    int T = config->max_tokens, V = config->vocabulary;
    int32_t tokens[B * 64], targets[B * 64];
    float losses[B * 64];
    tiny_tokens(tokens, B * T, V, 3);
    tiny_tokens(targets, B * T, V, 4);
    targets[5] = -1;
    struct gpt2_model *model = open_model(config, sets[SETS - 1], GPT2_F32, B, false);
    cr_assert(gpt2_losses(model, tokens, targets, B, T, losses, &error), "%s", error.text);
    for (int i = 0; i < B * T; i++) {
        double *logits = reference_logits(config, tokens + i / T * T, i % T + 1), sum = 0.0;
        for (int v = 0; v < V; v++) { sum += exp(logits[v]); }
        double wanted = i == 5 ? 0.0 : log(sum) - logits[targets[i]];
        cr_assert(fabs((double)losses[i] - wanted) <= 1e-4, "%d: %g, not %g", i, (double)losses[i], wanted);
        free(logits);
    }
    close_model(model);
}

/* ---- bad input ---- */

#define refused(call, part)                                    \
    do {                                                       \
        cr_assert(!(call));                                    \
        cr_assert(strstr(error.text, part), "%s", error.text); \
    } while (0)

Test(model, bad_input_is_one_error) {
    const struct gpt2_config *config = &configs[0];
    struct gpt2_model *model = open_model(config, sets[0], GPT2_F32, 2, false);
    int32_t tokens[32] = {0}, lengths[2] = {2, 3};
    float logits[128];
    refused(gpt2_logits(model, logits, &error), "no logits yet");
    refused(gpt2_decode(model, tokens, &error), "no sequence");
    refused(gpt2_prefill(model, tokens, lengths, 3, 4, &error), "opened for 2 of 16");
    refused(gpt2_prefill(model, tokens, lengths, 1, 17, &error), "opened for 2 of 16");
    lengths[1] = 5;
    refused(gpt2_prefill(model, tokens, lengths, 2, 4, &error), "prompt 1: a length of 5");
    tokens[1] = 50;
    refused(gpt2_prefill(model, tokens, lengths, 1, 4, &error), "token 50 is outside");
    struct gpt2_source source = tiny_source(config);
    struct gpt2_model_options options = {.batch = 1, .prompt = 17, .kernels = kernels_of(sets[0])};
    refused(gpt2_model_open(&source, &options, &error), "context of 16");
    struct gpt2_source wide = tiny_source(&configs[3]); /* its activations alone would need hundreds of GB */
    options.prompt = 40, options.batch = 1 << 20;
    refused(gpt2_model_open(&wide, &options, &error), "of device memory: out of memory");
    options.batch = 1;
    struct kernel_table empty = {.name = "empty"};
    options.prompt = 4;
    options.kernels = &empty;
    refused(gpt2_model_open(&source, &options, &error), "empty lacks an op");
    close_model(model);
}

#ifndef CHECKED
Test(model, sets_by_name_and_by_op) {
    setenv("GPT2_KERNELS", KERNELS, 1);
    refused(kernel_choice_open("nosuch", &error), "no such kernel set");
    refused(kernel_choice_open("naive,softmax=reference", &error), "no op is called 'softmax");
    refused(kernel_choice_open("/dev/null", &error), "is not a kernel set");
    struct kernel_choice *naive = kernel_choice_open("naive", &error);
    struct kernel_choice *reference = kernel_choice_open("reference", &error);
    struct kernel_choice *mixed = kernel_choice_open("naive,bias_gelu_forward=reference", &error);
    cr_assert(naive && reference && mixed, "%s", error.text);
    const struct kernel_table *m = kernel_choice_table(mixed);
    cr_assert(m->f32.bias_gelu_forward == kernel_choice_table(reference)->f32.bias_gelu_forward);
    cr_assert(m->bf16.bias_gelu_forward == kernel_choice_table(reference)->bf16.bias_gelu_forward);
    cr_assert(m->f32.layernorm_forward == kernel_choice_table(naive)->f32.layernorm_forward);
    cr_assert(m->f32.layernorm_forward != kernel_choice_table(reference)->f32.layernorm_forward);
    kernel_choice_close(naive);
    kernel_choice_close(reference);
    kernel_choice_close(mixed);
}
#endif

/* ---- for a program's comfort ---- */

static int stages_heard, blocks_heard;
static void hear(void *context, const char *stage, int layer) {
    (void)context;
    stages_heard++;
    blocks_heard += strcmp(stage, "gelu") == 0;
    cr_assert(layer >= -1);
}

Test(model, a_listener_hears_every_stage_and_changes_nothing) {
    const struct gpt2_config *config = &configs[0];
    struct gpt2_model *model = open_model(config, sets[0], GPT2_F32, 1, true);
    int32_t tokens[16], length = 9;
    float silent[64], heard[64];
    tiny_tokens(tokens, length, config->vocabulary, 5);
    cr_assert(gpt2_prefill(model, tokens, &length, 1, length, &error) && gpt2_logits(model, silent, &error));
    gpt2_listen(model, hear, NULL);
    cr_assert(gpt2_prefill(model, tokens, &length, 1, length, &error) && gpt2_logits(model, heard, &error));
    cr_assert(blocks_heard == config->layers && stages_heard > 5 * config->layers, "%d of %d stages", blocks_heard,
              stages_heard);
    cr_assert_eq(memcmp(silent, heard, (size_t)config->vocabulary * sizeof *heard), 0);
    gpt2_listen(model, NULL, NULL);
    int before = stages_heard;
    cr_assert(gpt2_prefill(model, tokens, &length, 1, length, &error));
    cr_assert_eq(stages_heard, before);
    close_model(model);
}

#ifdef CHECKED
extern int openblas_get_num_threads(void);
#endif
Test(model, threads_are_those_of_the_kernels_and_of_the_products) {
#ifndef CHECKED
    cr_skip("the checked build asks the backend");
#else
    struct simt_settings settings;
    for (int threads = 1; threads <= 2; threads++) {
        cr_assert(gpt2_device_threads(threads, &error), "%s", error.text);
        simt_settings_get(&settings);
        cr_assert(settings.os_threads == threads && openblas_get_num_threads() == threads);
    }
#endif
}
