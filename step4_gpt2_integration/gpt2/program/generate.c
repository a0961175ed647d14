/* generate.c — gpt2 generate: continues each prompt. One prompt is streamed; the texts of several are printed at the end, in
 * order.
 *
 * Of a model that is divided among ranks (ranks.h) each rank makes the same passes, chooses the same tokens and takes the same
 * decisions. */
#include "generate.h"

#include <stdlib.h>
#include <string.h>

/* ---- the prompts ---- */

static int most_tokens(const struct generation *g) {
    return g->session.weights.config.max_tokens;
}

static bool encode_prompt(struct generation *g, int b, struct gpt2_error *error) {
    static const char document[] = "<|endoftext|>";
    const struct options *options = g->options;
    struct sequence *s = &g->sequences[b];
    const struct gpt2_text *prompt = &g->prompts.at[b];
    bool empty = prompt->size == 0; /* the beginning of a document */
    if (empty && gpt2_tokenizer_end_of_text(g->session.tokenizer) < 0) {
        return gpt2_fail(error, "%s: an empty prompt needs %s, which its tokenizer lacks", options->model, document);
    }
    if (!gpt2_tokenizer_encode(g->session.tokenizer, empty ? document : prompt->bytes,
                               empty ? strlen(document) : prompt->size, true, &s->ids, error)) {
        return false;
    }
    s->prompt = s->ids.count;
    s->search.stops = &options->stops;
    g->random[b] = gpt2_random_begin((uint64_t)options->seed, (uint64_t)b);
    if (s->prompt > (size_t)most_tokens(g)) {
        return gpt2_fail(error, "%s: prompt %d has %zu tokens, and the model's context is %d", options->model, b + 1,
                         s->prompt, most_tokens(g));
    }
    /* A character may begin in the prompt and end in the first token. */
    return options->json || gpt2_stream_bytes(&s->stream, prompt->bytes, prompt->size, &s->text, error);
}

/* On all ranks the first one's prompts: standard input is the first one's alone. */
static bool share_prompts(struct generation *g, struct gpt2_error *error) {
    const bool first = g->group.rank == 0;
    if (!gpt2_collective_agree(&g->group, !first || prompts_read(&g->prompts, g->options, error), NULL, error) ||
        !gpt2_collective_broadcast(&g->group, &g->prompts.count, sizeof g->prompts.count, error)) {
        return false;
    }
    for (int b = 0; b < g->prompts.count; b++) {
        struct gpt2_text *prompt = &g->prompts.at[b];
        if (!gpt2_collective_broadcast(&g->group, &prompt->size, sizeof prompt->size, error)) { return false; }
        if (!first) { prompt->bytes = calloc(1, prompt->size + 1); }
        bool good = prompt->bytes != NULL || gpt2_fail(error, "out of memory");
        if (!gpt2_collective_agree(&g->group, good, NULL, error) ||
            !gpt2_collective_broadcast(&g->group, prompt->bytes, prompt->size, error)) {
            return false;
        }
    }
    return true;
}

static bool encode(struct generation *g, struct gpt2_error *error) {
    const struct options *options = g->options;
    const int most = most_tokens(g);
    g->B = g->prompts.count;
    for (int b = 0; b < g->B; b++) {
        if (!encode_prompt(g, b, error)) { return false; }
        int prompt = (int)g->sequences[b].prompt;
        g->longest = prompt > g->longest ? prompt : g->longest;
    }
    g->context = most - g->longest < options->tokens ? most : g->longest + options->tokens;
    return true;
}

/* ---- the context ---- */

static size_t in_context(const struct sequence *s) {
    return s->ids.count - s->first;
}

/* A full context ends the sequence, or with --context-shift loses the older half of its tokens. *shifted: it has. */
static void fill_context(struct generation *g, struct sequence *s, bool *shifted) {
    size_t most = (size_t)most_tokens(g);
    if (s->ending != GOES_ON || in_context(s) < most) { return; }
    if (!g->options->context_shift) {
        s->ending = BY_CONTEXT;
    } else {
        s->first += most / 2;
        *shifted = true;
    }
}

/* One pass over what each sequence has in its context. */
static bool prefill(struct generation *g, struct progress *progress, struct gpt2_error *error) {
    int32_t lengths[MOST_PROMPTS];
    int T = 1;
    for (int b = 0; b < g->B; b++) {
        lengths[b] = (int32_t)in_context(&g->sequences[b]);
        T = lengths[b] > T ? lengths[b] : T;
    }
    for (int b = 0; b < g->B; b++) {
        const struct sequence *s = &g->sequences[b];
        memcpy(g->tokens + (int64_t)b * T, s->ids.ids + s->first, (size_t)lengths[b] * sizeof *g->tokens);
        for (int t = lengths[b]; t < T; t++) { g->tokens[(int64_t)b * T + t] = 0; }
    }
    if (progress != NULL) { progress_of_pass(progress, g->session.model, 0.0, progress->total); }
    bool good = gpt2_prefill(g->session.model, g->tokens, lengths, g->B, T, error) &&
                (progress == NULL || gpt2_wait(g->session.model, error));
    if (progress != NULL) { progress_pass_end(progress, g->session.model); }
    return good;
}

/* The tokens that were written since the last pass are in the sequences. *passed: their contexts were computed anew. */
static bool shift_contexts(struct generation *g, bool *passed, struct gpt2_error *error) {
    *passed = false;
    for (int b = 0; b < g->B; b++) { fill_context(g, &g->sequences[b], passed); }
    return !*passed || prefill(g, NULL, error);
}

/* ---- the text ---- */

static bool write_out(struct generation *g, const char *bytes, size_t size, struct gpt2_error *error) {
    if (size > 0) {
        fwrite(bytes, 1, size, stdout);
        g->last = bytes[size - 1];
    }
    return fflush(stdout) == 0 || gpt2_fail(error, "the text cannot be written to standard output");
}

static bool show(struct generation *g, struct sequence *s, struct gpt2_error *error) {
    size_t size = s->text.size;
    s->text.size = 0;
    return write_out(g, s->text.bytes, size, error);
}

/* After a text: figures, errors and the next text begin on a line of their own. */
static bool end_line(struct generation *g, struct gpt2_error *error) {
    return g->last == '\n' || write_out(g, "\n", 1, error);
}

static bool is_streamed(const struct generation *g) {
    return g->B == 1 && !g->options->json;
}

static bool add_text(struct generation *g, struct sequence *s, int token, struct gpt2_error *error) {
    size_t size;
    const uint8_t *bytes = gpt2_tokenizer_token(g->session.tokenizer, token, &size);
    struct gpt2_text passed = {NULL, 0, 0};
    if (bytes == NULL) { return gpt2_fail(error, "%s: no token has the id %d", g->options->model, token); }
    bool good = stop_push(&s->search, bytes, size, &passed, &s->stop, error) &&
                gpt2_stream_bytes(&s->stream, passed.bytes, passed.size, &s->text, error);
    gpt2_text_free(&passed);
    if (s->stop != NULL) { s->ending = BY_STOP; }
    return good && (!is_streamed(g) || show(g, s, error));
}

static bool end_text(struct sequence *s, struct gpt2_error *error) {
    struct gpt2_text passed = {NULL, 0, 0};
    bool good = stop_flush(&s->search, &passed, error) &&
                gpt2_stream_bytes(&s->stream, passed.bytes, passed.size, &s->text, error) &&
                gpt2_stream_end(&s->stream, &s->text, error);
    gpt2_text_free(&passed);
    return good;
}

/* ---- the tokens ---- */

/* Appends a token to the sequence, unless the token ends it. */
static bool take(struct generation *g, struct sequence *s, int token, struct gpt2_error *error) {
    if (token < 0) { return gpt2_fail(error, "%s: the logits are NaN", g->options->model); }
    if (session_ends_at(&g->session, token) && !g->options->no_stop) {
        s->ending = BY_END_OF_TEXT;
        return true;
    }
    if (s->ids.count == s->ids.room) { return gpt2_fail(error, "a sequence is longer than its buffer"); }
    s->ids.ids[s->ids.count++] = token;
    g->written++;
    if (!add_text(g, s, token, error)) { return false; }
    if (s->ending == GOES_ON && s->ids.count - s->prompt >= (size_t)g->options->tokens) { s->ending = BY_TOKENS; }
    return true;
}

static bool all_done(const struct generation *g) {
    for (int b = 0; b < g->B; b++) {
        if (g->sequences[b].ending == GOES_ON) { return false; }
    }
    return true;
}

/* The first rank writes, which a slow terminal may delay: the others wait for it without a limit. Every rank calls both, before
 * and after.
 * steps: becomes the first rank's. */
static void begin_writing(const struct generation *g) {
    if (g->group.rank > 0) { gpt2_collective_limit(&g->group, 0.0); }
}

static bool end_writing(const struct generation *g, int *steps, struct gpt2_error *error) {
    if (!gpt2_collective_broadcast(&g->group, steps, sizeof *steps, error)) { return false; }
    gpt2_collective_limit(&g->group, g->options->rank_timeout);
    return true;
}

/* The chosen tokens, on all ranks. */
static bool agree_on(struct generation *g, const int32_t *tokens, int count, struct gpt2_error *error) {
    g->alike = !ranks_agree_on(&g->group, tokens, count, error);
    return !g->alike;
}

/* The ids that the repetition penalty applies to: those in the context. */
static void mark_seen(const struct generation *g, int b) {
    const struct sequence *s = &g->sequences[b];
    uint8_t *seen = g->seen + (int64_t)b * g->V;
    memset(seen, 0, (size_t)g->V);
    for (size_t i = s->first; i < s->ids.count; i++) {
        if (s->ids.ids[i] < g->V) { seen[s->ids.ids[i]] = 1; }
    }
}

/* Tokens are chosen on the device, several steps at a time: up to 16, as long as they take less than 0.1 s. */
static bool write_tokens(struct generation *g, struct gpt2_error *error) {
    enum { MOST_STEPS = 16 };
    const struct options *options = g->options;
    struct gpt2_draws draws = {.by = g->sampling, .random = g->random, .seen = g->seen};
    int32_t chosen[MOST_PROMPTS * MOST_STEPS];
    bool rests[MOST_PROMPTS], passed;
    const int stop = options->no_stop ? -1 : session_end_token(&g->session);
    for (int steps = 1; !all_done(g);) {
        double start = seconds();
        for (int b = 0; b < g->B; b++) {
            rests[b] = g->sequences[b].ending != GOES_ON;
            if (g->sampling.repetition_penalty != 1.0) { mark_seen(g, b); }
        }
        if (!gpt2_decode_choosing(g->session.model, steps, g->choices, stop, &draws, rests, chosen, error)) {
            return gpt2_fail(error, "%s: %s", g->options->model, error->text);
        }
        if (!agree_on(g, chosen, g->B * steps, error)) { return false; }
        begin_writing(g);
        for (int b = 0; b < g->B; b++) {
            struct sequence *s = &g->sequences[b];
            for (int i = 0; i < steps && s->ending == GOES_ON && in_context(s) < (size_t)most_tokens(g); i++) {
                if (!take(g, s, chosen[b * steps + i], error)) { return false; }
            }
        }
        if (seconds() - start < 0.05 && 2 * steps <= MOST_STEPS) { steps *= 2; } /* of the first rank's clock */
        if (!end_writing(g, &steps, error) || !shift_contexts(g, &passed, error)) { return false; }
    }
    return true;
}

/* ---- a run ---- */

static bool make_buffers(struct generation *g, struct gpt2_error *error) {
    const size_t B = (size_t)g->B;
    g->seen = malloc(B * (size_t)g->V);
    g->tokens = malloc(B * (size_t)most_tokens(g) * sizeof *g->tokens);
    if (g->seen == NULL || g->tokens == NULL) { return gpt2_fail(error, "out of memory"); }
    for (int b = 0; b < g->B; b++) {
        struct gpt2_ids *ids = &g->sequences[b].ids;
        size_t room = ids->count + (size_t)g->options->tokens;
        int32_t *larger = realloc(ids->ids, room * sizeof *larger);
        if (larger == NULL) { return gpt2_fail(error, "out of memory"); }
        ids->ids = larger;
        ids->room = room;
    }
    return true;
}

static bool print_texts(struct generation *g, struct gpt2_error *error) {
    for (int b = 0; b < g->B; b++) {
        struct sequence *s = &g->sequences[b];
        if (!end_text(s, error)) { return false; }
        if (g->options->json) { continue; }
        if (!is_streamed(g)) {
            printf("--- %d ---\n", b + 1);
            g->last = '\0';
        }
        if (!show(g, s, error) || !end_line(g, error)) { return false; }
    }
    return !g->options->json || generate_print_json(g, error);
}

/* A context that ended a text before its time. */
static void note_full_contexts(const struct generation *g) {
    for (int b = 0; b < g->B; b++) {
        const struct sequence *s = &g->sequences[b];
        char which[32] = "";
        if (s->ending != BY_CONTEXT) { continue; }
        if (g->B > 1) { snprintf(which, sizeof which, "prompt %d: ", b + 1); }
        fprintf(stderr,
                "gpt2: note: %sthe context of %d tokens is full after %zu of %d new ones; --context-shift continues\n",
                which, most_tokens(g), s->ids.count - s->prompt, g->options->tokens);
    }
}

static bool open_model(struct generation *g, struct gpt2_error *error) {
    const struct options *options = g->options;
    const int most = most_tokens(g);
    if (options->context_shift && most < 2) {
        return gpt2_fail(error, "%s: --context-shift needs a context of two tokens or more", options->model);
    }
    /* A shift computes contexts anew: half of one, and beside it the whole ones of other sequences. */
    int longest_pass = !options->context_shift || g->context < most ? 1 : g->B > 1 ? most : most - most / 2;
    if (g->longest > longest_pass) { longest_pass = g->longest; }
    g->session.division = ranks_division(&g->division, &g->group);
    return session_start(&g->session, options, options->kernels, g->B, longest_pass, g->context, error) &&
           make_buffers(g, error);
}

static bool write_texts(struct generation *g, struct gpt2_error *error) {
    const struct options *options = g->options;
    struct progress progress;
    bool shifted = false;
    double began = seconds();
    for (int b = 0; b < g->B; b++) { fill_context(g, &g->sequences[b], &shifted); }
    progress_begin(&progress, "reading", g->B > 1 ? "tokens of the longest prompt" : "prompt tokens", g->longest,
                   options->quiet);
    bool good = prefill(g, &progress, error);
    progress_end(&progress);
    double first = seconds();
    if (!good || (is_streamed(g) && !show(g, &g->sequences[0], error))) { return false; }
    if (!write_tokens(g, error)) { return false; }
    g->decode_form = gpt2_model_decode_form(g->session.model, g->B);
    g->prompt_seconds = first - began, g->decode_seconds = seconds() - first;
    if (!print_texts(g, error)) { return false; }
    if (options->quiet) { return true; }
    note_full_contexts(g);
    double rate = g->decode_seconds > 0.0 ? (double)g->written / g->decode_seconds : 0.0;
    char among[32] = "";
    if (g->group.ranks > 1) { snprintf(among, sizeof among, " of each of %d ranks", g->group.ranks); }
    fprintf(stderr,
            "weights %.2f s; prompts %.1f ms; %ld token%s, %.1f tokens/s decoding (%s), %.1f MB of device memory%s\n",
            g->load_seconds, 1e3 * g->prompt_seconds, g->written, g->written == 1 ? "" : "s", rate,
            form_name(g->decode_form), (double)gpt2_model_bytes(g->session.model) / 1e6, among);
    return true;
}

static bool run(struct generation *g, struct gpt2_error *error) {
    double opened = seconds();
    if (!gpt2_collective_agree(&g->group, open_model(g, error), NULL, error)) { return false; }
    g->load_seconds = seconds() - opened;
    bool good = write_texts(g, error);
    if (!good && g->last != '\0') { end_line(g, NULL); }
    return ranks_passed(&g->group, good || g->alike, error) && good;
}

static bool check_options(struct generation *g, struct gpt2_error *error) {
    for (int i = 0; i < g->options->stops.count; i++) {
        if (g->options->stops.at[i][0] == '\0') { return gpt2_fail(error, "--stop is empty: TEXT"); }
    }
    return sampling_of(&g->sampling, g->options, error);
}

int command_generate(const struct options *given, struct gpt2_error *error) {
    struct options options = *given;
    struct generation *g = calloc(1, sizeof *g);
    if (g == NULL) { return gpt2_fail(error, "out of memory"), 2; }
    g->options = &options;
    bool good = ranks_open(&g->group, check_options(g, error), &options, error), open = false;
    if (good) {
        open = session_open(&g->session, &options, error);
        good = gpt2_collective_agree(&g->group, open, NULL, error);
    }
    if (good) {
        g->V = g->session.weights.config.vocabulary;
        g->choices = gpt2_tokenizer_size(g->session.tokenizer);
        g->choices = g->choices < g->V ? g->choices : g->V;
        good =
            share_prompts(g, error) && gpt2_collective_agree(&g->group, encode(g, error), NULL, error) && run(g, error);
    }
    for (int b = 0; b < MOST_PROMPTS; b++) {
        gpt2_ids_free(&g->sequences[b].ids);
        gpt2_text_free(&g->sequences[b].text);
        stop_close(&g->sequences[b].search);
    }
    if (open) { session_close(&g->session); }
    int status = ranks_close(&g->group, good, error); /* after the model, whose graphs hold sums */
    prompts_close(&g->prompts);
    free(g->seen);
    free(g->tokens);
    free(g);
    return status;
}
