/* calibrate.c — gpt2 quantize --calibrate: runs the plain model over a text and takes the inputs of its products.
 *
 * They are in fp32, of windows of the model's context, in every type of file. */
#include <stdlib.h>
#include <string.h>

#include "gpt2/file.h"
#include "gpt2/formats/calibrate.h"
#include "program.h"

struct run {
    struct gpt2_calibration *calibration;
    struct gpt2_error *error;
    bool good;
};

/* The input of each product is the result of a stage. */
static void take(void *context, const char *stage, int layer, const float *values, int64_t rows, int64_t columns) {
    static const char *const inputs[GPT2_PRODUCTS] = {"ln1", "attention", "ln2", "gelu"};
    struct run *run = context;
    for (int product = 0; product < GPT2_PRODUCTS; product++) {
        if (strcmp(stage, inputs[product]) != 0) { continue; }
        run->good =
            run->good && gpt2_calibration_take(run->calibration, layer, product, values, rows, columns, run->error);
    }
}

static bool windows(struct run *run, struct gpt2_model *model, const struct gpt2_ids *ids, int T,
                    const struct options *options, struct gpt2_error *error) {
    float *losses = malloc((size_t)T * sizeof *losses);
    struct progress progress;
    run->good = losses != NULL || gpt2_fail(error, "out of memory");
    progress_begin(&progress, "calibrating", "tokens", (double)ids->count, options->quiet);
    gpt2_observe(model, take, run);
    for (size_t at = 0; run->good && at + 1 < ids->count; at += (size_t)T) { /* the last token is predicted alone */
        const size_t left = ids->count - 1 - at;
        const int length = left < (size_t)T ? (int)left : T;
        run->good = gpt2_losses(model, ids->ids + at, ids->ids + at + 1, 1, length, losses, error) && run->good;
        progress_at(&progress, (double)(at + (size_t)length));
    }
    progress_end(&progress);
    free(losses);
    return run->good;
}

static bool read_text(struct gpt2_tokenizer *tokenizer, const char *path, struct gpt2_ids *ids,
                      struct gpt2_error *error) {
    struct gpt2_file file;
    if (tokenizer == NULL) { return gpt2_fail(error, "--calibrate needs the model's tokenizer"); }
    if (!gpt2_file_open(&file, path, error)) { return false; }
    const bool good = gpt2_tokenizer_encode(tokenizer, file.bytes, file.size, true, ids, error);
    gpt2_file_close(&file);
    return good && (ids->count >= 2 || gpt2_fail(error, "%s: fewer than two tokens: too short to calibrate", path));
}

bool calibrate(struct gpt2_calibration *calibration, const struct gpt2_source *source, struct gpt2_tokenizer *tokenizer,
               const struct options *options, int64_t *tokens, struct gpt2_error *error) {
    struct gpt2_ids ids = {.count = 0};
    struct run run = {.calibration = calibration, .error = error};
    const int T = source->config.max_tokens;
    struct gpt2_model_options settings = {
        .type = GPT2_F32, .attention = GPT2_AUTO, .decode = GPT2_AUTO, .batch = 1, .prompt = T};
    struct kernel_choice *kernels = NULL;
    struct gpt2_model *model = NULL;
    bool good = read_text(tokenizer, options->calibrate, &ids, error) &&
                (options->threads == 0 || gpt2_device_threads(options->threads, error)) &&
                (kernels = kernel_choice_open(options->kernels, error)) != NULL;
    if (good) {
        settings.kernels = kernel_choice_table(kernels);
        model = gpt2_model_open(source, &settings, error);
    }
    good = model != NULL && windows(&run, model, &ids, T, options, error);
    *tokens = (int64_t)ids.count - 1;
    gpt2_model_close(model);
    kernel_choice_close(kernels);
    gpt2_ids_free(&ids);
    return good;
}
