/* train_open.c — gpt2 train: opens all that a run needs, from its options or from its latest checkpoint (train_run.h). */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/model/model.h"
#include "train_run.h"

static bool open_out(struct training *t, struct gpt2_error *error) {
    struct train_options *options = &t->options;
    if (options->out == NULL) { return gpt2_fail(error, "--out is missing: the folder for the checkpoints"); }
    if (options->resume && options->data == NULL && !gpt2_out_has_latest(options->out)) {
        return gpt2_fail(error, "%s: there is no run to go on with, and --data to begin one is missing", options->out);
    }
    if (!options->resume && !train_options_check(options, false, error)) { return false; }
    if (!gpt2_out_open(&t->out, options->out, error) || !gpt2_out_latest(&t->out, &t->latest, error)) { return false; }
    if (t->latest != NULL && !options->resume) {
        return gpt2_fail(error, "%s: there is a run in it; --resume goes on with it", options->out);
    }
    if (t->latest == NULL) { return train_options_check(options, false, error); }
    if (!gpt2_checkpoint_open(&t->notes, t->latest, error) || !train_options_resume(options, &t->notes, error)) {
        return false;
    }
    const char *step = safetensors_metadata(&t->notes, "step");
    char *end = NULL;
    t->step = step != NULL ? strtoll(step, &end, 10) : -1;
    if (t->step < 0 || end == step || *end != '\0') {
        return gpt2_fail(error, "%s: its notes name no step", t->notes.file.path);
    }
    return train_options_check(options, true, error);
}

/* The model's folder, also where a file in it was named. */
static bool open_tokenizer(struct training *t, const char *model, struct gpt2_error *error) {
    const char *path = t->latest != NULL ? t->latest : t->options.tokenizer != NULL ? t->options.tokenizer : model;
    char *folder = strdup(path), *slash = folder != NULL ? strrchr(folder, '/') : NULL;
    size_t length = strlen(path);
    bool is_file = path == model && length > 12 && strcmp(path + length - 12, ".safetensors") == 0;
    if (folder == NULL) { return gpt2_fail(error, "out of memory"); }
    if (is_file && slash != NULL) { *slash = '\0'; }
    t->tokenizer = gpt2_tokenizer_open(is_file && slash == NULL ? "." : folder, error);
    free(folder);
    return t->tokenizer != NULL;
}

static bool open_model(struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    const char *model = t->latest != NULL ? t->latest : o->model;
    if (!open_tokenizer(t, model, error)) { return false; }
    if (model != NULL) {
        if (!gpt2_weights_open(&t->weights, model, error)) { return false; }
        t->config = t->weights.config;
        if (t->latest != NULL && !train_options_sizes(o, &t->config, error)) { return false; }
        return gpt2_tokenizer_fits(t->tokenizer, t->config.vocabulary, model, error);
    }
    int V = gpt2_tokenizer_size(t->tokenizer);
    t->config = (struct gpt2_config){.max_tokens = (int)o->context,
                                     .vocabulary = V,
                                     .padded_vocabulary = gpt2_pad_vocabulary(V),
                                     .layers = (int)o->layers,
                                     .heads = (int)o->heads,
                                     .channels = (int)o->channels,
                                     .epsilon = 1e-5f};
    t->initial = (struct gpt2_initial){t->config, (uint64_t)o->seed};
    return gpt2_config_check(&t->config, "--layers, --heads, --channels, --context", error);
}

static bool open_data(struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    t->B = (int)o->batch, t->K = (int)o->accumulate;
    t->T = o->length > 0 ? (int)o->length : t->config.max_tokens;
    if (t->T > t->config.max_tokens) {
        return gpt2_fail(error, "--length %d: the model's context is %d", t->T, t->config.max_tokens);
    }
    if (!gpt2_data_open(&t->data, o->data, t->tokenizer, t->config.vocabulary, t->T, error)) { return false; }
    if (o->val != NULL && !gpt2_data_open(&t->val, o->val, t->tokenizer, t->config.vocabulary, t->T, error)) {
        return false;
    }
    char hash[20];
    snprintf(hash, sizeof hash, "%016" PRIx64, t->data.hash);
    const char *then = t->latest != NULL ? safetensors_metadata(&t->notes, "data-hash") : hash;
    if (then == NULL || strcmp(then, hash) != 0) {
        return gpt2_fail(error, "%s: its tokens are not those that the run in %s began with", o->data, o->out);
    }
    t->tokens = calloc((size_t)t->B * (size_t)t->T, sizeof *t->tokens);
    t->targets = calloc((size_t)t->B * (size_t)t->T, sizeof *t->targets);
    return (t->tokens != NULL && t->targets != NULL) || gpt2_fail(error, "out of memory for a batch");
}

static bool open_trainer(struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    bool from_file = t->latest != NULL || o->model != NULL, same_bits = true;
    struct gpt2_source source = from_file ? gpt2_weights_source(&t->weights) : gpt2_initial_source(&t->initial);
    t->kernels = kernel_choice_open(o->kernels, error);
    if (t->kernels == NULL) { return false; }
    enum gpt2_form attention;
    if (!parse_form(&attention, "--attention", o->attention, error)) { return false; }
    struct gpt2_trainer_options settings = {.type = strcmp(o->type, "bf16") == 0 ? GPT2_BF16 : GPT2_F32,
                                            .tf32 = strcmp(o->type, "tf32") == 0,
                                            .attention = attention,
                                            .recompute = o->recompute,
                                            .batch = t->B,
                                            .length = t->T,
                                            .kernels = kernel_choice_table(t->kernels)};
    t->trainer = gpt2_trainer_open(&source, &settings, error);
    if (t->trainer == NULL) { return false; }
    if (t->latest != NULL && !gpt2_checkpoint_restore(&t->notes, t->trainer, &same_bits, error)) { return false; }
    char device[320];
    gpt2_trainer_device(t->trainer, device, sizeof device);
    train_report_start(&t->report, &t->config, o->type, device, t->T, o->steps);
    double epochs = (double)o->steps * t->K * t->B / (double)gpt2_data_windows(&t->data, t->T);
    train_report_line(&t->report, "%s step %lld: %.2f M weights, %.2f epochs of %lld tokens, %.1f MB of device memory",
                      t->latest != NULL ? "going on after" : "from", (long long)t->step,
                      (double)gpt2_config_weights(&t->config, t->config.vocabulary) / 1e6, epochs,
                      (long long)t->data.count, (double)gpt2_trainer_bytes(t->trainer) / 1e6);
    if (!same_bits) {
        train_report_line(&t->report,
                          "the checkpoint is of another device, library or gpt2: the run goes on, with other "
                          "last bits");
    }
    return true;
}

bool training_open(struct training *t, int count, char **arguments, struct gpt2_error *error) {
    *t = (struct training){.out = {.lock = -1}, .best_loss = INFINITY};
    return train_options_parse(&t->options, count, arguments, error) && open_out(t, error) && open_model(t, error) &&
           open_data(t, error) && open_trainer(t, error);
}

void training_close(struct training *t) {
    free(t->tokens);
    free(t->targets);
    gpt2_trainer_close(t->trainer);
    kernel_choice_close(t->kernels);
    gpt2_data_close(&t->data);
    gpt2_data_close(&t->val);
    gpt2_tokenizer_close(t->tokenizer);
    gpt2_weights_close(&t->weights);
    safetensors_close(&t->notes);
    free(t->latest);
    gpt2_out_close(&t->out);
}
