/* The parts of gpt2 bench: quantiles, the plan, the table, the lines of JSON, synthetic weights, the energy counter. */
#define _GNU_SOURCE
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/program/bench.h"
#include "gpt2/program/synthetic.h"

TestSuite(bench, .timeout = 60);

static struct gpt2_error error;

static bool near(double a, double b) {
    return fabs(a - b) < 1e-12;
}

Test(bench, quantiles_are_numpys) {
    double one[] = {3.0}, two[] = {4.0, 2.0}, five[] = {5.0, 1.0, 4.0, 2.0, 3.0}, shuffled[101];
    cr_assert(near(quantile(one, 1, 0.05), 3.0));
    cr_assert(near(quantile(one, 1, 0.95), 3.0));
    cr_assert(near(quantile(two, 2, 0.5), 3.0));
    cr_assert(near(quantile(five, 5, 0.5), 3.0));
    cr_assert(near(quantile(five, 5, 0.05), 1.2)); /* numpy.quantile([1, 2, 3, 4, 5], 0.05) */
    cr_assert(near(quantile(five, 5, 0.95), 4.8));
    for (int i = 0; i < 101; i++) { shuffled[i] = i * 37 % 101; }
    cr_assert(near(quantile(shuffled, 101, 0.05), 5.0));
    cr_assert(near(quantile(shuffled, 101, 1.0), 100.0));
}

/* ---- the plan ---- */

static struct options options_of(const char *sizes, const char *types, const char *batches, const char *lengths,
                                 const char *positions) {
    return (struct options){.sizes = sizes,
                            .types = types,
                            .batches = batches,
                            .lengths = lengths,
                            .positions = positions,
                            .kernels = "reference",
                            .attention = "auto",
                            .decode = "auto",
                            .seed = 1};
}

Test(bench, the_plan_is_every_combination_in_order) {
    struct options options = options_of("124M,1558M", "bf16,tf32", "1,8", "128,1024", "short,1000");
    struct cell *cells;
    int count;
    cr_assert(plan(&cells, &count, &options, NULL, &error), "%s", error.text);
    cr_assert_eq(count, 2 * 2 * 2 * 4);
    cr_assert(!cells[0].decodes && cells[0].batch == 1 && cells[0].tokens == 128 && cells[0].type == GPT2_BF16);
    cr_assert(cells[2].decodes && cells[2].tokens == SHORT_POSITION);
    cr_assert(cells[3].decodes && cells[3].tokens == 1000 && cells[4].batch == 8);
    cr_assert(cells[8].tf32 && cells[8].type == GPT2_F32 && !cells[0].tf32);
    cr_assert_str_eq(cells[31].size, "1558M");
    cr_assert_eq(cells[31].config->layers, 48);
    free(cells);
    options = options_of("774M", "f16", "4", "0", "10");
    cr_assert(plan(&cells, &count, &options, NULL, &error), "%s", error.text);
    cr_assert(count == 1 && cells[0].decodes);
    free(cells);
}

Test(bench, bad_lists_are_one_error) {
    static const struct {
        const char *sizes, *types, *batches, *lengths, *positions, *says;
    } bad[] = {
        {"124M,9M", "f32", "1", "1", "1", "--sizes: '9M' is not one of"},
        {"", "f32", "1", "1", "1", "--sizes: an empty list"},
        {"124M", "f32,f64", "1", "1", "1", "--types: 'f64' is not one of"},
        {"124M", "f32", "1,", "1", "1", "--batch: '' is not a number"},
        {"124M", "f32", "0", "1", "1", "--batch: '0' is not a number from 1 to 4096"},
        {"124M", "f32", "1, 2", "1", "1", "--batch: ' 2' is not a number"},
        {"124M", "f32", "1,2x", "1", "1", "--batch: '2x' is not a number"},
        {"124M", "f32", "1", "short", "1", "--lengths: 'short' is not a number"},
        {"124M", "f32", "1", "1", "long", "--positions: 'long' is not a number"},
        {"124M", "f32", "1", "1", "99999999999999999999", "--positions: '99999999999999999999' is not"},
        {"124M", "f32", "1", "0", "0", "nothing to measure"},
        {"124M", "f32", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "1", "1", "--batch: more than 16"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct options options =
            options_of(bad[i].sizes, bad[i].types, bad[i].batches, bad[i].lengths, bad[i].positions);
        struct cell *cells = NULL;
        int count;
        cr_assert(!plan(&cells, &count, &options, NULL, &error), "%d", (int)i);
        cr_assert(strstr(error.text, bad[i].says), "%s, not %s", error.text, bad[i].says);
        free(cells);
    }
}

/* 124M: 12 layers of 12 C C + 13 C weights, wte, and the last LayerNorm; no position embedding. */
Test(bench, bytes_of_a_step_are_weights_and_cache) {
    struct options options = options_of("124M", "bf16", "2", "16", "1000");
    struct cell *cells;
    int count;
    cr_assert(plan(&cells, &count, &options, NULL, &error), "%s", error.text);
    double weights = 12.0 * (12.0 * 768 * 768 + 13.0 * 768) + 50257.0 * 768 + 2.0 * 768;
    cr_assert(near(cell_bytes(&cells[0]), 2.0 * weights), "%f", cell_bytes(&cells[0]));
    cr_assert(near(cell_bytes(&cells[1]), 2.0 * (weights + 2.0 * 12 * 768 * 1001 * 2)), "%f", cell_bytes(&cells[1]));
    free(cells);
}

/* ---- the output ---- */

static const struct gpt2_device_info gpu = {.name = "a GPU \"of sorts\"", .capability = 90};

static void shown(struct figures *figures, int cell, char *row, size_t size, cJSON **json) {
    struct options options = options_of("124M", "bf16", "2", "16", "1000");
    struct cell *cells;
    int count;
    FILE *file = tmpfile();
    cr_assert(file && plan(&cells, &count, &options, NULL, &error), "%s", error.text);
    bench_print_head(file, &options, &gpu);
    bench_print_row(file, &cells[cell], figures);
    rewind(file);
    while (fgets(row, (int)size, file) != NULL) {} /* the last line */
    fclose(file);
    char *line = bench_json(&cells[cell], figures, &options, &gpu);
    cr_assert(line && strchr(line, '\n') == NULL);
    *json = cJSON_Parse(line);
    cr_assert(*json, "%s", line);
    free(line);
    free(cells);
}

Test(bench, a_row_and_its_json_say_the_same) {
    struct figures figures = {.p5 = 1e-3,
                              .p50 = 2e-3,
                              .p95 = 4e-3,
                              .samples = 7,
                              .tokens_per_s = 1234.5,
                              .bytes = 3e8,
                              .gb_per_s = 99.25,
                              .form = GPT2_PERSISTENT,
                              .tokens_per_joule = -1.0};
    char row[512];
    cJSON *json;
    shown(&figures, 1, row, sizeof row, &json);
    cr_assert_str_eq(
        row, "124M   bf16  decode      2   1000 persistent      1.000      2.000      4.000       1234.5      300.0 "
             "    99.2 not available\n");
    cr_assert(near(cJSON_GetObjectItem(json, "ms_p50")->valuedouble, 2.0));
    cr_assert(near(cJSON_GetObjectItem(json, "gb_per_s")->valuedouble, 99.25));
    cr_assert(cJSON_IsNull(cJSON_GetObjectItem(json, "tokens_per_joule")));
    cr_assert_str_eq(cJSON_GetObjectItem(json, "form")->valuestring, "persistent");
    cr_assert_str_eq(cJSON_GetObjectItem(json, "decode")->valuestring, "auto");
    cr_assert_str_eq(cJSON_GetObjectItem(json, "device")->valuestring, gpu.name);
    cr_assert_null(cJSON_GetObjectItem(json, "not_measured"));
    cJSON_Delete(json);
    figures.tokens_per_joule = 12.5;
    shown(&figures, 0, row, sizeof row, &json);
    cr_assert(strstr(row, " 12.50\n") && strstr(row, "prompt"), "%s", row);
    cr_assert_null(cJSON_GetObjectItem(json, "form"));
    cr_assert_null(cJSON_GetObjectItem(json, "gb_per_s")); /* only decoding has GB/s */
    cJSON_Delete(json);
}

Test(bench, records_of_drawn_tokens_say_how) {
    struct options drawn = options_of("124M", "bf16", "2", "16", "1000");
    const struct figures figures = {.samples = 1, .form = GPT2_FUSED, .tokens_per_joule = -1.0};
    struct cell *cells;
    int count;
    drawn.temperature = 0.5, drawn.top_k = 7, drawn.top_p = 0.75, drawn.min_p = 0.25;
    cr_assert(plan(&cells, &count, &drawn, NULL, &error), "%s", error.text);
    for (int decodes = 0; decodes < 2; decodes++) {
        char *line = bench_json(&cells[decodes], &figures, &drawn, &gpu);
        cJSON *json = cJSON_Parse(line), *sampling = cJSON_GetObjectItem(json, "sampling");
        cr_assert_eq(sampling != NULL, decodes, "%s", line); /* a prompt draws nothing */
        if (decodes) {
            cr_assert(near(cJSON_GetObjectItem(sampling, "temperature")->valuedouble, 0.5));
            cr_assert(near(cJSON_GetObjectItem(sampling, "top_k")->valuedouble, 7.0));
            cr_assert(near(cJSON_GetObjectItem(sampling, "top_p")->valuedouble, 0.75));
            cr_assert(near(cJSON_GetObjectItem(sampling, "min_p")->valuedouble, 0.25));
        }
        cJSON_Delete(json);
        free(line);
    }
    free(cells);
}

Test(bench, what_is_not_measured_says_why) {
    struct figures figures = {.reason = "the context is 1024"};
    char row[512];
    cJSON *json;
    shown(&figures, 1, row, sizeof row, &json);
    cr_assert_str_eq(row, "124M   bf16  decode      2   1000   not measured: the context is 1024\n");
    cr_assert_str_eq(cJSON_GetObjectItem(json, "not_measured")->valuestring, figures.reason);
    cr_assert(cJSON_IsFalse(cJSON_GetObjectItem(json, "failed")));
    cr_assert_null(cJSON_GetObjectItem(json, "ms_p50"));
    cr_assert_null(cJSON_GetObjectItem(json, "activations")); /* none ran */
    cJSON_Delete(json);
    figures.failed = true;
    shown(&figures, 1, row, sizeof row, &json);
    cr_assert(cJSON_IsTrue(cJSON_GetObjectItem(json, "failed")));
    cJSON_Delete(json);
}

/* ---- weights and energy ---- */

Test(bench, synthetic_weights_are_the_seeds_and_have_their_spread) {
    enum { N = 2304 * 768 };
    const struct gpt2_config *config = gpt2_config_named("124M");
    struct synthetic one, other;
    float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    cr_assert(synthetic_open(&one, config, 1, &error) && synthetic_open(&other, config, 2, &error));
    struct gpt2_source from = synthetic_source(&one), again = synthetic_source(&one), others = synthetic_source(&other);
    cr_assert(from.read(from.context, GPT2_QKVW, 3, GPT2_F32, GPT2_OUT_IN, a, &error));
    cr_assert(again.read(again.context, GPT2_QKVW, 3, GPT2_F32, GPT2_OUT_IN, b, &error));
    cr_assert_eq(memcmp(a, b, N * sizeof *a), 0);
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < N; i++) { sum += (double)a[i], squares += (double)a[i] * (double)a[i]; }
    cr_assert(fabs(sum / N) < 1e-4 && fabs(sqrt(squares / N) - 0.0202) < 2e-4, "%g, %g", sum / N, sqrt(squares / N));
    cr_assert(again.read(again.context, GPT2_QKVW, 4, GPT2_F32, GPT2_OUT_IN, b, &error));
    cr_assert_neq(memcmp(a, b, N * sizeof *a), 0);
    cr_assert(others.read(others.context, GPT2_QKVW, 3, GPT2_F32, GPT2_OUT_IN, b, &error));
    cr_assert_neq(memcmp(a, b, N * sizeof *a), 0);
    cr_assert(from.read(from.context, GPT2_LN1W, 0, GPT2_F32, GPT2_OUT_IN, a, &error));
    for (int i = 0; i < 768; i++) { cr_assert(a[i] >= 0.69f && a[i] <= 1.31f); }
    synthetic_close(&one), synthetic_close(&other);
    free(a), free(b);
}

Test(bench, energy_is_the_librarys_counter) {
    double first, second;
    setenv("GPT2_NVML", FAKE_NVML, 1);
    cr_assert(energy_read(&first) && energy_read(&second));
    cr_assert(near(first, 1.5) && near(second, 3.0), "%g, %g", first, second);
}

Test(bench, without_the_library_there_is_no_energy) {
    double joules;
    setenv("GPT2_NVML", "/nonexistent/libnvidia-ml.so", 1);
    cr_assert(!energy_read(&joules));
}
