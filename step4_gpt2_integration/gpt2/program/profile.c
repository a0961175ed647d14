/* profile.c — gpt2 profile: the share of each stage, of a pass over prompts and of decoding.
 *
 * A stage's time is what lies between the end of the stage before and its own. On the CPU backend the seconds are this
 * machine's: of matmuls they say something, of kernels nothing about a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/file.h"
#include "profile.h"
#include "program.h"

enum { MOST_STAGES = 32 };

struct share {
    const char *stage;
    int times;
    double microseconds;
};

/* A residual and the LayerNorm after it are one kernel, and so one stage here. */
static const char *stage_of(const struct profile *profile, int i) {
    static const char fused[] = "residual + layernorm";
    const char *stage = profile->intervals[i].stage;
    bool follows = i > 0 && strncmp(profile->intervals[i - 1].stage, "residual", 8) == 0;
    if (follows || strncmp(stage, "residual", 8) == 0) { return fused; }
    return strcmp(stage, "ln1") == 0 ? "layernorm" : stage;
}

static int by_time(const void *a, const void *b) {
    double x = ((const struct share *)a)->microseconds, y = ((const struct share *)b)->microseconds;
    return (x < y) - (x > y);
}

static void print_table(const struct profile *profile) {
    const int passes = profile->passes;
    struct share shares[MOST_STAGES];
    int count = 0;
    double total = 0.0;
    for (int i = 0; i < profile->count; i++) {
        const char *stage = stage_of(profile, i);
        int at = 0;
        while (at < count && strcmp(shares[at].stage, stage) != 0) { at++; }
        if (at == MOST_STAGES) { continue; }
        if (at == count) { shares[count++] = (struct share){stage, 0, 0.0}; }
        shares[at].times += i == 0 || stage != stage_of(profile, i - 1); /* both names of a fused kernel count once */
        shares[at].microseconds += (double)profile->intervals[i].length;
        total += (double)profile->intervals[i].length;
    }
    qsort(shares, (size_t)count, sizeof *shares, by_time);
    printf("%s: %.1f us\n  %-24s %6s %12s %7s\n", profile->title, total / passes, "stage", "times", "us", "share");
    for (int i = 0; i < count; i++) {
        printf("  %-24s %6d %12.1f %6.1f%%\n", shares[i].stage, shares[i].times / passes,
               shares[i].microseconds / passes, 100.0 * shares[i].microseconds / total);
    }
}

static bool write_trace(const struct profile *profiles, const char *path, struct gpt2_error *error) {
    static const char *const names[] = {"prompt", "decoding"};
    struct gpt2_output output;
    char line[256];
    bool good = gpt2_output_begin(&output, path, error) && gpt2_output_write(&output, "[\n", 2, error);
    for (int p = 0; p < 2; p++) {
        for (int i = 0; good && i < profiles[p].count; i++) {
            const struct gpt2_interval *interval = &profiles[p].intervals[i];
            int size =
                snprintf(line, sizeof line,
                         "%s{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, "
                         "\"dur\": %.3f, \"args\": {\"layer\": %d}}",
                         p + i > 0 ? ",\n" : "", stage_of(&profiles[p], i), names[p], p + 1, (double)interval->begin,
                         (double)interval->length, interval->layer);
            good = gpt2_output_write(&output, line, (size_t)size, error);
        }
    }
    good = good && gpt2_output_write(&output, "\n]\n", 3, error) && gpt2_output_commit(&output, error);
    gpt2_output_abandon(&output);
    return good;
}

/* One untimed pass first: libraries choose their algorithms then. */
static bool measure(struct gpt2_model *model, const struct options *options, int T, struct profile *profiles,
                    struct gpt2_error *error) {
    int B = options->batch;
    int32_t *tokens = malloc((size_t)B * (size_t)T * sizeof *tokens), *lengths = malloc((size_t)B * sizeof *lengths);
    bool good = (tokens != NULL && lengths != NULL) || gpt2_fail(error, "out of memory");
    for (int i = 0; good && i < B * T; i++) { tokens[i] = i % gpt2_model_config(model)->vocabulary; }
    for (int b = 0; good && b < B; b++) { lengths[b] = T; }
    good = good && gpt2_prefill(model, tokens, lengths, B, T, error) && gpt2_time_begin(model, error) &&
           gpt2_prefill(model, tokens, lengths, B, T, error) &&
           gpt2_time_end(model, profiles[0].intervals, profiles[0].room, &profiles[0].count, error) &&
           gpt2_decode(model, tokens, error) && gpt2_time_begin(model, error);
    for (int i = 0; good && i < options->tokens; i++) { good = gpt2_decode(model, tokens, error); }
    good = good && gpt2_time_end(model, profiles[1].intervals, profiles[1].room, &profiles[1].count, error);
    free(tokens);
    free(lengths);
    return good;
}

static bool run(struct session *session, const struct options *options, struct profile *profiles,
                struct gpt2_error *error) {
    const struct gpt2_config *config = &session->weights.config;
    int extra = options->tokens + 1; /* the first decoding step is not timed */
    int T = options->context > 0 ? options->context : config->max_tokens - extra;
    if (T < 1 || T + extra > config->max_tokens) {
        return gpt2_fail(error, "%s: its context of %d has no room for a prompt of %d and %d decoding steps (--tokens)",
                         options->model, config->max_tokens, T < 1 ? 1 : T, extra);
    }
    for (int p = 0; p < 2; p++) {
        profiles[p].room = (config->layers + 2) * 16 * (p == 0 ? 1 : options->tokens);
        profiles[p].intervals = calloc((size_t)profiles[p].room, sizeof *profiles[p].intervals);
        if (profiles[p].intervals == NULL) { return gpt2_fail(error, "out of memory"); }
    }
    if (!session_start(session, options, options->kernels, options->batch, T, T + extra, error) ||
        !measure(session->model, options, T, profiles, error)) {
        return false;
    }
    char prompts[96], steps[96];
    snprintf(prompts, sizeof prompts, "%d prompt%s of %d tokens", options->batch, options->batch > 1 ? "s" : "", T);
    snprintf(steps, sizeof steps, "a decoding step from position %d, mean of %d", T + 1, options->tokens);
    profiles[0].title = prompts, profiles[0].passes = 1, profiles[0].B = options->batch, profiles[0].T = T;
    profiles[1].title = steps, profiles[1].passes = options->tokens, profiles[1].B = options->batch, profiles[1].T = 1;
    profiles[1].cached = T + 1 + (options->tokens - 1) / 2.0;
    for (int p = 0; p < 2; p++) { print_table(&profiles[p]); }
    int bytes = gpt2_type_bytes(session->type);
    return (options->trace == NULL || write_trace(profiles, options->trace, error)) &&
           (options->dot == NULL || profile_draw(profiles, 2, config, bytes, options->dot, error));
}

int command_profile(const struct options *options, struct gpt2_error *error) {
    struct session session;
    struct profile profiles[2] = {{.count = 0}, {.count = 0}};
    if (!session_open(&session, options, error)) { return 2; }
    bool good = run(&session, options, profiles, error);
    free(profiles[0].intervals);
    free(profiles[1].intervals);
    session_close(&session);
    return good ? 0 : 2;
}
