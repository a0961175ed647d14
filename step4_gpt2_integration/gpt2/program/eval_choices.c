/* eval_choices.c — gpt2 eval --choices: which of some endings does the model find likeliest?
 *
 * A line is {"ctx": TEXT, "endings": [TEXT, ...], "label": NUMBER}: HellaSwag's form. The text of an ending is scored after ctx
 * and a blank: log p, summed over its tokens. acc: how often the right ending has the highest; acc_norm: the same for log p over
 * the ending's characters, so that short endings have no advantage. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples.h"
#include "gpt2/formats/json.h"

struct question {
    int first, endings, label; /* of the sequences */
};
struct choices {
    struct session *session;
    struct scored_sequences sequences; /* an ending each */
    int *characters;                   /* of each ending */
    double *scores;                    /* log p of each ending */
    struct question *questions;
    int count, room, character_room;
};

/* As Python counts them: bytes that do not go on with a character. */
static int count_characters(const char *text) {
    int count = 0;
    for (; *text != '\0'; text++) { count += ((unsigned char)*text & 0xc0) != 0x80; }
    return count;
}

static bool add_ending(struct choices *all, const char *context, const char *ending, const char *where,
                       struct gpt2_error *error) {
    size_t size = strlen(ending) + 2;
    char *text = malloc(size);
    if (text == NULL) { return gpt2_fail(error, "out of memory"); }
    snprintf(text, size, " %s", ending);
    bool good = scored_sequences_add(&all->sequences, all->session, context, strlen(context), text, where, error);
    free(text);
    if (good && all->sequences.count > all->character_room) {
        all->character_room = 2 * all->sequences.count;
        int *larger = realloc(all->characters, (size_t)all->character_room * sizeof *larger);
        if (larger == NULL) { return gpt2_fail(error, "out of memory"); }
        all->characters = larger;
    }
    if (good) { all->characters[all->sequences.count - 1] = count_characters(ending); }
    return good;
}

/* A number, or a text with one, as some copies of the data have it. */
static bool read_label(const cJSON *object, int endings, int *label, const char *where, struct gpt2_error *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, "label");
    const char *text = cJSON_GetStringValue(item);
    int64_t value = -1;
    if (text != NULL && text[0] >= '0' && text[0] <= '9' && text[1] == '\0') { value = text[0] - '0'; }
    if (text == NULL && !gpt2_json_integer(item, &value)) { value = -1; }
    *label = (int)(value < endings ? value : -1);
    return *label >= 0 || gpt2_fail(error, "%s: \"label\" has to be a number from 0 to %d", where, endings - 1);
}

static bool read_question(void *context, const cJSON *object, const char *where, struct gpt2_error *error) {
    struct choices *all = context;
    const char *text = example_text(object, "ctx", where, error);
    const cJSON *endings = cJSON_GetObjectItemCaseSensitive(object, "endings"), *ending;
    if (text == NULL) { return false; }
    struct question question = {.first = all->sequences.count, .endings = cJSON_GetArraySize(endings)};
    if (!cJSON_IsArray(endings) || question.endings < 2) {
        return gpt2_fail(error, "%s: \"endings\" has to be an array of two texts or more", where);
    }
    if (!read_label(object, question.endings, &question.label, where, error)) { return false; }
    cJSON_ArrayForEach(ending, endings) {
        const char *words = cJSON_GetStringValue(ending);
        if (words == NULL || words[0] == '\0') { return gpt2_fail(error, "%s: an ending is empty, or no text", where); }
        if (!add_ending(all, text, words, where, error)) { return false; }
    }
    if (all->count == all->room) {
        all->room = all->room > 0 ? 2 * all->room : 256;
        struct question *larger = realloc(all->questions, (size_t)all->room * sizeof *larger);
        if (larger == NULL) { return gpt2_fail(error, "out of memory"); }
        all->questions = larger;
    }
    all->questions[all->count++] = question;
    return true;
}

/* ---- scoring ---- */

/* Sequences first..first+B-1 as rows of T inputs; what is not scored has no target. */
static bool score_batch(struct choices *all, int first, int B, int32_t *tokens, int32_t *targets, float *losses,
                        struct gpt2_error *error) {
    int T = 1;
    for (int b = 0; b < B; b++) {
        int count = all->sequences.at[first + b].count;
        T = count - 1 > T ? count - 1 : T;
    }
    for (int b = 0; b < B; b++) {
        const struct scored_sequence *s = &all->sequences.at[first + b];
        const int32_t *ids = scored_sequence_ids(&all->sequences, first + b);
        for (int t = 0; t < T; t++) {
            tokens[(size_t)b * (size_t)T + (size_t)t] = t < s->count - 1 ? ids[t] : 0;
            targets[(size_t)b * (size_t)T + (size_t)t] =
                t < s->count - 1 && t >= s->count - 1 - s->scored ? ids[t + 1] : -1;
        }
    }
    if (!gpt2_losses(all->session->model, tokens, targets, B, T, losses, error)) { return false; }
    for (int b = 0; b < B; b++) {
        double sum = 0.0;
        for (int t = 0; t < T; t++) { sum -= (double)losses[(size_t)b * (size_t)T + (size_t)t]; }
        if (!isfinite(sum)) { return gpt2_fail(error, "%s: the loss is not finite", all->session->weights.file.path); }
        all->scores[first + b] = sum;
    }
    return true;
}

static bool score(struct choices *all, int batch, struct gpt2_error *error) {
    int count = all->sequences.count;
    size_t most = (size_t)batch * (size_t)all->sequences.longest;
    int32_t *tokens = malloc(most * sizeof *tokens), *targets = malloc(most * sizeof *targets);
    float *losses = malloc(most * sizeof *losses);
    all->scores = malloc((size_t)count * sizeof *all->scores);
    bool good = (tokens != NULL && targets != NULL && losses != NULL && all->scores != NULL) ||
                gpt2_fail(error, "out of memory");
    for (int first = 0; good && first < count; first += batch) {
        int B = count - first < batch ? count - first : batch;
        good = score_batch(all, first, B, tokens, targets, losses, error);
    }
    free(tokens);
    free(targets);
    free(losses);
    return good;
}

/* Of equal ones the first. */
static bool is_right(const struct choices *all, const struct question *q, bool normalised) {
    int best = 0;
    double highest = -INFINITY;
    for (int i = 0; i < q->endings; i++) {
        int at = q->first + i;
        double value = all->scores[at] / (normalised ? (double)all->characters[at] : 1.0);
        if (value > highest) { highest = value, best = i; }
    }
    return best == q->label;
}

static bool run(struct choices *all, const struct options *options, struct gpt2_error *error) {
    if (!examples_read(options->choices, read_question, all, error)) { return false; }
    int batch = options->batch < all->sequences.count ? options->batch : all->sequences.count;
    int T = all->sequences.longest - 1;
    if (!session_start(all->session, options, options->kernels, batch, T, T, error)) { return false; }
    double began = seconds();
    if (!score(all, batch, error)) { return false; }
    double took = seconds() - began;
    int right = 0, right_normalised = 0;
    for (int i = 0; i < all->count; i++) {
        right += is_right(all, &all->questions[i], false);
        right_normalised += is_right(all, &all->questions[i], true);
    }
    printf("examples %d  acc %.4f  acc_norm %.4f\n", all->count, (double)right / all->count,
           (double)right_normalised / all->count);
    if (!options->quiet) { fprintf(stderr, "%.1f endings/s\n", (double)all->sequences.count / took); }
    return true;
}

bool eval_choices(struct session *session, const struct options *options, struct gpt2_error *error) {
    struct choices all = {.session = session};
    bool good = run(&all, options, error);
    scored_sequences_free(&all.sequences);
    free(all.characters);
    free(all.scores);
    free(all.questions);
    return good;
}
