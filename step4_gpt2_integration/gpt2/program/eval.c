/* eval.c — gpt2 eval: how well the model predicts a text. Files of examples: eval_examples.c.
 *
 * Without --stride the text is cut into consecutive windows of T inputs. Every token but the very first is predicted once, from
 * the tokens before it in its window.
 *
 * With --stride N the windows are those of Hugging Face's "Perplexity of fixed-length models": T tokens each, of which each but
 * the first is predicted; each window begins N tokens after the one before it, and predicts only the tokens past that one's
 * end.
 *
 * Perplexity is exp(mean loss). Bits per byte are comparable across tokenizers. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/file.h"
#include "gpt2/formats/tokens.h"
#include "program.h"

struct evaluation {
    struct session session;
    struct gpt2_ids ids;
    size_t bytes; /* of the text; 0: unknown */
    double loss;  /* summed */
    int64_t predicted;
    double recipe_loss,
        recipe_weight; /* --stride: the recipe's weighted sum of the windows' mean losses; the weights */
    int32_t *targets;  /* (B, T) */
    float *losses;     /* (B, T) */
    FILE *each;        /* --losses; NULL: not given */
    struct progress progress;
    int64_t windows;
};

static bool take_tokens(struct evaluation *e, const char *path, struct gpt2_error *error) {
    struct gpt2_tokens tokens;
    if (!gpt2_tokens_open(&tokens, path, e->session.weights.config.vocabulary, error)) { return false; }
    e->ids.ids = malloc((size_t)tokens.count * sizeof *e->ids.ids + 1);
    bool good = e->ids.ids != NULL || gpt2_fail(error, "%s: out of memory", path);
    if (good) {
        e->ids.count = e->ids.room = (size_t)tokens.count;
        for (int64_t i = 0; i < tokens.count; i++) { e->ids.ids[i] = tokens.ids[i]; }
    }
    gpt2_tokens_close(&tokens);
    return good;
}

static bool read_text(struct evaluation *e, const char *path, struct gpt2_error *error) {
    struct gpt2_file file;
    if (!gpt2_file_open(&file, path, error)) { return false; }
    bool tokens, good = gpt2_tokens_or_text(&file, &tokens, error);
    if (good && tokens) {
        good = take_tokens(e, path, error);
    } else if (good) {
        e->bytes = file.size;
        good = gpt2_tokenizer_encode(e->session.tokenizer, file.bytes, file.size, true, &e->ids, error);
    }
    gpt2_file_close(&file);
    if (good && e->ids.count < 2) { good = gpt2_fail(error, "%s: fewer than two tokens: nothing to predict", path); }
    return good;
}

/* B windows of t inputs, each beginning `step` tokens after the one before it. targets: (B, t). */
static bool predict(struct evaluation *e, const int32_t *from, int64_t step, int B, int t, struct gpt2_error *error) {
    int32_t *inputs = malloc((size_t)B * (size_t)t * sizeof *inputs);
    if (inputs == NULL) { return gpt2_fail(error, "out of memory"); }
    for (int b = 0; b < B; b++) { memcpy(inputs + (int64_t)b * t, from + b * step, (size_t)t * sizeof *inputs); }
    progress_of_pass(&e->progress, e->session.model, (double)e->windows, B);
    bool good = gpt2_losses(e->session.model, inputs, e->targets, B, t, e->losses, error);
    progress_pass_end(&e->progress, e->session.model);
    e->windows += B;
    progress_at(&e->progress, (double)e->windows);
    free(inputs);
    return good;
}

/* ---- consecutive windows ---- */

static bool consecutive(struct evaluation *e, int B, int T, struct gpt2_error *error) {
    int64_t left = (int64_t)e->ids.count - 1; /* targets */
    const int32_t *from = e->ids.ids;
    while (left > 0) {
        int t = left < T ? (int)left : T, b = (int)(left / t < B ? left / t : B);
        memcpy(e->targets, from + 1, (size_t)b * (size_t)t * sizeof *e->targets);
        if (!predict(e, from, t, b, t, error)) { return false; }
        for (int i = 0; i < b * t; i++) { e->loss += (double)e->losses[i]; }
        for (int i = 0; e->each != NULL && i < b * t; i++) { fprintf(e->each, "%.6f\n", (double)e->losses[i]); }
        e->predicted += (int64_t)b * t;
        from += (int64_t)b * t;
        left -= (int64_t)b * t;
    }
    return true;
}

/* ---- overlapping windows ---- */

/* The targets of a window of `length` tokens, of which the last `own` are not in the one before it. The first token has no
 * target. */
static void mask_targets(int32_t *targets, const int32_t *tokens, int length, int own) {
    for (int i = 1; i < length; i++) { targets[i - 1] = i >= length - own ? tokens[i] : -1; }
}

/* The recipe takes the mean loss of a window `own` - 1 times, because it counts the first token as never predicted; past the
 * first window, where windows overlap, it is. */
static void add_window(struct evaluation *e, const float *losses, int length, int own) {
    int first = length > own ? length - own : 1;
    double sum = 0.0;
    for (int i = first; i < length; i++) { sum += (double)losses[i - 1]; }
    e->loss += sum;
    e->predicted += length - first;
    if (length > first) { e->recipe_loss += sum / (length - first) * (own - 1); }
    e->recipe_weight += own - 1;
}

static bool overlapping(struct evaluation *e, int B, int T, int stride, struct gpt2_error *error) {
    const int64_t count = (int64_t)e->ids.count;
    int64_t begin = 0, end = 0; /* of the window before: its end */
    while (end < count) {
        int length = (int)(count - begin < T ? count - begin : T), b = 0, own[1 << 12];
        const int32_t *from = e->ids.ids + begin;
        int64_t at = begin, last = end;
        do { /* whole windows together; the last one, if it is shorter, alone */
            int64_t stop = at + length;
            own[b] = (int)(stop - last);
            if (length > 1) { mask_targets(e->targets + (int64_t)b * (length - 1), e->ids.ids + at, length, own[b]); }
            last = stop;
            at += stride;
            b++;
        } while (b < B && last < count && count - at >= length);
        if (length > 1 && !predict(e, from, stride, b, length - 1, error)) { return false; }
        for (int i = 0; i < b; i++) { add_window(e, e->losses + (int64_t)i * (length - 1), length, own[i]); }
        begin = at;
        end = last;
    }
    return true;
}

/* ---- the run ---- */

static bool make_room(struct evaluation *e, int B, int T, struct gpt2_error *error) {
    e->targets = malloc((size_t)B * (size_t)T * sizeof *e->targets);
    e->losses = malloc((size_t)B * (size_t)T * sizeof *e->losses);
    return (e->targets != NULL && e->losses != NULL) || gpt2_fail(error, "out of memory");
}

static void print_results(const struct evaluation *e) {
    double mean = e->loss / (double)e->predicted;
    printf("tokens %lld  loss %.6f  perplexity %.4f", (long long)e->predicted, mean, exp(mean));
    if (e->bytes > 0 && e->predicted + 1 == (int64_t)e->ids.count) { /* every token but the first was predicted */
        printf("  bits/byte %.4f", e->loss / log(2.0) / (double)e->bytes);
    }
    if (e->recipe_weight > 0.0) { printf("  Hugging Face's recipe %.4f", exp(e->recipe_loss / e->recipe_weight)); }
    printf("\n");
    fflush(stdout); /* the figures follow */
}

/* Writing to a full disk is an error, too. */
static bool close_losses(struct evaluation *e, const char *path, struct gpt2_error *error) {
    if (e->each == NULL) { return true; }
    const bool good = !ferror(e->each);
    return (fclose(e->each) == 0 && good) || gpt2_fail(error, "%s: cannot be written", path);
}

static bool run(struct evaluation *e, const struct options *options, struct gpt2_error *error) {
    if (!read_text(e, options->file, error)) { return false; }
    const int most = e->session.weights.config.max_tokens, stride = options->stride;
    int T = options->context > 0 ? options->context : most;
    if (T > most) { return gpt2_fail(error, "--context %d: the model's is %d", T, most); }
    if (stride > T) { return gpt2_fail(error, "--stride %d: more than the windows have, which is %d", stride, T); }
    if (stride > 0 && T < 2) { return gpt2_fail(error, "--stride needs windows of two tokens or more"); }
    int64_t count = (int64_t)e->ids.count, longest = stride > 0 ? count : count - 1;
    if ((int64_t)T > longest) { T = (int)longest; }
    int64_t whole = stride > 0 ? (count - T) / stride + 1 : (count - 1) / T;
    int64_t all = stride > 0 ? (count - T + stride - 1) / stride + 1 : (count - 1 + T - 1) / T;
    int B = whole < options->batch ? (int)whole : options->batch, inputs = stride > 0 ? T - 1 : T;
    if (!make_room(e, B, inputs, error) ||
        !session_start(&e->session, options, options->kernels, B, inputs, inputs, error)) {
        return false;
    }
    if (options->losses != NULL && (e->each = fopen(options->losses, "w")) == NULL) {
        return gpt2_fail(error, "%s: cannot be written: %s", options->losses, strerror(errno));
    }
    progress_begin(&e->progress, "predicting", "windows", (double)all, options->quiet);
    double began = seconds();
    bool good = stride > 0 ? overlapping(e, B, T, stride, error) : consecutive(e, B, T, error);
    good = close_losses(e, options->losses, error) && good;
    double took = seconds() - began;
    progress_end(&e->progress);
    if (!good) { return false; }
    if (!isfinite(e->loss)) { return gpt2_fail(error, "%s: the loss is not finite", options->model); }
    print_results(e);
    if (!options->quiet) {
        fprintf(stderr, "%.1f tokens/s, windows of %d, %.1f MB of device memory\n", (double)e->predicted / took, T,
                (double)gpt2_model_bytes(e->session.model) / 1e6);
    }
    return true;
}

int command_eval(const struct options *options, struct gpt2_error *error) {
    struct evaluation e = {.loss = 0.0};
    int files = (options->file != NULL) + (options->choices != NULL) + (options->last_word != NULL);
    if (!session_open(&e.session, options, error)) { return 2; }
    bool good = files == 1 || gpt2_fail(error, "eval needs --file, --choices or --last-word, and one of them");
    if (good && (options->context > 0 || options->stride > 0) && options->file == NULL) {
        good = gpt2_fail(error, "--context and --stride cut a --file into windows; examples are not cut");
    }
    if (good && options->losses != NULL && (options->file == NULL || options->stride > 0)) {
        good = gpt2_fail(error, "--losses: of a --file without --stride");
    }
    if (options->choices != NULL) {
        good = good && eval_choices(&e.session, options, error);
    } else if (options->last_word != NULL) {
        good = good && eval_last_word(&e.session, options, error);
    } else {
        good = good && run(&e, options, error);
    }
    gpt2_ids_free(&e.ids);
    free(e.targets);
    free(e.losses);
    session_close(&e.session);
    return good ? 0 : 2;
}
