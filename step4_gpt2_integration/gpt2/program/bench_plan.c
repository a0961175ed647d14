/* bench_plan.c — the cells of gpt2 bench, from the lists on its command line (bench.h). */
#include "bench.h"
#include "gpt2/formats/codes.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The next item of a comma-separated list; *text moves behind it. False: no more items. */
static bool next_item(const char **text, char *item, size_t size) {
    if (**text == '\0') { return false; }
    size_t length = strcspn(*text, ",");
    snprintf(item, size, "%.*s", (int)length, *text);
    *text += length;
    if (**text == ',') {
        (*text)++;
        if (**text == '\0') { *text = ","; } /* a trailing comma is followed by an empty item */
    }
    return true;
}

bool numbers_parse(struct numbers *numbers, const char *option, const char *text, int least, int most,
                   struct gpt2_error *error) {
    char item[32], *end;
    numbers->count = 0;
    while (next_item(&text, item, sizeof item)) {
        errno = 0;
        long value =
            strcmp(item, "short") == 0 && strcmp(option, "--positions") == 0 ? SHORT_POSITION : strtol(item, &end, 10);
        bool named = strcmp(item, "short") == 0 && strcmp(option, "--positions") == 0;
        if (!named && (end == item || *end != '\0' || errno != 0 || isspace((unsigned char)item[0]))) {
            value = (long)least - 1;
        }
        if (value < least || value > most) {
            return gpt2_fail(error, "%s: '%s' is not a number from %d to %d", option, item, least, most);
        }
        if (numbers->count == MOST_ITEMS) { return gpt2_fail(error, "%s: more than %d", option, (int)MOST_ITEMS); }
        numbers->at[numbers->count++] = (int)value;
    }
    return numbers->count > 0 || gpt2_fail(error, "%s: an empty list", option);
}

/* ---- the lists ---- */

struct lists {
    char sizes[MOST_ITEMS][32];
    const struct gpt2_config *configs[MOST_ITEMS];
    const struct type_name *types[MOST_ITEMS];
    int size_count, type_count;
    enum gpt2_scheme scheme;
    bool activations;
    struct numbers batches, lengths, positions;
};

static bool parse_sizes(struct lists *lists, const char *text, const struct gpt2_config *model,
                        struct gpt2_error *error) {
    if (model != NULL) {
        snprintf(lists->sizes[0], sizeof lists->sizes[0], "model");
        lists->configs[0] = model;
        lists->size_count = 1;
        return true;
    }
    while (next_item(&text, lists->sizes[lists->size_count], sizeof lists->sizes[0])) {
        const char *name = lists->sizes[lists->size_count];
        lists->configs[lists->size_count] = gpt2_config_named(name);
        if (lists->configs[lists->size_count] == NULL) {
            return gpt2_fail(error, "--sizes: '%s' is not one of 124M, 355M, 774M, 1558M", name);
        }
        if (++lists->size_count == MOST_ITEMS) { return gpt2_fail(error, "--sizes: too many"); }
    }
    return lists->size_count > 0 || gpt2_fail(error, "--sizes: an empty list");
}

static bool parse_types(struct lists *lists, const char *text, struct gpt2_error *error) {
    char name[32];
    while (next_item(&text, name, sizeof name)) {
        lists->types[lists->type_count] = type_named(name);
        if (lists->types[lists->type_count] == NULL) {
            return gpt2_fail(error, "--types: '%s' is not one of f32, tf32, f16, bf16", name);
        }
        if (++lists->type_count == MOST_ITEMS) { return gpt2_fail(error, "--types: too many"); }
    }
    return lists->type_count > 0 || gpt2_fail(error, "--types: an empty list");
}

/* The weights of --model are in 8 bits or not, as their folder has them. */
static bool parse_scheme(struct lists *lists, const char *text, const struct gpt2_config *model,
                         struct gpt2_error *error) {
    lists->scheme = GPT2_PLAIN;
    if (text == NULL) { return !lists->activations || gpt2_fail(error, "--activations: only with --scheme"); }
    if (model != NULL) { return gpt2_fail(error, "--scheme: for synthetic weights; quantize makes a model in 8 bits"); }
    return gpt2_scheme_find(text, &lists->scheme) || gpt2_fail(error, "--scheme %s: int8 or fp8", text);
}

static bool parse(struct lists *lists, const struct options *options, const struct gpt2_config *model,
                  struct gpt2_error *error) {
    lists->activations = options->activations;
    return parse_sizes(lists, options->sizes, model, error) && parse_types(lists, options->types, error) &&
           parse_scheme(lists, options->scheme, model, error) &&
           numbers_parse(&lists->batches, "--batch", options->batches, 1, 1 << 12, error) &&
           numbers_parse(&lists->lengths, "--lengths", options->lengths, 0, 1 << 20, error) &&
           numbers_parse(&lists->positions, "--positions", options->positions, 0, 1 << 20, error);
}

/* ---- the cells ---- */

static int add(struct cell *cell, const struct lists *lists, int size, int type, bool decodes, int batch, int tokens) {
    if (tokens == 0) { return 0; } /* --lengths 0, --positions 0: no cells of that kind */
    *cell = (struct cell){.config = lists->configs[size],
                          .type_name = lists->types[type]->name,
                          .type = lists->types[type]->type,
                          .tf32 = lists->types[type]->tf32,
                          .decodes = decodes,
                          .batch = batch,
                          .tokens = tokens};
    cell->scheme = lists->scheme;
    cell->activations = lists->activations;
    memcpy(cell->size, lists->sizes[size], sizeof cell->size);
    return 1;
}

bool plan(struct cell **cells, int *count, const struct options *options, const struct gpt2_config *model,
          struct gpt2_error *error) {
    struct lists lists = {.size_count = 0};
    *cells = NULL;
    *count = 0;
    if (!parse(&lists, options, model, error)) { return false; }
    int room =
        lists.size_count * lists.type_count * lists.batches.count * (lists.lengths.count + lists.positions.count);
    *cells = calloc((size_t)room, sizeof **cells);
    if (*cells == NULL) { return gpt2_fail(error, "out of memory"); }
    for (int size = 0; size < lists.size_count; size++) {
        for (int type = 0; type < lists.type_count; type++) {
            for (int batch = 0; batch < lists.batches.count; batch++) {
                int B = lists.batches.at[batch];
                for (int i = 0; i < lists.lengths.count; i++) {
                    *count += add(*cells + *count, &lists, size, type, false, B, lists.lengths.at[i]);
                }
                for (int i = 0; i < lists.positions.count; i++) {
                    *count += add(*cells + *count, &lists, size, type, true, B, lists.positions.at[i]);
                }
            }
        }
    }
    return *count > 0 || gpt2_fail(error, "--lengths 0 and --positions 0 leave nothing to measure");
}

double cell_bytes(const struct cell *cell) {
    const struct gpt2_config *config = cell->config;
    double C = config->channels;
    double weights = (double)gpt2_config_weights(config, config->vocabulary) - (double)config->max_tokens * C,
           codes = 0.0;
    for (int i = 0; cell->scheme != GPT2_PLAIN && i < GPT2_TENSORS; i++) { /* a byte each, and the scales */
        const enum gpt2_tensor tensor = (enum gpt2_tensor)i;
        if (!gpt2_tensor_in_codes(config, tensor)) { continue; }
        const double layers = gpt2_tensor_layers(config, tensor),
                     elements = (double)gpt2_tensor_elements(config, tensor);
        weights -= layers * elements;
        codes += layers * (elements + 4.0 * (double)gpt2_tensor_rows(config, tensor));
    }
    double cache = cell->decodes ? 2.0 * config->layers * C * (cell->tokens + 1.0) * cell->batch : 0.0;
    return codes + (weights + cache) * (double)gpt2_type_bytes(cell->type);
}
