/* eval.c — gpt2 eval: how well the model predicts a text. Files of examples: eval_examples.c.
 *
 * The text is cut into consecutive windows of T tokens. Every token but the very first is predicted once, from the tokens before it
 * in its window. Perplexity is exp(mean loss). Bits per byte are comparable across tokenizers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpt2/file.h"
#include "gpt2/formats/tokens.h"
#include "program.h"

struct evaluation {
    struct session session;
    struct gpt2_ids ids;
    size_t bytes; /* of the text; 0: unknown */
    double loss;  /* summed */
    int64_t predicted;
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

static bool windows(struct evaluation *e, int B, int T, float *losses, struct gpt2_error *error) {
    int64_t left = (int64_t)e->ids.count - 1; /* targets */
    const int32_t *from = e->ids.ids;
    while (left > 0) {
        int t = left < T ? (int)left : T, b = (int)(left / t < B ? left / t : B);
        if (!gpt2_losses(e->session.model, from, from + 1, b, t, losses, error)) { return false; }
        for (int i = 0; i < b * t; i++) { e->loss += (double)losses[i]; }
        e->predicted += (int64_t)b * t;
        from += (int64_t)b * t;
        left -= (int64_t)b * t;
    }
    return true;
}

static bool run(struct evaluation *e, const struct options *options, struct gpt2_error *error) {
    if (!read_text(e, options->file, error)) { return false; }
    int most = e->session.weights.config.max_tokens, T = options->context > 0 ? options->context : most;
    if (T > most) { return gpt2_fail(error, "--context %d: the model's is %d", T, most); }
    if ((int64_t)T > (int64_t)e->ids.count - 1) { T = (int)e->ids.count - 1; }
    int64_t whole = ((int64_t)e->ids.count - 1) / T; /* whole windows */
    int B = whole < options->batch ? (int)whole : options->batch;
    float *losses = malloc((size_t)B * (size_t)T * sizeof *losses);
    if (losses == NULL) { return gpt2_fail(error, "out of memory"); }
    bool good = session_start(&e->session, options, options->kernels, B, T, T, error);
    double began = seconds();
    good = good && windows(e, B, T, losses, error);
    double took = seconds() - began, mean = e->loss / (double)e->predicted;
    free(losses);
    if (!good) { return false; }
    if (!isfinite(mean)) { return gpt2_fail(error, "%s: the loss is not finite", options->model); }
    printf("tokens %lld  loss %.6f  perplexity %.4f", (long long)e->predicted, mean, exp(mean));
    if (e->bytes > 0) { printf("  bits/byte %.4f", e->loss / log(2.0) / (double)e->bytes); }
    printf("\n");
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
    if (good && options->context > 0 && options->file == NULL) {
        good = gpt2_fail(error, "--context cuts a --file into windows; examples are not cut");
    }
    if (options->choices != NULL) {
        good = good && eval_choices(&e.session, options, error);
    } else if (options->last_word != NULL) {
        good = good && eval_last_word(&e.session, options, error);
    } else {
        good = good && run(&e, options, error);
    }
    gpt2_ids_free(&e.ids);
    session_close(&e.session);
    return good ? 0 : 2;
}
