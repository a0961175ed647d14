/* eval_last_word.c — gpt2 eval --last-word: does the model find the last word of a passage?
 *
 * A line is {"text": TEXT}: LAMBADA's form. What follows the last blank is the word; it and the blank before it are to be predicted
 * from the rest. acc: how often every token of the word is the likeliest one. perplexity: exp(mean of -log p(word)), p(word) being
 * the product over its tokens. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples.h"

struct last_words {
    struct session *session;
    struct scored_sequences sequences;
    int batch;
    int32_t *tokens, *lengths, *next; /* of a batch: (B, T), (B), (B) */
    bool *right;                      /* (B): every token of the word so far was the likeliest one */
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

/* -log p of a token, and whether it is the likeliest (of equal ones the first). */
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

/* The passages' beginnings at once, then a token of each word after the other. */
static bool score_batch(struct last_words *all, int first, int B, struct gpt2_error *error) {
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

static bool run(struct last_words *all, const struct options *options, struct gpt2_error *error) {
    if (!examples_read(options->last_word, read_passage, all, error)) { return false; }
    int count = all->sequences.count, T = all->sequences.longest - 1;
    all->batch = options->batch < count ? options->batch : count;
    if (!make_room(all, error) || !session_start(all->session, options, options->kernels, all->batch, T, T, error)) {
        return false;
    }
    double began = seconds();
    for (int first = 0; first < count; first += all->batch) {
        if (!score_batch(all, first, count - first < all->batch ? count - first : all->batch, error)) { return false; }
    }
    double took = seconds() - began, mean = all->loss / count;
    if (!isfinite(mean)) { return gpt2_fail(error, "%s: the loss is not finite", options->model); }
    printf("examples %d  acc %.4f  perplexity %.4f\n", count, (double)all->found / count, exp(mean));
    if (!options->quiet) { fprintf(stderr, "%.1f passages/s\n", (double)count / took); }
    return true;
}

bool eval_last_word(struct session *session, const struct options *options, struct gpt2_error *error) {
    struct last_words all = {.session = session};
    bool good = run(&all, options, error);
    scored_sequences_free(&all.sequences);
    free(all.tokens);
    free(all.lengths);
    free(all.next);
    free(all.right);
    free(all.logits);
    return good;
}
