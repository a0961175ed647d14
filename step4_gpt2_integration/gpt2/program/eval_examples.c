/* eval_examples.c — gpt2 eval on files of examples: JSON lines, each an object.
 *
 * --choices     {"ctx": TEXT, "endings": [TEXT, ...], "label": NUMBER}, the form of HellaSwag. Which ending is the likeliest? The
 *               score of an ending, after ctx and a space, is the sum of log p over its tokens. acc is the share of examples
 *               whose right ending has the highest score. acc_norm divides each score by the ending's number of characters
 *               first, so that short endings have no advantage.
 * --last-word   {"text": TEXT}, the form of LAMBADA. Is the last word the likeliest? The word and the space before it are
 *               predicted from the rest. acc is the share of words of which every token is the likeliest one. perplexity is
 *               exp(mean of -log p(word)), where p(word) is the product over the word's tokens. */
#define _GNU_SOURCE
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/file.h"
#include "gpt2/formats/json.h"
#include "program.h"

/* ---- the lines of a file ---- */

/* Called for each line, with its object and "FILE, line N" for messages. */
typedef bool example_reader(void *context, const cJSON *object, const char *where, struct gpt2_error *error);

static bool is_blank(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (strchr(" \t\r", text[i]) == NULL || text[i] == '\0') { return false; }
    }
    return true;
}

static bool read_lines(const struct gpt2_file *file, example_reader *read, void *context, struct gpt2_error *error) {
    const char *at = (const char *)file->bytes, *end = at + file->size;
    int examples = 0;
    for (int number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((newline != NULL ? newline : end) - at);
        if (!is_blank(at, size)) {
            char where[300];
            snprintf(where, sizeof where, "%.250s, line %d", file->path, number);
            cJSON *object = gpt2_json_parse(at, size, where, error);
            bool good = object != NULL && read(context, object, where, error);
            cJSON_Delete(object);
            if (!good) { return false; }
            examples++;
        }
        at += size + 1;
    }
    return examples > 0 || gpt2_fail(error, "%s: there is no example in it", file->path);
}

/* Reads every line that is not blank. False at the first broken line, or when there is none. */
static bool examples_read(const char *path, example_reader *read, void *context, struct gpt2_error *error) {
    struct gpt2_file file;
    if (!gpt2_file_open(&file, path, error)) { return false; }
    bool good = read_lines(&file, read, context, error);
    gpt2_file_close(&file);
    return good;
}

/* The object's text of that name; NULL and a message when it is missing, empty or no text. */
static const char *example_text(const cJSON *object, const char *name, const char *where, struct gpt2_error *error) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    if (text != NULL && text[0] != '\0') { return text; }
    gpt2_fail(error, "%s: \"%s\" is %s", where, name, text != NULL ? "empty" : "missing, or no text");
    return NULL;
}

/* ---- sequences ---- */

/* Token sequences. Each has a beginning, and an end that is scored. */
struct scored_sequence {
    size_t first;      /* its first id */
    int count, scored; /* tokens; scored tokens at the end: 1..count - 1 */
};
struct scored_sequences {
    struct gpt2_ids ids;
    struct scored_sequence *at;
    int count, room, longest;
};

static void scored_sequences_free(struct scored_sequences *all) {
    gpt2_ids_free(&all->ids);
    free(all->at);
    *all = (struct scored_sequences){.count = 0};
}

static struct scored_sequence *append(struct scored_sequences *all, struct gpt2_error *error) {
    if (all->count == all->room) {
        int room = all->room > 0 ? 2 * all->room : 256;
        struct scored_sequence *larger = realloc(all->at, (size_t)room * sizeof *larger);
        if (larger == NULL) {
            gpt2_fail(error, "out of memory");
            return NULL;
        }
        all->at = larger;
        all->room = room;
    }
    return &all->at[all->count++];
}

/* Appends a sequence. An empty beginning becomes <|endoftext|>. A beginning that is too long for the model loses its first
 * tokens. False also when the end alone is too long. */
static bool scored_sequences_add(struct scored_sequences *all, struct session *session, const char *beginning,
                                 size_t size, const char *end, const char *where, struct gpt2_error *error) {
    static const char document[] = "<|endoftext|>";
    const size_t most = (size_t)session->weights.config.max_tokens + 1; /* the last token is predicted, not read */
    size_t first = all->ids.count;
    if (size == 0) { beginning = document, size = strlen(document); }
    if (!gpt2_tokenizer_encode(session->tokenizer, beginning, size, true, &all->ids, error)) { return false; }
    size_t middle = all->ids.count;
    if (!gpt2_tokenizer_encode(session->tokenizer, end, strlen(end), true, &all->ids, error)) { return false; }
    size_t scored = all->ids.count - middle;
    if (scored + 1 > most) {
        return gpt2_fail(error, "%s: %zu tokens to be predicted, and the model's context is %zu", where, scored,
                         most - 1);
    }
    if (all->ids.count - first > most) { first = all->ids.count - most; }
    struct scored_sequence *sequence = append(all, error);
    if (sequence == NULL) { return false; }
    *sequence = (struct scored_sequence){.first = first, .count = (int)(all->ids.count - first), .scored = (int)scored};
    all->longest = sequence->count > all->longest ? sequence->count : all->longest;
    return true;
}

static const int32_t *scored_sequence_ids(const struct scored_sequences *all, int i) {
    return all->ids.ids + all->at[i].first;
}

/* ---- --choices ---- */

struct question {
    int first, endings, label; /* first, endings: of the sequences */
};
struct choices {
    struct session *session;
    struct scored_sequences sequences; /* an ending each */
    int *characters;                   /* of each ending */
    double *scores;                    /* log p of each ending */
    struct question *questions;
    int count, room, character_room;
};

/* Unicode characters, as Python counts them: the bytes that are no continuation bytes. */
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

/* A number, or, in some copies of the data, a text with one digit. */
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

/* Sequences first..first+B-1 as rows of T inputs. Tokens that are not scored have no target. */
static bool score_endings(struct choices *all, int first, int B, int32_t *tokens, int32_t *targets, float *losses,
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

static bool score(struct choices *all, int batch, bool quiet, struct gpt2_error *error) {
    int count = all->sequences.count;
    struct progress progress;
    size_t most = (size_t)batch * (size_t)all->sequences.longest;
    int32_t *tokens = malloc(most * sizeof *tokens), *targets = malloc(most * sizeof *targets);
    float *losses = malloc(most * sizeof *losses);
    all->scores = malloc((size_t)count * sizeof *all->scores);
    bool good = (tokens != NULL && targets != NULL && losses != NULL && all->scores != NULL) ||
                gpt2_fail(error, "out of memory");
    progress_begin(&progress, "scoring", "endings", count, quiet);
    for (int first = 0; good && first < count; first += batch) {
        int B = count - first < batch ? count - first : batch;
        progress_of_pass(&progress, all->session->model, first, B);
        good = score_endings(all, first, B, tokens, targets, losses, error);
        progress_pass_end(&progress, all->session->model);
        progress_at(&progress, first + B);
    }
    progress_end(&progress);
    free(tokens);
    free(targets);
    free(losses);
    return good;
}

/* Of equal scores the first one counts as the highest. */
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

static bool run_choices(struct choices *all, const struct options *options, struct gpt2_error *error) {
    if (!examples_read(options->choices, read_question, all, error)) { return false; }
    int batch = options->batch < all->sequences.count ? options->batch : all->sequences.count;
    int T = all->sequences.longest - 1;
    if (!session_start(all->session, options, options->kernels, batch, T, T, error)) { return false; }
    double began = seconds();
    if (!score(all, batch, options->quiet, error)) { return false; }
    double took = seconds() - began;
    int right = 0, right_normalised = 0;
    for (int i = 0; i < all->count; i++) {
        right += is_right(all, &all->questions[i], false);
        right_normalised += is_right(all, &all->questions[i], true);
    }
    printf("examples %d  acc %.4f  acc_norm %.4f\n", all->count, (double)right / all->count,
           (double)right_normalised / all->count);
    fflush(stdout);
    if (!options->quiet) { fprintf(stderr, "%.1f endings/s\n", (double)all->sequences.count / took); }
    return true;
}

bool eval_choices(struct session *session, const struct options *options, struct gpt2_error *error) {
    struct choices all = {.session = session};
    bool good = run_choices(&all, options, error);
    scored_sequences_free(&all.sequences);
    free(all.characters);
    free(all.scores);
    free(all.questions);
    return good;
}

/* ---- --last-word ---- */

struct last_words {
    struct session *session;
    struct scored_sequences sequences;
    int batch;
    int32_t *tokens, *lengths, *next; /* (B, T), (B), (B) */
    bool *right;                      /* (B): so far every token of the word was the likeliest */
    float *logits;                    /* (B, V) */
    int found;
    double loss; /* summed */
};

static bool read_passage(void *context, const cJSON *object, const char *where, struct gpt2_error *error) {
    struct last_words *all = context;
    const char *text = example_text(object, "text", where, error);
    char *copy = text != NULL ? strdup(text) : NULL;
    if (copy == NULL) { return text != NULL ? gpt2_fail(error, "out of memory") : false; }
    for (size_t size = strlen(copy); size > 0 && strchr(" \t\r\n", copy[size - 1]) != NULL;) { copy[--size] = '\0'; }
    const char *blank = strrchr(copy, ' ');
    bool good = (blank != NULL && blank > copy) || gpt2_fail(error, "%s: \"text\" has no two words", where);
    good =
        good && scored_sequences_add(&all->sequences, all->session, copy, (size_t)(blank - copy), blank, where, error);
    free(copy);
    return good;
}

/* -log p of a token. *likeliest: it has the highest logit; of equal ones, the first. */
static double loss_of(const float *logits, int V, int token, bool *likeliest) {
    int best = 0;
    for (int v = 1; v < V; v++) {
        if (logits[v] > logits[best]) { best = v; }
    }
    double sum = 0.0;
    for (int v = 0; v < V; v++) { sum += exp((double)logits[v] - (double)logits[best]); }
    *likeliest = best == token;
    return log(sum) + (double)logits[best] - (double)logits[token];
}

/* All beginnings in one pass, then the words token by token. */
static bool score_passages(struct last_words *all, int first, int B, struct gpt2_error *error) {
    struct gpt2_model *model = all->session->model;
    const int V = all->session->weights.config.vocabulary;
    const struct scored_sequence *at = all->sequences.at + first;
    int T = 1, words = 1;
    for (int b = 0; b < B; b++) {
        all->lengths[b] = at[b].count - at[b].scored;
        all->right[b] = true;
        T = all->lengths[b] > T ? all->lengths[b] : T;
        words = at[b].scored > words ? at[b].scored : words;
    }
    for (int b = 0; b < B; b++) {
        memcpy(all->tokens + (int64_t)b * T, scored_sequence_ids(&all->sequences, first + b),
               (size_t)all->lengths[b] * sizeof *all->tokens);
    }
    if (!gpt2_prefill(model, all->tokens, all->lengths, B, T, error)) { return false; }
    for (int i = 0; i < words; i++) {
        if (i > 0 && !gpt2_decode(model, all->next, error)) { return false; }
        if (!gpt2_logits(model, all->logits, error)) { return false; }
        for (int b = 0; b < B; b++) {
            if (i >= at[b].scored) { continue; }
            int token = scored_sequence_ids(&all->sequences, first + b)[all->lengths[b] + i];
            bool likeliest;
            all->loss += loss_of(all->logits + (int64_t)b * V, V, token, &likeliest);
            all->right[b] = all->right[b] && likeliest;
            all->next[b] = i + 1 < at[b].scored ? token : -1;
        }
    }
    for (int b = 0; b < B; b++) { all->found += all->right[b]; }
    return true;
}

static bool make_room(struct last_words *all, struct gpt2_error *error) {
    size_t V = (size_t)all->session->weights.config.vocabulary, B = (size_t)all->batch;
    all->tokens = malloc(B * (size_t)all->sequences.longest * sizeof *all->tokens);
    all->lengths = malloc(B * sizeof *all->lengths);
    all->next = malloc(B * sizeof *all->next);
    all->right = malloc(B * sizeof *all->right);
    all->logits = malloc(B * V * sizeof *all->logits);
    return (all->tokens && all->lengths && all->next && all->right && all->logits) || gpt2_fail(error, "out of memory");
}

static bool run_last_words(struct last_words *all, const struct options *options, struct gpt2_error *error) {
    if (!examples_read(options->last_word, read_passage, all, error)) { return false; }
    int count = all->sequences.count, T = all->sequences.longest - 1;
    all->batch = options->batch < count ? options->batch : count;
    if (!make_room(all, error) || !session_start(all->session, options, options->kernels, all->batch, T, T, error)) {
        return false;
    }
    struct progress progress;
    bool good = true;
    progress_begin(&progress, "scoring", "passages", count, options->quiet);
    double began = seconds();
    for (int first = 0; good && first < count; first += all->batch) {
        int B = count - first < all->batch ? count - first : all->batch;
        good = score_passages(all, first, B, error);
        progress_at(&progress, first + B);
    }
    progress_end(&progress);
    if (!good) { return false; }
    double took = seconds() - began, mean = all->loss / count;
    if (!isfinite(mean)) { return gpt2_fail(error, "%s: the loss is not finite", options->model); }
    printf("examples %d  acc %.4f  perplexity %.4f\n", count, (double)all->found / count, exp(mean));
    fflush(stdout);
    if (!options->quiet) { fprintf(stderr, "%.1f passages/s\n", (double)count / took); }
    return true;
}

bool eval_last_word(struct session *session, const struct options *options, struct gpt2_error *error) {
    struct last_words all = {.session = session};
    bool good = run_last_words(&all, options, error);
    scored_sequences_free(&all.sequences);
    free(all.tokens);
    free(all.lengths);
    free(all.next);
    free(all.right);
    free(all.logits);
    return good;
}
