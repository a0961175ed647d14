/* bench.c — gpt2 bench: measures every cell of the plan (bench.h), each with a model of its own, so that its memory is known.
 *
 * A cell is warmed up, then measured for --seconds. Decoding is measured twice: with a wait after each step, which gives the
 * latency that a reader of the text sees, and with queued steps, which gives tokens/s and energy. A cell that cannot be measured,
 * for lack of memory or context, is a row with the reason. So is one that fails; then the command fails, too, after the last
 * row. */
#define _GNU_SOURCE
#include "bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpt2/file.h"
#include "gpt2/formats/quantize.h"
#include "ranks.h"
#include "synthetic.h"

enum { MOST_SAMPLES = 4096, FEWEST_SAMPLES = 5, WARM_UP = 3, ROTATION = 4, SECOND_OF_ENERGY = 1 };

struct bench {
    const struct options *options;
    struct gpt2_collective group; /* ranks: each measures the same cells, and goes on as long as the first one does */
    struct gpt2_division division;
    struct gpt2_device_info device;
    struct kernel_choice *kernels;
    struct gpt2_weights weights; /* of --model, else synthetic */
    struct synthetic synthetic;
    double samples[MOST_SAMPLES];
    int failures;            /* cells that failed */
    char first_failure[256]; /* of these */
};

/* A cell in measurement. */
struct runner {
    const struct cell *cell;
    struct gpt2_model *model;
    int32_t *prompts, *lengths, *chosen; /* (ROTATION, B, tokens), (B), (B, steps) */
    struct gpt2_draws draws;             /* random: (B) */
    int steps;                           /* of decoding, until the context is full */
    bool normalises;                     /* a decoding step has a stage for LayerNorm */
};

enum { MOST_LAYERS = 48 }; /* of a synthetic model */

static bool refuse(struct figures *figures, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(figures->reason, sizeof figures->reason, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail(struct figures *figures, const struct gpt2_error *error) {
    figures->failed = true;
    return refuse(figures, "%s", error->text);
}

/* Processor time of all threads, user and system. */
static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- measuring ---- */

/* Does the first rank go on? */
static bool goes_on(const struct bench *bench, bool more) {
    struct gpt2_error error;
    ranks_passed(&bench->group, gpt2_collective_broadcast(&bench->group, &more, sizeof more, &error), &error);
    return more;
}

static bool prompt(const struct runner *r, int turn, struct gpt2_error *error) {
    const int32_t *tokens = r->prompts + (int64_t)(turn % ROTATION) * r->cell->batch * r->cell->tokens;
    return gpt2_prefill(r->model, tokens, r->lengths, r->cell->batch, r->cell->tokens, error) &&
           gpt2_wait(r->model, error);
}

static bool decode(struct runner *r, int steps, struct gpt2_error *error) {
    return gpt2_decode_choosing(r->model, steps, r->cell->config->vocabulary, -1, &r->draws, NULL, r->chosen, error);
}

/* After the first passes, until the end of the measurement. */
static void begin_limit(const struct bench *bench) {
    gpt2_collective_limit(&bench->group, bench->options->rank_timeout);
}

static bool measure_prompts(struct bench *bench, struct runner *r, struct figures *f, struct gpt2_error *error) {
    double before = 0.0, after = 0.0, total = 0.0;
    for (int i = 0; i < WARM_UP; i++) {
        if (!prompt(r, i, error)) { return false; }
    }
    begin_limit(bench);
    bool metered = energy_read(&before);
    double cpu = cpu_seconds();
    while (
        goes_on(bench, f->samples < FEWEST_SAMPLES || (total < bench->options->seconds && f->samples < MOST_SAMPLES))) {
        double start = seconds();
        if (!prompt(r, f->samples, error)) { return false; }
        bench->samples[f->samples] = seconds() - start;
        total += bench->samples[f->samples++];
    }
    f->cpu_ms = 1e3 * (cpu_seconds() - cpu) / f->samples;
    double tokens = (double)r->cell->batch * r->cell->tokens;
    metered = metered && total >= SECOND_OF_ENERGY && energy_read(&after) && after > before;
    f->tokens_per_joule = metered ? tokens * f->samples / (after - before) : -1.0;
    f->tokens_per_s = tokens / quantile(bench->samples, f->samples, 0.5);
    return true;
}

/* A fused step has LayerNorm inside its products, which multiply codes by activations of the type. All other steps have a stage
 * for it. */
static void listen(void *context, const char *stage, int layer) {
    struct runner *r = context;
    (void)layer;
    r->normalises = r->normalises || strcmp(stage, "ln1") == 0;
}

/* Do the products of what was measured multiply codes by codes? The taught form expands the weights. */
static bool multiplies_codes(const struct bench *bench, const struct runner *r, const struct figures *f) {
    if (!r->cell->activations) { return false; }
    return r->cell->decodes ? f->form != GPT2_TAUGHT && r->normalises
                            : strcmp(bench->options->attention, form_name(GPT2_TAUGHT)) != 0;
}

static bool measure_decoding(struct bench *bench, struct runner *r, struct figures *f, struct gpt2_error *error) {
    double before = 0.0, after = 0.0, total = 0.0;
    const double enough = bench->options->seconds;
    if (!prompt(r, 0, error)) { return false; }
    gpt2_listen(r->model, listen, r);
    for (int i = 0; i < WARM_UP; i++) { /* libraries choose algorithms, the graph is recorded */
        if (!decode(r, 1, error) || !gpt2_go_back(r->model, r->lengths, error)) { return false; }
    }
    gpt2_listen(r->model, NULL, NULL);
    begin_limit(bench);
    /* with a wait after each step */
    while (goes_on(bench, f->samples < FEWEST_SAMPLES || (total < enough && f->samples < MOST_SAMPLES))) {
        for (int i = 0; i < r->steps && f->samples < MOST_SAMPLES; i++) {
            double start = seconds();
            if (!decode(r, 1, error)) { return false; }
            bench->samples[f->samples] = seconds() - start;
            total += bench->samples[f->samples++];
        }
        if (!gpt2_go_back(r->model, r->lengths, error)) { return false; }
    }
    bool metered = energy_read(&before);
    int rounds = 0;
    double start = seconds(), time = 0.0, cpu = cpu_seconds();
    for (; goes_on(bench, rounds == 0 || time < enough); rounds++, time = seconds() - start) { /* queued */
        if (!decode(r, r->steps, error) || !gpt2_go_back(r->model, r->lengths, error)) { return false; }
    }
    f->cpu_ms = 1e3 * (cpu_seconds() - cpu) / ((double)rounds * r->steps);
    double tokens = (double)rounds * r->steps * r->cell->batch;
    metered = metered && time >= SECOND_OF_ENERGY && energy_read(&after) && after > before;
    f->tokens_per_joule = metered ? tokens / (after - before) : -1.0;
    f->tokens_per_s = tokens / time;
    f->gb_per_s = cell_bytes(r->cell) * rounds * r->steps / time / 1e9;
    return true;
}

/* ---- a cell ---- */

static bool prepare(struct bench *bench, struct runner *r, struct gpt2_error *error) {
    const size_t B = (size_t)r->cell->batch, T = (size_t)r->cell->tokens;
    uint64_t state = (uint64_t)bench->options->seed;
    r->prompts = malloc(ROTATION * B * T * sizeof *r->prompts);
    r->lengths = malloc(B * sizeof *r->lengths);
    r->chosen = malloc(B * (size_t)r->steps * sizeof *r->chosen);
    r->draws.random = malloc(B * sizeof *r->draws.random);
    if (r->prompts == NULL || r->lengths == NULL || r->chosen == NULL || r->draws.random == NULL) {
        return gpt2_fail(error, "out of memory");
    }
    for (size_t i = 0; i < ROTATION * B * T; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        r->prompts[i] = (int32_t)((state >> 33) % (uint64_t)r->cell->config->vocabulary);
    }
    for (size_t b = 0; b < B; b++) {
        r->lengths[b] = (int32_t)T;
        r->draws.random[b] = gpt2_random_begin((uint64_t)bench->options->seed, b);
    }
    const bool good = sampling_of(&r->draws.by, bench->options, error);
    r->draws.by.repetition_penalty = 1.0;
    return good;
}

static bool fits_here(struct bench *bench, const struct cell *cell, const struct gpt2_model_options *settings,
                      struct figures *f, struct gpt2_error *error) {
    const int most = cell->config->max_tokens;
    if (cell->tokens + cell->decodes > most) {
        return refuse(f, "%d tokens%s: the context is %d", cell->tokens, cell->decodes ? " and one more" : "", most);
    }
    if (!gpt2_device_ask(&bench->device, error)) { return fail(f, error); }
    double needed = (double)gpt2_model_needs(cell->config, settings), there = (double)bench->device.free_bytes;
    if (needed > 0.95 * there) {
        return refuse(f, "it needs %.2f GB of device memory, and %.2f GB are free", needed / 1e9, there / 1e9);
    }
    return true;
}

/* On all ranks. */
static bool fits(struct bench *bench, const struct cell *cell, const struct gpt2_model_options *settings,
                 struct figures *f, struct gpt2_error *error) {
    bool here = fits_here(bench, cell, settings, f, error);
    if (!here) { gpt2_fail(error, "%s", f->reason); }
    return gpt2_collective_agree(&bench->group, here, NULL, error) || refuse(f, "%s", error->text);
}

static void run(struct bench *bench, const struct cell *cell, struct figures *f) {
    struct gpt2_error error = {""};
    int steps = cell->config->max_tokens - cell->tokens;
    steps = !cell->decodes ? 1 : steps < bench->options->tokens ? steps : bench->options->tokens;
    struct gpt2_model_options settings = {.type = cell->type,
                                          .scheme = cell->scheme,
                                          .activations = cell->activations,
                                          .tf32 = cell->tf32,
                                          .timed = true,
                                          .batch = cell->batch,
                                          .prompt = cell->tokens,
                                          .context = cell->tokens + (cell->decodes ? steps : 0),
                                          .division = ranks_division(&bench->division, &bench->group)};
    struct runner r = {.cell = cell, .steps = steps};
    struct gpt2_source source =
        bench->options->model != NULL ? gpt2_weights_source(&bench->weights) : synthetic_source(&bench->synthetic);
    const struct gpt2_source plain = source;
    struct gpt2_quantizer quantizer = {.from = NULL};
    float unit_scales[MOST_LAYERS *
                      GPT2_PRODUCTS]; /* of activations of synthetic weights: speed does not depend on them */
    for (int i = 0; i < MOST_LAYERS * GPT2_PRODUCTS; i++) { unit_scales[i] = 1.0f; }
    model_settings(&settings, bench->options, kernel_choice_table(bench->kernels), &error); /* checked before */
    if (!fits(bench, cell, &settings, f, &error)) { return; }
    size_t free_before = bench->device.free_bytes;
    struct gpt2_device_info after;
    bool good = true;
    if (bench->options->model == NULL && cell->scheme != GPT2_PLAIN) {
        good = gpt2_quantizer_open(&quantizer, &plain, cell->scheme, &error);
        quantizer.input_scales = cell->activations ? unit_scales : NULL;
        source = gpt2_quantizer_source(&quantizer);
    }
    r.model = good ? gpt2_model_open(&source, &settings, &error) : NULL;
    gpt2_quantizer_close(&quantizer);
    good = gpt2_collective_agree(&bench->group, r.model != NULL && prepare(bench, &r, &error), NULL, &error);
    if (good) {
        good = (cell->decodes ? measure_decoding : measure_prompts)(bench, &r, f, &error) &&
               gpt2_device_ask(&after, &error);
        ranks_passed(&bench->group, good, &error);
        gpt2_collective_agree(&bench->group, true, NULL,
                              &error); /* all are here: the first one prints, without a limit */
        gpt2_collective_limit(&bench->group, 0.0);
    }
    if (good) {
        if (bench->group.ranks > 1) { f->tokens_per_joule = -1.0; } /* the counter is that of one GPU */
        f->form = gpt2_model_decode_form(r.model, cell->batch);
        f->activations = multiplies_codes(bench, &r, f);
        f->p5 = quantile(bench->samples, f->samples, 0.05);
        f->p50 = quantile(bench->samples, f->samples, 0.5);
        f->p95 = quantile(bench->samples, f->samples, 0.95);
        f->bytes = (double)gpt2_model_bytes(r.model);
        double taken = (double)free_before - (double)after.free_bytes;
        if (!bench->device.is_cpu && taken > f->bytes) { f->bytes = taken; }
    } else {
        fail(f, &error);
    }
    gpt2_model_close(r.model);
    free(r.prompts);
    free(r.lengths);
    free(r.chosen);
    free(r.draws.random);
}

/* ---- all of them ---- */

static void note_failure(struct bench *bench, const struct cell *cell, const struct figures *f) {
    if (!f->failed || bench->failures++ > 0) { return; }
    snprintf(bench->first_failure, sizeof bench->first_failure, "%s %s, %s, batch %d, %d tokens: %s", cell->size,
             cell->type_name, cell->decodes ? "decode" : "prompt", cell->batch, cell->tokens, f->reason);
}

/* All rows, those that fail included. */
static bool run_all(struct bench *bench, const struct cell *cells, int count, struct gpt2_output *json,
                    struct gpt2_error *error) {
    if (bench->group.ranks > 1) {
        printf("The model is divided among %d ranks; MB are of each.\n", bench->group.ranks);
    }
    bench_print_head(stdout, bench->options, &bench->device);
    for (int i = 0; i < count; i++) {
        struct figures figures = {.samples = 0};
        bool other = i == 0 || cells[i].config != cells[i - 1].config;
        if (bench->options->model == NULL && other) {
            synthetic_close(&bench->synthetic);
            if (!synthetic_open(&bench->synthetic, cells[i].config, (uint64_t)bench->options->seed, error)) {
                return false;
            }
        }
        run(bench, &cells[i], &figures);
        note_failure(bench, &cells[i], &figures);
        bench_print_row(stdout, &cells[i], &figures);
        if (json == NULL) { continue; }
        char *line = bench_json(&cells[i], &figures, bench->options, &bench->device);
        bool good = (line != NULL || gpt2_fail(error, "out of memory")) &&
                    gpt2_output_write(json, line, strlen(line), error) && gpt2_output_write(json, "\n", 1, error);
        free(line);
        if (!good) { return false; }
    }
    return json == NULL || gpt2_output_commit(json, error);
}

/* The weights of --model are as their folder has them. */
static void set_scheme(const struct bench *bench, struct cell *cells, int count) {
    const enum gpt2_scheme scheme = scheme_on_device(&bench->weights, bench->options);
    for (int i = 0; bench->options->model != NULL && i < count; i++) {
        cells[i].scheme = scheme, cells[i].activations = bench->weights.input_scales != NULL;
    }
}

static bool start(struct bench *bench, struct gpt2_error *error) {
    struct gpt2_model_options settings;
    struct gpt2_sampling sampling;
    bench->kernels = kernel_choice_open(bench->options->kernels, error);
    return bench->kernels != NULL && model_settings(&settings, bench->options, NULL, error) &&
           sampling_of(&sampling, bench->options, error) && gpt2_device_ask(&bench->device, error) &&
           (bench->options->model == NULL || gpt2_weights_open(&bench->weights, bench->options->model, error));
}

int command_bench(const struct options *given, struct gpt2_error *error) {
    struct options options = *given;
    struct bench *bench = calloc(1, sizeof *bench);
    if (bench == NULL) { return gpt2_fail(error, "out of memory"), 2; }
    struct cell *cells = NULL;
    struct gpt2_output json = {.path = NULL};
    int count = 0;
    bench->options = &options;
    bool good = ranks_open(&bench->group, true, &options, error);
    if (good) {
        good = start(bench, error) &&
               plan(&cells, &count, &options, options.model != NULL ? &bench->weights.config : NULL, error) &&
               (options.json_file == NULL || gpt2_output_begin(&json, options.json_file, error));
        good = gpt2_collective_agree(&bench->group, good, NULL, error);
    }
    if (good) {
        set_scheme(bench, cells, count);
        good = run_all(bench, cells, count, options.json_file != NULL ? &json : NULL, error);
        ranks_passed(&bench->group, good, error);
    }
    if (good && bench->failures > 0) { /* on all ranks */
        good = gpt2_fail(error, "%d of %d rows failed; the first is %s", bench->failures, count, bench->first_failure);
    }
    gpt2_output_abandon(&json);
    free(cells);
    synthetic_close(&bench->synthetic);
    gpt2_weights_close(&bench->weights);
    kernel_choice_close(bench->kernels);
    int status = ranks_close(&bench->group, good, error);
    free(bench);
    return status;
}
