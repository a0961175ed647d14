/* train_samples.c — texts of the model while it is trained (train_samples.h). */
#define _GNU_SOURCE
#include "train_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpt2/file.h"

/* ---- the file ---- */

static const char first_words[] = "--- step ";

/* The size of the texts up to `step` that are complete. */
static size_t texts_until(const struct gpt2_file *file, int64_t step) {
    const char *text = (const char *)file->bytes;
    size_t at = 0;
    while (at < file->size) {
        char head[80] = "";
        long long of, bytes;
        int length = 0;
        memcpy(head, text + at, file->size - at < sizeof head - 1 ? file->size - at : sizeof head - 1);
        bool whole = sscanf(head, "--- step %lld, %lld bytes ---%n", &of, &bytes, &length) == 2 && length > 0 &&
                     head[length] == '\n' && of <= step && bytes >= 0;
        if (!whole || (size_t)bytes >= file->size - at - (size_t)length - 1) { break; }
        size_t end = at + (size_t)length + 1 + (size_t)bytes;
        if (text[end] != '\n') { break; }
        at = end + 1;
    }
    return at;
}

static bool cut(const char *path, int64_t step, struct gpt2_error *error) {
    struct gpt2_file file;
    if (access(path, F_OK) != 0) { return true; }
    if (!gpt2_file_open(&file, path, error)) { return false; }
    size_t start = strlen(first_words), size = texts_until(&file, step);
    bool ours =
        size > 0 || file.size == 0 || memcmp(file.bytes, first_words, file.size < start ? file.size : start) == 0;
    bool good = ours || gpt2_fail(error, "%s: not the samples of a run; move it away", path);
    if (good && size == 0) {
        good = unlink(path) == 0 || gpt2_fail(error, "%s: cannot be removed: %s", path, strerror(errno));
    } else if (good && size < file.size) {
        good = gpt2_file_write(path, file.bytes, size, error);
    }
    gpt2_file_close(&file);
    return good;
}

/* Appended and flushed: after a kill the last text is complete, or the next start cuts it off. */
static bool append(const char *path, int64_t step, const struct gpt2_text *text, struct gpt2_error *error) {
    FILE *file = fopen(path, "ae");
    bool good = file != NULL &&
                fprintf(file, "%s%lld, %zu bytes ---\n", first_words, (long long)step, text->size) > 0 &&
                fwrite(text->bytes, 1, text->size, file) == text->size && fputc('\n', file) != EOF &&
                fflush(file) == 0 && (fsync(fileno(file)) == 0 || errno == EINVAL);
    if (!good) { gpt2_fail(error, "%s: cannot be written: %s", path, strerror(errno)); }
    if (file != NULL && fclose(file) != 0 && good) {
        good = gpt2_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    }
    return good;
}

/* ---- the model ---- */

static bool encode(struct train_samples *s, int context, struct gpt2_error *error) {
    static const char document[] = "<|endoftext|>";
    const char *given = s->options->sample_prompt, *prompt = given != NULL ? given : document;
    if (given == NULL && gpt2_tokenizer_end_of_text(s->tokenizer) < 0) {
        return gpt2_fail(error,
                         "--sample-prompt is missing: a sample begins with %s without it, which the tokenizer lacks",
                         document);
    }
    if (!gpt2_tokenizer_encode(s->tokenizer, prompt, strlen(prompt), true, &s->ids, error)) { return false; }
    s->prompt = s->ids.count;
    for (size_t i = 0; i < s->prompt; i++) {
        if (s->ids.ids[i] >= s->choices) {
            return gpt2_fail(error, "--sample-prompt has the token %d, which the model lacks", s->ids.ids[i]);
        }
    }
    if (s->prompt >= (size_t)context) {
        return gpt2_fail(error, "--sample-prompt has %zu tokens, which leaves no room in the model's context of %d",
                         s->prompt, context);
    }
    size_t room = s->prompt + (size_t)s->options->sample_tokens;
    s->ids.room = room < (size_t)context ? room : (size_t)context;
    int32_t *larger = realloc(s->ids.ids, s->ids.room * sizeof *larger);
    if (larger == NULL) { return gpt2_fail(error, "out of memory"); }
    s->ids.ids = larger;
    return true;
}

bool train_samples_open(struct train_samples *s, const struct train_options *options, const struct gpt2_out *out,
                        int64_t step, struct gpt2_tokenizer *tokenizer, const struct gpt2_source *weights,
                        const struct gpt2_model_options *settings, struct gpt2_error *error) {
    const int V = weights->config.vocabulary, size = gpt2_tokenizer_size(tokenizer);
    *s = (struct train_samples){.path = gpt2_path(out->path, "samples.txt"),
                                .options = options,
                                .tokenizer = tokenizer,
                                .choices = size < V ? size : V};
    if (s->path == NULL) { return gpt2_fail(error, "out of memory"); }
    if (!cut(s->path, step, error)) { return false; }
    if (options->sample_every == 0) { return true; }
    if (!encode(s, weights->config.max_tokens, error)) { return false; }
    struct gpt2_model_options own = *settings;
    own.batch = 1, own.prompt = (int)s->prompt, own.context = (int)s->ids.room;
    s->model = gpt2_model_open(weights, &own, error);
    return s->model != NULL;
}

void train_samples_close(struct train_samples *s) {
    gpt2_model_close(s->model);
    gpt2_ids_free(&s->ids);
    free(s->path);
    *s = (struct train_samples){.path = NULL};
}

size_t train_samples_bytes(const struct train_samples *s) {
    return s->model != NULL ? gpt2_model_bytes(s->model) : 0;
}

/* Appends tokens to the prompt until the end of a text or of the room. */
static bool draw(struct train_samples *s, struct gpt2_error *error) {
    uint64_t random = gpt2_random_begin((uint64_t)s->options->seed, 0);
    struct gpt2_draws draws = {
        .by = {.repetition_penalty = 1.0, .temperature = s->options->sample_temperature, .top_p = 1.0},
        .random = &random};
    const int32_t length = (int32_t)s->prompt;
    const int steps = (int)(s->ids.room - s->prompt), stop = gpt2_tokenizer_end_of_text(s->tokenizer);
    int32_t *chosen = s->ids.ids + s->prompt;
    s->ids.count = s->prompt;
    if (!gpt2_prefill(s->model, s->ids.ids, &length, 1, length, error) ||
        !gpt2_decode_choosing(s->model, steps, s->choices, stop < s->choices ? stop : -1, &draws, NULL, chosen,
                              error)) {
        return false;
    }
    while (s->ids.count < s->ids.room && s->ids.ids[s->ids.count] >= 0 && s->ids.ids[s->ids.count] != stop) {
        s->ids.count++;
    }
    return true;
}

bool train_samples_write(struct train_samples *s, int64_t step, const struct gpt2_source *weights,
                         struct gpt2_text *text, struct gpt2_error *error) {
    struct gpt2_stream stream = {.count = 0};
    const bool shown = s->options->sample_prompt != NULL; /* not the mark of a text's beginning */
    bool good = gpt2_model_load(s->model, weights, error) && draw(s, error);
    for (size_t i = shown ? 0 : s->prompt; good && i < s->ids.count; i++) {
        good = gpt2_stream_push(&stream, s->tokenizer, s->ids.ids[i], text, error);
    }
    return good && gpt2_stream_end(&stream, text, error) && append(s->path, step, text, error);
}
