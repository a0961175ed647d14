/* check_dump.c — gpt2 check --against DUMP: the program beside what another implementation made of the same weights.
 *
 * The dump's prompts go through the model three times: all at once, padded, with every hidden state compared as it comes;
 * token by token through the cache; and as the beginning of what the model writes greedily. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "program.h"

struct check {
    struct session *session;
    struct dump dump;
    struct comparison comparison;
    struct gpt2_error *error;
    float *logits;       /* (B, T, V) */
    int32_t *next;       /* (B) */
    int first_different; /* prompt of the first greedy token that differs, counted from 1; 0: none does */
    int different_at;
    bool failed;
};

static void take(void *context, const char *stage, int layer, const float *values, int64_t rows, int64_t columns) {
    struct check *check = context;
    if (check->failed) { return; }
    check->failed = !comparison_add(&check->comparison, stage, layer, values, rows, columns, check->error);
}

static bool whole_prompts(struct check *check) {
    const struct dump *dump = &check->dump;
    struct gpt2_model *model = check->session->model;
    gpt2_observe(model, take, check);
    bool good = gpt2_all_logits(model, dump->tokens, dump->lengths, dump->B, dump->T, check->logits, check->error);
    gpt2_observe(model, NULL, NULL);
    return good && !check->failed;
}

/* The prompts' tokens at a position; -1 where a prompt has ended. */
static void tokens_at(const struct dump *dump, int position, int32_t *next) {
    for (int b = 0; b < dump->B; b++) {
        next[b] = position < dump->lengths[b] ? dump->tokens[(int64_t)b * dump->T + position] : -1;
    }
}

static bool decoding(struct check *check) {
    const struct dump *dump = &check->dump;
    struct gpt2_model *model = check->session->model;
    const struct gpt2_config *config = gpt2_model_config(model);
    const int64_t V = config->vocabulary;
    for (int b = 0; b < dump->B; b++) { check->next[b] = 1; } /* a length */
    int32_t *first = malloc((size_t)dump->B * sizeof *first);
    if (first == NULL) { return gpt2_fail(check->error, "out of memory"); }
    tokens_at(dump, 0, first);
    bool good = gpt2_prefill(model, first, check->next, dump->B, 1, check->error);
    free(first);
    for (int t = 0; good && t < dump->T; t++) {
        tokens_at(dump, t, check->next);
        good = (t == 0 || gpt2_decode(model, check->next, check->error)) &&
               gpt2_logits(model, check->logits, check->error);
        for (int b = 0; good && b < dump->B; b++) {
            if (check->next[b] < 0) { continue; }
            good = comparison_add_row(&check->comparison, "decoded logits", config->layers, check->logits + b * V, b, t,
                                      V, check->error);
        }
    }
    return good;
}

static int likeliest(const float *logits, int V) {
    int best = 0;
    for (int v = 1; v < V; v++) {
        if (logits[v] > logits[best]) { best = v; }
    }
    return best;
}

/* How many tokens are the same before the first that differs, over all prompts. A sequence rests after its first. */
static bool greedy(struct check *check) {
    const struct dump *dump = &check->dump;
    struct gpt2_model *model = check->session->model;
    const int V = gpt2_model_config(model)->vocabulary, layers = gpt2_model_config(model)->layers;
    int64_t same = 0, all = (int64_t)dump->B * dump->G;
    if (all == 0) { return true; }
    for (int b = 0; b < dump->B; b++) { check->next[b] = 0; }
    if (!gpt2_prefill(model, dump->tokens, dump->lengths, dump->B, dump->T, check->error)) { return false; }
    for (int i = 0; i < dump->G; i++) {
        if (i > 0 && !gpt2_decode(model, check->next, check->error)) { return false; }
        if (!gpt2_logits(model, check->logits, check->error)) { return false; }
        for (int b = 0; b < dump->B; b++) {
            if (check->next[b] < 0) { continue; }
            int wanted = dump->greedy[(int64_t)b * dump->G + i];
            bool equal = likeliest(check->logits + (int64_t)b * V, V) == wanted;
            if (!equal && check->first_different == 0) { check->first_different = b + 1, check->different_at = i + 1; }
            check->next[b] = equal ? wanted : -1;
            same += equal;
        }
    }
    struct quantity *q = comparison_quantity(&check->comparison, "greedy tokens", layers, check->error);
    if (q == NULL) { return false; }
    q->ours = (double)same, q->theirs = (double)all, q->ratio = (double)same / (double)all, q->target = 1.0;
    q->good = same == all;
    return true;
}

/* Equal to four digits. */
static bool perplexity(struct check *check) {
    const struct dump *dump = &check->dump;
    const size_t count = (size_t)dump->B * (size_t)dump->T;
    if (isnan(dump->loss)) { return true; }
    int32_t *targets = malloc(count * sizeof *targets);
    float *losses = malloc(count * sizeof *losses);
    bool good = (targets != NULL && losses != NULL) || gpt2_fail(check->error, "out of memory");
    for (int b = 0; good && b < dump->B; b++) {
        for (int t = 0; t < dump->T; t++) {
            int64_t at = (int64_t)b * dump->T + t;
            targets[at] = t + 1 < dump->lengths[b] ? dump->tokens[at + 1] : -1;
        }
    }
    good = good && gpt2_losses(check->session->model, dump->tokens, targets, dump->B, dump->T, losses, check->error);
    double loss = 0.0;
    for (size_t i = 0; good && i < count; i++) { loss += (double)losses[i] / (double)(dump->N - dump->B); }
    free(targets);
    free(losses);
    struct quantity *q = NULL;
    if (good) {
        q = comparison_quantity(&check->comparison, "perplexity", gpt2_model_config(check->session->model)->layers,
                                check->error);
    }
    if (q == NULL) { return false; }
    double off = fabs(loss - dump->loss), their_off = fabs(dump->loss_float32 - dump->loss);
    q->ours = exp(loss), q->theirs = exp(dump->loss_float32), q->target = 5e-5;
    q->ratio = their_off > 0.0 ? off / their_off : off == 0.0 ? 1.0 : INFINITY;
    q->good = fabs(exp(loss - dump->loss) - 1.0) <= q->target;
    return true;
}

/* ---- the report ---- */

static bool print(const struct check *check, const struct options *options) {
    const struct comparison *c = &check->comparison;
    bool same = true;
    printf("%-5s  %-26s  %12s  %14s  %6s\n", "layer", "stage", "error", "their float32", "ratio");
    for (int i = 0; i < c->count; i++) {
        const struct quantity *q = &c->quantities[i];
        bool counts = strcmp(q->stage, "greedy tokens") == 0, plain = counts || strcmp(q->stage, "perplexity") == 0;
        const char *mark = q->good ? "" : same ? "  <- the first that differs" : "  x";
        printf(plain ? "%5d  %-26s  %12.*f  %14.*f  %6.2f%s\n" : "%5d  %-26s  %12.*e  %14.*e  %6.2f%s\n", q->layer,
               q->stage,
               counts  ? 0
               : plain ? 4
                       : 2,
               q->ours,
               counts  ? 0
               : plain ? 4
                       : 2,
               q->theirs, q->ratio, mark);
        same = same && q->good;
    }
    if (check->first_different > 0) {
        printf("the greedy tokens after prompt %d differ from number %d on\n", check->first_different,
               check->different_at);
    }
    printf("%s against %s: %s, at most %.3g times their float32's error\n", options->kernels, options->against,
           same ? "the same" : "different", c->target);
    return same;
}

/* JSON has no NaN. */
static const char *number(double value, char *text, size_t size) {
    snprintf(text, size, isfinite(value) ? "%.9g" : "null", value);
    return text;
}

static bool write_lines(const struct comparison *c, const char *path, struct gpt2_error *error) {
    struct gpt2_output output;
    bool good = gpt2_output_begin(&output, path, error);
    for (int i = 0; good && i < c->count; i++) {
        const struct quantity *q = &c->quantities[i];
        char line[320], ours[32], theirs[32], ratio[32];
        int size =
            snprintf(line, sizeof line,
                     "{\"stage\": \"%s\", \"layer\": %d, \"ours\": %s, \"theirs\": %s, \"ratio\": %s, "
                     "\"target\": %.9g, \"good\": %s}\n",
                     q->stage, q->layer, number(q->ours, ours, sizeof ours), number(q->theirs, theirs, sizeof theirs),
                     number(q->ratio, ratio, sizeof ratio), q->target, q->good ? "true" : "false");
        good = gpt2_output_write(&output, line, (size_t)size, error);
    }
    good = good && gpt2_output_commit(&output, error);
    gpt2_output_abandon(&output);
    return good;
}

static bool compare(struct check *check, const struct options *options, bool *same) {
    const struct gpt2_config *config = &check->session->weights.config;
    const struct dump *dump = &check->dump;
    int context = dump->T + dump->G;
    check->comparison =
        (struct comparison){.dump = dump, .target = options->tolerance >= 0.0 ? options->tolerance : 2.0};
    check->logits = malloc((size_t)dump->B * (size_t)dump->T * (size_t)config->vocabulary * sizeof *check->logits);
    check->next = malloc((size_t)dump->B * sizeof *check->next);
    if (check->logits == NULL || check->next == NULL) { return gpt2_fail(check->error, "out of memory"); }
    if (!session_start(check->session, options, options->kernels, dump->B, dump->T, context, check->error) ||
        !whole_prompts(check) || !decoding(check) || !greedy(check) || !perplexity(check) ||
        !comparison_judge(&check->comparison, check->error)) {
        return false;
    }
    *same = print(check, options);
    return options->json == NULL || write_lines(&check->comparison, options->json, check->error);
}

bool check_against_dump(struct session *session, const struct options *options, bool *same, struct gpt2_error *error) {
    struct check check = {.session = session, .error = error};
    bool good =
        dump_open(&check.dump, options->against, &session->weights.config, error) && compare(&check, options, same);
    comparison_free(&check.comparison);
    dump_close(&check.dump);
    free(check.logits);
    free(check.next);
    return good;
}
