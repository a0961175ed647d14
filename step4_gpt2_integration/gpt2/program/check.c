/* check.c — gpt2 check: compares the hidden states of two kernel sets, or of a set and float64, on one prompt, stage by stage.
 * check_dump.c compares with a dump of another implementation.
 *
 * The difference of a stage is that of its worst row: the length of the row's difference over the length of the row. This measure is
 * comparable across stages and sizes. The largest difference of an element is not: in 16 bits, one element of thousands is always
 * far off by rounding. The first stage past the tolerance names the cause; the stages after it inherit its error. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/reference.h"
#include "program.h"

struct state {
    char stage[32];
    int layer;
    float *values; /* (rows, columns) */
    int64_t rows, columns;
};
struct states {
    struct state *at;
    int count, room;
    bool no_memory;
};

static float *states_add(struct states *all, const char *stage, int layer, int64_t rows, int64_t columns) {
    if (all->count == all->room) {
        int room = all->room > 0 ? 2 * all->room : 64;
        struct state *larger = realloc(all->at, (size_t)room * sizeof *larger);
        all->no_memory = all->no_memory || larger == NULL;
        if (larger == NULL) { return NULL; }
        all->at = larger;
        all->room = room;
    }
    struct state *state = &all->at[all->count];
    *state = (struct state){.layer = layer, .rows = rows, .columns = columns};
    snprintf(state->stage, sizeof state->stage, "%s", stage);
    state->values = malloc((size_t)(rows * columns) * sizeof *state->values);
    all->no_memory = all->no_memory || state->values == NULL;
    all->count += state->values != NULL;
    return state->values;
}

static void keep(void *context, const char *stage, int layer, const float *values, int64_t rows, int64_t columns) {
    float *to = states_add(context, stage, layer, rows, columns);
    if (to != NULL) { memcpy(to, values, (size_t)(rows * columns) * sizeof *to); }
}

static void keep_double(void *context, const char *stage, int layer, const double *values, int64_t rows,
                        int64_t columns) {
    float *to = states_add(context, stage, layer, rows, columns);
    for (int64_t i = 0; to != NULL && i < rows * columns; i++) { to[i] = (float)values[i]; }
}

static void states_free(struct states *all) {
    for (int i = 0; i < all->count; i++) { free(all->at[i].values); }
    free(all->at);
}

/* The states of one set for the whole prompt. */
static bool collect(struct session *session, const struct options *options, const char *set, const struct gpt2_ids *ids,
                    struct states *states, struct gpt2_error *error) {
    int32_t T = (int32_t)ids->count;
    if (strcmp(set, "float64") == 0) {
        struct gpt2_source source = gpt2_weights_source(&session->weights);
        if (!gpt2_reference(&source, ids->ids, T, keep_double, states, error)) { return false; }
    } else {
        float *logits = malloc((size_t)T * (size_t)session->weights.config.vocabulary * sizeof *logits);
        bool good = logits != NULL || gpt2_fail(error, "out of memory");
        good = good && session_start(session, options, set, 1, T, T, error);
        if (good) {
            gpt2_observe(session->model, keep, states);
            good = gpt2_all_logits(session->model, ids->ids, &T, 1, T, logits, error);
        }
        session_stop(session);
        free(logits);
        if (!good) { return false; }
    }
    return !states->no_memory || gpt2_fail(error, "out of memory for the hidden states");
}

/* The observer gets logits in parts of some rows, which may differ between a and b. Joins the parts by name. */
static void join_parts(struct states *all) {
    int last = 0;
    for (int i = 1; i < all->count; i++) {
        struct state *to = &all->at[last], *from = &all->at[i];
        float *joined = NULL;
        size_t columns = (size_t)to->columns;
        if (to->layer == from->layer && strcmp(to->stage, from->stage) == 0) {
            joined = realloc(to->values, (size_t)(to->rows + from->rows) * columns * sizeof *joined);
        }
        if (joined == NULL) {
            all->at[++last] = *from;
            continue;
        }
        memcpy(joined + (size_t)to->rows * columns, from->values, (size_t)from->rows * columns * sizeof *joined);
        to->values = joined;
        to->rows += from->rows;
        free(from->values);
    }
    all->count = all->count > 0 ? last + 1 : 0;
}

static double difference(const struct state *a, const struct state *b) {
    double largest = 0.0;
    for (int64_t row = 0; row < a->rows; row++) {
        const float *x = a->values + row * a->columns, *y = b->values + row * a->columns;
        double off = 0.0, length = 0.0;
        for (int64_t c = 0; c < a->columns; c++) {
            off += ((double)x[c] - (double)y[c]) * ((double)x[c] - (double)y[c]);
            length += (double)y[c] * (double)y[c];
        }
        double relative = sqrt(off / fmax(length, 1e-60));
        if (isnan(relative)) { return NAN; }
        largest = fmax(largest, relative);
    }
    return largest;
}

static bool compare(const struct options *options, const struct states *a, const struct states *b, double tolerance,
                    bool *same, struct gpt2_error *error) {
    if (a->count != b->count) { return gpt2_fail(error, "%d stages against %d", a->count, b->count); }
    *same = true;
    printf("%-5s  %-26s  %s\n", "layer", "stage", "difference / length of the row");
    for (int i = 0; i < a->count; i++) {
        const struct state *x = &a->at[i], *y = &b->at[i];
        if (strcmp(x->stage, y->stage) != 0 || x->rows != y->rows || x->columns != y->columns) {
            return gpt2_fail(error, "stage %d: '%s' against '%s'", i, x->stage, y->stage);
        }
        double off = difference(x, y);
        bool good = off <= tolerance;
        printf("%5d  %-26s  %.2e%s\n", x->layer, x->stage, off,
               good    ? ""
               : *same ? "  <- the first that differs"
                       : "  x");
        *same = *same && good;
    }
    printf("%s against %s: %s, tolerance %.2e\n", options->kernels, options->against, *same ? "the same" : "different",
           tolerance);
    return true;
}

static bool run(struct session *session, const struct options *options, bool *same, struct gpt2_error *error) {
    static const double tolerances[] = {[GPT2_F32] = 1e-3, [GPT2_F16] = 0.04, [GPT2_BF16] = 0.32};
    static const char usual[] = "In the beginning God created the heaven and the earth.";
    const char *prompt = options->prompt_count > 0 ? options->prompts[0] : usual;
    struct gpt2_ids ids = {NULL, 0, 0};
    struct states a = {.count = 0}, b = {.count = 0};
    bool good = gpt2_tokenizer_encode(session->tokenizer, prompt, strlen(prompt), true, &ids, error);
    int most = session->weights.config.max_tokens;
    if (good && ids.count == 0) { good = gpt2_fail(error, "the prompt is empty"); }
    if (good && ids.count > (size_t)most) {
        good = gpt2_fail(error, "%s: the prompt has %zu tokens, and the model's context is %d", options->model,
                         ids.count, most);
    }
    good = good && collect(session, options, options->kernels, &ids, &a, error) &&
           collect(session, options, options->against, &ids, &b, error);
    if (good) {
        join_parts(&a);
        join_parts(&b);
        double tolerance = options->tolerance >= 0.0 ? options->tolerance : tolerances[session->type];
        good = compare(options, &a, &b, tolerance, same, error);
    }
    states_free(&a);
    states_free(&b);
    gpt2_ids_free(&ids);
    return good;
}

static bool is_dump(const char *name) {
    static const char end[] = ".safetensors";
    size_t length = strlen(name);
    return length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

int command_check(const struct options *options, struct gpt2_error *error) {
    struct session session;
    bool same = false;
    bool of_dump = is_dump(options->against);
    if (of_dump && options->prompt_count > 0) { return gpt2_fail(error, "a dump has its prompts: no --prompt"), 2; }
    if (!of_dump && options->json) { return gpt2_fail(error, "--json is of a dump, and --against names none"), 2; }
    if (options->prompt_count > 1) { return gpt2_fail(error, "check takes one --prompt"), 2; }
    if (!session_open(&session, options, error)) { return 2; }
    bool good = of_dump ? check_against_dump(&session, options, &same, error) : run(&session, options, &same, error);
    session_close(&session);
    return good ? !same : 2;
}
