/* check.c — gpt2 check: compares the hidden states of two kernel sets, or of a set and float64, on one prompt, stage by stage:
 * in one pass over the prompt, and when its second half is decoded token by token. check_dump.c compares with a dump of another
 * implementation.
 *
 * The difference of a stage is that of its worst row: the length of the row's difference over the length of the row. This
 * measure is comparable across stages and sizes. The largest difference of an element is not: in 16 bits, one element of
 * thousands is always far off by rounding. The first stage past the tolerance names the cause; the stages after it inherit its
 * error. */
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
    struct progress *progress; /* of the pass; NULL: not shown */
};

static float *states_add(struct states *all, const char *stage, int layer, int64_t rows, int64_t columns) {
    if (all->progress != NULL) { progress_at(all->progress, layer + 1); }
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

/* Joins the parts of one state: the logits of some rows, and the rows of one decoding step. */
static bool join_parts(struct states *all) {
    int count = 0;
    for (int i = 0; i < all->count; i++) {
        struct state from = all->at[i];
        int k = 0;
        while (k < count && (all->at[k].layer != from.layer || strcmp(all->at[k].stage, from.stage) != 0)) { k++; }
        if (k == count) {
            all->at[count++] = from;
            continue;
        }
        struct state *to = &all->at[k];
        size_t columns = (size_t)to->columns, rows = (size_t)(to->rows + from.rows);
        float *joined = realloc(to->values, rows * columns * sizeof *joined);
        all->no_memory = all->no_memory || joined == NULL;
        if (joined != NULL) {
            memcpy(joined + (size_t)to->rows * columns, from.values, (size_t)from.rows * columns * sizeof *joined);
            to->values = joined;
            to->rows += from.rows;
        }
        free(from.values);
    }
    all->count = count;
    return !all->no_memory;
}

/* The states of one set: of a pass over the prompt, and of decoding its tokens from `first` on, which has T - first rows. */
struct passes {
    struct states prompt, decoded;
    enum gpt2_form form; /* in which the set decodes when nothing is observed */
};

static void passes_free(struct passes *passes) {
    states_free(&passes->prompt);
    states_free(&passes->decoded);
}

static bool collect_reference(struct session *session, bool quiet, const int32_t *ids, int32_t T, int32_t first,
                              struct passes *passes, struct gpt2_error *error) {
    struct gpt2_source source = gpt2_weights_source(&session->weights);
    struct states *prompt = &passes->prompt;
    struct progress progress;
    progress_begin(&progress, "float64", "blocks", source.config.layers + 1, quiet);
    prompt->progress = &progress;
    bool good = gpt2_reference(&source, ids, T, keep_double, prompt, error);
    prompt->progress = NULL;
    progress_end(&progress);
    if (!good) { return false; }
    for (int i = 0; i < prompt->count && first < T; i++) {
        const struct state *of = &prompt->at[i];
        keep(&passes->decoded, of->stage, of->layer, of->values + first * of->columns, of->rows - first, of->columns);
    }
    return true;
}

static bool collect_set(struct session *session, const struct options *options, const char *set, const int32_t *ids,
                        int32_t T, int32_t first, struct passes *passes, struct gpt2_error *error) {
    float *logits = malloc((size_t)T * (size_t)session->weights.config.vocabulary * sizeof *logits);
    bool good = logits != NULL || gpt2_fail(error, "out of memory");
    good = good && session_start(session, options, set, 1, T, T, error);
    if (good) {
        struct progress progress;
        progress_begin(&progress, set, "blocks of the prompt", session->weights.config.layers + 1, options->quiet);
        passes->prompt.progress = &progress;
        passes->form = gpt2_model_decode_form(session->model, 1);
        gpt2_observe(session->model, keep, &passes->prompt);
        good = gpt2_all_logits(session->model, ids, &T, 1, T, logits, error);
        gpt2_observe(session->model, NULL, NULL);
        passes->prompt.progress = NULL;
        progress_end(&progress);
        good = good && gpt2_prefill(session->model, ids, &first, 1, first, error);
        gpt2_observe(session->model, keep, &passes->decoded);
        progress_begin(&progress, set, "decoded tokens", T - first, options->quiet);
        for (int32_t t = first; good && t < T; t++) {
            good = gpt2_decode(session->model, &ids[t], error) && gpt2_logits(session->model, logits, error);
            progress_at(&progress, t + 1 - first);
        }
        progress_end(&progress);
    }
    session_stop(session);
    free(logits);
    return good;
}

static bool collect(struct session *session, const struct options *options, const char *set, const struct gpt2_ids *ids,
                    struct passes *passes, struct gpt2_error *error) {
    int32_t T = (int32_t)ids->count, first = (T + 1) / 2;
    bool good = strcmp(set, "float64") == 0
                    ? collect_reference(session, options->quiet, ids->ids, T, first, passes, error)
                    : collect_set(session, options, set, ids->ids, T, first, passes, error);
    return good && ((join_parts(&passes->prompt) && join_parts(&passes->decoded)) ||
                    gpt2_fail(error, "out of memory for the hidden states"));
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

static const struct state *find(const struct states *all, const struct state *like) {
    for (int i = 0; i < all->count; i++) {
        const struct state *state = &all->at[i];
        if (state->layer == like->layer && strcmp(state->stage, like->stage) == 0) { return state; }
    }
    return NULL;
}

/* One cell of the table: a stage of one pass. */
struct cell {
    bool given, wrong;
    double off;
};

static struct cell cell_of(const struct state *x, const struct state *y, double tolerance) {
    if (x == NULL || y == NULL || x->rows != y->rows || x->columns != y->columns) {
        return (struct cell){.given = false};
    }
    double off = difference(x, y);
    return (struct cell){.given = true, .wrong = !(off <= tolerance), .off = off};
}

static void print_cell(struct cell cell) {
    if (cell.given) {
        printf("  %8.2e", cell.off);
    } else {
        printf("  %8s", "-");
    }
}

/* A token is decoded from what the pass over the prompt has left, so a mistake in the prompt is the first. */
static bool compare(const struct options *options, const struct passes *a, const struct passes *b, double tolerance,
                    bool *same, struct gpt2_error *error) {
    const struct states *x = &a->prompt, *y = &b->prompt;
    bool wrong = false, marked = false, wrong_decoded = false;
    if (x->count != y->count) { return gpt2_fail(error, "%d stages against %d", x->count, y->count); }
    for (int i = 0; i < x->count; i++) {
        const struct state *of = &x->at[i], *to = &y->at[i];
        if (strcmp(of->stage, to->stage) != 0 || of->rows != to->rows || of->columns != to->columns) {
            return gpt2_fail(error, "stage %d: '%s' against '%s'", i, of->stage, to->stage);
        }
        wrong = wrong || cell_of(of, to, tolerance).wrong;
    }
    printf("difference of the worst row / its length\n%-5s  %-26s  %8s  %8s\n", "layer", "stage", "prompt", "decoding");
    for (int i = 0; i < x->count; i++) {
        const struct state *of = &x->at[i];
        struct cell prompt = cell_of(of, &y->at[i], tolerance);
        struct cell decoded = cell_of(find(&a->decoded, of), find(&b->decoded, of), tolerance);
        bool first = !marked && (wrong ? prompt.wrong : decoded.wrong);
        printf("%5d  %-26s", of->layer, of->stage);
        print_cell(prompt);
        print_cell(decoded);
        printf("%s\n", first && wrong                  ? "  <- the first that differs"
                       : first                         ? "  <- the first that differs, in decoding only"
                       : prompt.wrong || decoded.wrong ? "  x"
                                                       : "");
        marked = marked || first;
        wrong_decoded = wrong_decoded || decoded.wrong;
    }
    *same = !wrong && !wrong_decoded;
    printf("%s against %s: %s, tolerance %.2e\n", options->kernels, options->against,
           *same   ? "the same"
           : wrong ? "different"
                   : "different in decoding only",
           tolerance);
    if (a->form == GPT2_FUSED || a->form == GPT2_PERSISTENT) {
        printf("decoding ran in the form taught: the steps of the form %s have no stages that could be compared\n",
               form_name(a->form));
    }
    return true;
}

static bool run(struct session *session, const struct options *options, bool *same, struct gpt2_error *error) {
    static const double tolerances[] = {[GPT2_F32] = 1e-3, [GPT2_F16] = 0.04, [GPT2_BF16] = 0.32};
    static const char usual[] = "In the beginning God created the heaven and the earth.";
    const char *prompt = options->prompts.count > 0 ? options->prompts.at[0] : usual;
    struct gpt2_ids ids = {NULL, 0, 0};
    struct passes a = {.form = GPT2_TAUGHT}, b = {.form = GPT2_TAUGHT};
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
        double tolerance = options->tolerance >= 0.0 ? options->tolerance : tolerances[session->type];
        good = compare(options, &a, &b, tolerance, same, error);
    }
    passes_free(&a);
    passes_free(&b);
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
    if (of_dump && options->prompts.count > 0) { return gpt2_fail(error, "a dump has its prompts: no --prompt"), 2; }
    if (!of_dump && options->json_file) { return gpt2_fail(error, "--json is of a dump, and --against names none"), 2; }
    if (options->prompts.count > 1) { return gpt2_fail(error, "check takes one --prompt"), 2; }
    if (!session_open(&session, options, error)) { return 2; }
    bool good = of_dump ? check_against_dump(&session, options, &same, error) : run(&session, options, &same, error);
    session_close(&session);
    return good ? !same : 2;
}
