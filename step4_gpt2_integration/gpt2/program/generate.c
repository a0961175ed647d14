/* generate.c — gpt2 generate: continues each prompt. One prompt is streamed; the texts of several are printed at the end, in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "sample.h"

struct sequence {
    struct gpt2_ids ids; /* the prompt, then the written tokens */
    size_t prompt;
    struct sampler sampler;
    bool done;
};

struct generation {
    const struct options *options;
    struct session session;
    struct sequence sequences[MOST_PROMPTS];
    int B, longest, context, V;
    int choices;               /* the number of ids with a token: the first ones of V */
    struct gpt2_stream stream; /* of a single prompt */
    struct gpt2_text text;
    float *logits; /* (B, V) */
    int *candidates;
    long written;
};

static bool encode(struct generation *g, struct gpt2_error *error) {
    const struct options *options = g->options;
    const int most = g->session.weights.config.max_tokens;
    g->B = options->prompt_count > 0 ? options->prompt_count : 1;
    for (int b = 0; b < g->B; b++) {
        struct sequence *s = &g->sequences[b];
        const char *prompt = options->prompt_count > 0 ? options->prompts[b] : "";
        if (prompt[0] == '\0') { /* an empty prompt: the beginning of a document */
            prompt = "<|endoftext|>";
            if (gpt2_tokenizer_end_of_text(g->session.tokenizer) < 0) {
                return gpt2_fail(error, "%s: an empty prompt needs <|endoftext|>, which its tokenizer lacks",
                                 options->model);
            }
        }
        if (!gpt2_tokenizer_encode(g->session.tokenizer, prompt, strlen(prompt), true, &s->ids, error)) {
            return false;
        }
        s->prompt = s->ids.count;
        s->sampler =
            sampler_make(options->temperature, options->top_k, options->top_p, (uint64_t)options->seed, (uint64_t)b);
        if (s->prompt > (size_t)most) {
            return gpt2_fail(error, "%s: prompt %d has %zu tokens, and the model's context is %d", options->model,
                             b + 1, s->prompt, most);
        }
        s->done = s->prompt == (size_t)most; /* the context is full */
        g->longest = (int)s->prompt > g->longest ? (int)s->prompt : g->longest;
    }
    g->context = most - g->longest < options->tokens ? most : g->longest + options->tokens;
    return true;
}

static bool prefill(struct generation *g, struct gpt2_error *error) {
    int32_t *tokens = calloc((size_t)g->B * (size_t)g->longest, sizeof *tokens), lengths[MOST_PROMPTS];
    if (tokens == NULL) { return gpt2_fail(error, "out of memory"); }
    for (int b = 0; b < g->B; b++) {
        lengths[b] = (int32_t)g->sequences[b].prompt;
        memcpy(tokens + (int64_t)b * g->longest, g->sequences[b].ids.ids, g->sequences[b].prompt * sizeof *tokens);
    }
    bool good = gpt2_prefill(g->session.model, tokens, lengths, g->B, g->longest, error);
    free(tokens);
    return good;
}

static bool show(struct generation *g, struct gpt2_error *error) {
    if (g->text.size > 0) { fwrite(g->text.bytes, 1, g->text.size, stdout); }
    g->text.size = 0;
    return fflush(stdout) == 0 || gpt2_fail(error, "the text cannot be written to standard output");
}

/* Appends a token to the sequence, unless the token ends it. *next: the model's next input; -1 when the sequence is done. */
static bool take(struct generation *g, int b, int token, int32_t *next, struct gpt2_error *error) {
    struct sequence *s = &g->sequences[b];
    *next = -1;
    if (token < 0) { return gpt2_fail(error, "%s: the logits are NaN", g->options->model); }
    if (session_ends_at(&g->session, token) && !g->options->no_stop) {
        s->done = true;
        return true;
    }
    if (s->ids.count == s->ids.room) { return gpt2_fail(error, "a sequence is longer than its buffer"); }
    s->ids.ids[s->ids.count++] = token;
    g->written++;
    if (g->B == 1 && (!gpt2_stream_push(&g->stream, g->session.tokenizer, token, &g->text, error) || !show(g, error))) {
        return false;
    }
    s->done = s->ids.count - s->prompt >= (size_t)g->options->tokens || (int)s->ids.count >= g->context;
    *next = s->done ? -1 : token;
    return true;
}

static bool all_done(const struct generation *g) {
    for (int b = 0; b < g->B; b++) {
        if (!g->sequences[b].done) { return false; }
    }
    return true;
}

/* The host chooses each sequence's next token from the logits. */
static bool write_sampled(struct generation *g, struct gpt2_error *error) {
    int32_t next[MOST_PROMPTS];
    for (;;) {
        if (!gpt2_logits(g->session.model, g->logits, error)) { return false; }
        for (int b = 0; b < g->B; b++) {
            struct sequence *s = &g->sequences[b];
            next[b] = -1;
            if (s->done) { continue; }
            int token = sampler_choose(&s->sampler, g->logits + (int64_t)b * g->V, g->candidates, g->choices);
            if (!take(g, b, token, &next[b], error)) { return false; }
        }
        if (all_done(g)) { return true; }
        if (!gpt2_decode(g->session.model, next, error)) { return false; }
    }
}

/* The likeliest tokens, chosen on the device, several steps at a time: up to 16, as long as they take less than 0.1 s. */
static bool write_greedy(struct generation *g, struct gpt2_error *error) {
    enum { MOST_STEPS = 16 };
    int32_t chosen[MOST_PROMPTS * MOST_STEPS], unused;
    bool rests[MOST_PROMPTS];
    const int stop = g->options->no_stop ? -1 : session_end_token(&g->session);
    for (int steps = 1; !all_done(g);) {
        double start = seconds();
        for (int b = 0; b < g->B; b++) { rests[b] = g->sequences[b].done; }
        if (!gpt2_decode_greedy(g->session.model, steps, g->choices, stop, rests, chosen, error)) {
            return gpt2_fail(error, "%s: %s", g->options->model, error->text);
        }
        for (int b = 0; b < g->B; b++) {
            for (int i = 0; i < steps && !g->sequences[b].done; i++) {
                if (!take(g, b, chosen[b * steps + i], &unused, error)) { return false; }
            }
        }
        if (seconds() - start < 0.05 && 2 * steps <= MOST_STEPS) { steps *= 2; }
    }
    return true;
}

static bool make_room(struct generation *g, struct gpt2_error *error) {
    g->logits = malloc((size_t)g->B * (size_t)g->V * sizeof *g->logits);
    g->candidates = malloc((size_t)g->V * sizeof *g->candidates);
    if (g->logits == NULL || g->candidates == NULL) { return gpt2_fail(error, "out of memory"); }
    for (int b = 0; b < g->B; b++) {
        struct gpt2_ids *ids = &g->sequences[b].ids;
        int32_t *larger = realloc(ids->ids, (size_t)g->context * sizeof *larger);
        if (larger == NULL) { return gpt2_fail(error, "out of memory"); }
        ids->ids = larger;
        ids->room = (size_t)g->context;
    }
    return true;
}

static bool print_all(struct generation *g, struct gpt2_error *error) {
    for (int b = 0; b < g->B; b++) {
        const struct sequence *s = &g->sequences[b];
        printf("--- %d ---\n", b + 1);
        if (!gpt2_tokenizer_decode(g->session.tokenizer, s->ids.ids, s->ids.count, &g->text, error) ||
            !show(g, error)) {
            return false;
        }
        printf("\n");
    }
    return true;
}

static bool run(struct generation *g, struct gpt2_error *error) {
    const struct options *options = g->options;
    double opened = seconds();
    if (!session_start(&g->session, options, options->kernels, g->B, g->longest, g->context, error) ||
        !make_room(g, error)) {
        return false;
    }
    if (g->B == 1 && options->prompt_count == 1) { fputs(options->prompts[0], stdout), fflush(stdout); }
    double began = seconds();
    if (!prefill(g, error) || !gpt2_wait(g->session.model, error)) { return false; }
    double first = seconds();
    if (!(options->temperature == 0.0 ? write_greedy : write_sampled)(g, error)) { return false; }
    double ended = seconds();
    if (g->B == 1) {
        if (!gpt2_stream_end(&g->stream, &g->text, error) || !show(g, error)) { return false; }
        printf("\n");
    } else if (!print_all(g, error)) {
        return false;
    }
    if (!options->quiet) {
        double rate = ended > first ? (double)g->written / (ended - first) : 0.0;
        fprintf(
            stderr, "weights %.2f s; prompts %.1f ms; %ld tokens, %.1f tokens/s decoding, %.1f MB of device memory\n",
            began - opened, 1e3 * (first - began), g->written, rate, (double)gpt2_model_bytes(g->session.model) / 1e6);
    }
    return true;
}

int command_generate(const struct options *options, struct gpt2_error *error) {
    struct generation *g = calloc(1, sizeof *g);
    if (g == NULL) { return gpt2_fail(error, "out of memory"), 2; }
    g->options = options;
    bool limits = options->top_k > 0 || options->top_p < 1.0;
    bool good = options->temperature > 0.0 || !limits ||
                gpt2_fail(error, "--top-k and --top-p need a --temperature: without one the likeliest token is taken");
    good = good && session_open(&g->session, options, error);
    if (good) {
        g->V = g->session.weights.config.vocabulary;
        g->choices = gpt2_tokenizer_size(g->session.tokenizer);
        g->choices = g->choices < g->V ? g->choices : g->V;
        good = encode(g, error);
        good = good && run(g, error);
        for (int b = 0; b < MOST_PROMPTS; b++) { gpt2_ids_free(&g->sequences[b].ids); }
        session_close(&g->session);
    }
    free(g->logits);
    free(g->candidates);
    gpt2_text_free(&g->text);
    free(g);
    return good ? 0 : 2;
}
