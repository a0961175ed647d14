/* train.c — gpt2 train: opens a run from its options or its latest checkpoint, then trains, measures and saves.
 *
 * The state of a run is its step number and its checkpoint. The windows of data, the masks of dropout, the learning rate and the moments
 * follow from them, so a run that was stopped continues with the same bits. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/model/model.h"
#include "gpt2/train/checkpoint.h"
#include "gpt2/train/data.h"
#include "gpt2/train/initial.h"
#include "gpt2/train/schedule.h"
#include "program.h"
#include "train.h"
#include "train_log.h"
#include "train_run.h"
#include "train_samples.h"

struct training {
    struct train_options options;
    struct gpt2_out out;
    char *latest;                /* the checkpoint to resume, with --best the best one; NULL: none */
    struct safetensors notes;    /* of that checkpoint */
    struct gpt2_weights weights; /* the weights to start from, */
    struct gpt2_initial initial; /* or random ones */
    struct gpt2_tokenizer *tokenizer;
    struct kernel_choice *kernels;
    struct gpt2_trainer *trainer;
    struct gpt2_data data, val;
    struct train_report report;
    struct train_log log;
    struct train_samples samples;
    struct train_run run; /* run.json */
    struct gpt2_config config;
    int64_t best;     /* the step of the lowest loss on --val; 0: none was measured */
    double best_loss; /* its loss; infinite: the next measurement is lower */
    long since_best;  /* measurements since then */
    int64_t step;     /* completed steps */
    int64_t saved;    /* the step of the latest checkpoint; 0: none */
    double loss;      /* of the last step; NAN: none in this process */
    int B, T, K;
    int32_t *tokens, *targets; /* (B, T) */
};

/* ---- opening a run ---- */

static bool open_out(struct training *t, struct gpt2_error *error) {
    struct train_options *options = &t->options;
    if (options->out == NULL) { return gpt2_fail(error, "--out is missing: the folder for the checkpoints"); }
    if (options->resume && options->data == NULL && !gpt2_out_has_latest(options->out)) {
        return gpt2_fail(error, "%s: there is no run to resume, and --data to start one is missing", options->out);
    }
    if (!options->resume && !train_options_check(options, false, error)) { return false; }
    const bool back = options->resume && options->best;
    if (!gpt2_out_open(&t->out, options->out, error) ||
        !gpt2_out_find(&t->out, back ? "best" : "latest", &t->latest, error)) {
        return false;
    }
    if (back && t->latest == NULL) {
        return gpt2_fail(error, "%s: there is no best checkpoint in it to go back to; --val has one kept",
                         options->out);
    }
    if (t->latest != NULL && !options->resume) {
        return gpt2_fail(error, "%s: there is a run in it; --resume continues it", options->out);
    }
    if (t->latest == NULL) {
        return train_options_check(options, false, error) &&
               run_checkpoint(&options->model, "--model", options->best, error);
    }
    if (!gpt2_checkpoint_open(&t->notes, t->latest, error) || !train_options_resume(options, &t->notes, error)) {
        return false;
    }
    const char *step = safetensors_metadata(&t->notes, "step");
    char *end = NULL;
    t->step = step != NULL ? strtoll(step, &end, 10) : -1;
    if (t->step < 0 || end == step || *end != '\0') {
        return gpt2_fail(error, "%s: its notes name no step", t->notes.file.path);
    }
    if (options->steps < t->step) {
        return gpt2_fail(error, "--steps %ld: the run in %s has done %lld", options->steps, options->out,
                         (long long)t->step);
    }
    t->saved = t->step;
    return train_options_check(options, true, error);
}

/* From --tokenizer, or from the model's folder, also where --model names a file in it. */
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
    struct train_options *o = &t->options;
    t->T = o->length > 0 ? (int)o->length : t->config.max_tokens;
    if (t->T > t->config.max_tokens) {
        return gpt2_fail(error, "--length %d: the model's context is %d", t->T, t->config.max_tokens);
    }
    if (!train_options_accumulate(o, t->T, t->latest != NULL, error)) { return false; }
    t->B = (int)o->batch, t->K = (int)o->accumulate;
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

/* The model that writes samples, beside the trainer. */
static bool open_samples(struct training *t, const struct gpt2_trainer_options *settings, struct gpt2_error *error) {
    const struct gpt2_source weights = gpt2_trainer_source(t->trainer, GPT2_WEIGHTS);
    const struct gpt2_model_options model = {.type = settings->type,
                                             .tf32 = settings->tf32,
                                             .graph = true,
                                             .attention = settings->attention,
                                             .decode = GPT2_AUTO,
                                             .kernels = settings->kernels};
    return train_samples_open(&t->samples, &t->options, &t->out, t->step, t->tokenizer, &weights, &model, error);
}

static bool open_trainer(struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    bool from_file = t->latest != NULL || o->model != NULL, same_bits = true;
    struct gpt2_source source = from_file ? gpt2_weights_source(&t->weights) : gpt2_initial_source(&t->initial);
    t->kernels = kernel_choice_open(o->kernels, error);
    if (t->kernels == NULL) { return false; }
    note_activation(&t->config, t->kernels);
    enum gpt2_form attention;
    if (!parse_form(&attention, GPT2_AUTO, "--attention", o->attention, error)) { return false; }
    struct gpt2_trainer_options settings = {.type = strcmp(o->type, "bf16") == 0 ? GPT2_BF16 : GPT2_F32,
                                            .tf32 = strcmp(o->type, "tf32") == 0,
                                            .attention = attention,
                                            .recompute = o->recompute,
                                            .batch = t->B,
                                            .length = t->T,
                                            .dropout = o->dropout,
                                            .seed = (uint64_t)o->seed,
                                            .kernels = kernel_choice_table(t->kernels)};
    t->trainer = gpt2_trainer_open(&source, &settings, error);
    if (t->trainer == NULL) { return false; }
    if (t->latest != NULL && !gpt2_checkpoint_restore(&t->notes, t->trainer, &same_bits, error)) { return false; }
    if (!open_samples(t, &settings, error)) { return false; }
    char device[320];
    gpt2_trainer_device(t->trainer, device, sizeof device);
    train_report_start(&t->report, &t->config, o->type, device, t->T, o->steps);
    double epochs = (double)o->steps * t->K * t->B / (double)gpt2_data_windows(&t->data, t->T);
    train_report_line(&t->report, "%s step %lld: %.2f M weights, %.2f epochs of %lld tokens, %.1f MB of device memory",
                      t->latest != NULL ? "resuming after" : "from", (long long)t->step,
                      (double)gpt2_config_weights(&t->config, t->config.vocabulary) / 1e6, epochs,
                      (long long)t->data.count,
                      (double)(gpt2_trainer_bytes(t->trainer) + train_samples_bytes(&t->samples)) / 1e6);
    const char *planned = t->latest != NULL ? safetensors_metadata(&t->notes, "steps") : NULL;
    if (planned != NULL && strtol(planned, NULL, 10) != o->steps) {
        train_report_line(&t->report,
                          "the run was planned for %s steps: from here on its learning rate is that of %ld steps",
                          planned, o->steps);
    }
    if (!same_bits) {
        train_report_line(&t->report, "the checkpoint is from another device, library or version of gpt2: the run "
                                      "continues, rounded differently");
    }
    return true;
}

/* Before the first step: the checkpoints that are kept at once, and the one that is written beside them. */
static bool check_room(const struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    bool several = t->latest != NULL || o->val != NULL || (o->save_every > 0 && o->save_every < o->steps);
    int most = 1 + several + (o->val != NULL), there = t->latest != NULL;
    return t->step == o->steps || gpt2_out_has_room(&t->out, &t->config, most - there, error);
}

/* run.json says what the run is from now on. */
static bool write_run(struct training *t, const char *status, struct gpt2_error *error) {
    const struct train_state state = {.status = status,
                                      .step = t->step,
                                      .steps = t->options.steps,
                                      .checkpoint = t->saved,
                                      .best = t->best,
                                      .loss = t->loss,
                                      .best_loss = t->best_loss};
    return train_run_write(&t->run, &state, error);
}

static bool open_run(struct training *t, int count, char **words, struct gpt2_error *error) {
    char device[320];
    gpt2_trainer_device(t->trainer, device, sizeof device);
    return train_run_open(&t->run, &t->out, &t->options, count, words, &t->config, &t->data,
                          t->options.val != NULL ? &t->val : NULL, device, t->step, t->latest != NULL, error);
}

/* From the command line: a new run, or one at its latest checkpoint. The caller closes it, also after a failure. */
static bool training_open(struct training *t, int count, char **words, struct gpt2_error *error) {
    *t = (struct training){.out = {.lock = -1}, .best_loss = INFINITY, .loss = NAN};
    return train_options_parse(&t->options, count, words, error) && open_out(t, error) && open_model(t, error) &&
           open_data(t, error) && check_room(t, error) && open_trainer(t, error) &&
           train_log_open(&t->log, &t->out, t->step, error) && open_run(t, count, words, error);
}

static void training_close(struct training *t) {
    free(t->tokens);
    free(t->targets);
    train_samples_close(&t->samples);
    train_run_close(&t->run);
    gpt2_trainer_close(t->trainer);
    kernel_choice_close(t->kernels);
    gpt2_data_close(&t->data);
    gpt2_data_close(&t->val);
    gpt2_tokenizer_close(t->tokenizer);
    gpt2_weights_close(&t->weights);
    safetensors_close(&t->notes);
    free(t->latest);
    train_log_close(&t->log);
    gpt2_out_close(&t->out);
}

/* The number of windows of --val in a measurement. */
static int64_t measured_windows(const struct training *t) {
    int64_t windows = gpt2_data_windows(&t->val, t->T), most = (int64_t)t->options.val_batches * t->B;
    return windows < most ? windows : most;
}

/* ---- the best checkpoint, by its loss on --val ---- */

/* Identifies the data of a measurement: losses on other data are not comparable. */
static void name_measured(const struct training *t, char *text, size_t size) {
    snprintf(text, size, "%016" PRIx64 ", %lld windows", t->val.hash, (long long)measured_windows(t));
}

/* The best step, from the latest checkpoint's notes. The link may still point to the best step before it. */
static void recall_best(struct training *t) {
    const char *step = safetensors_metadata(&t->notes, "best-step"),
               *loss = safetensors_metadata(&t->notes, "best-loss"),
               *since = safetensors_metadata(&t->notes, "since-best");
    const char *measured = safetensors_metadata(&t->notes, "best-measured");
    char now[64];
    if (step == NULL || loss == NULL || measured == NULL || t->options.val == NULL) { return; }
    name_measured(t, now, sizeof now);
    t->best = strtoll(step, NULL, 10);
    if (!gpt2_out_point(&t->out, "best", t->best, NULL)) {
        t->best = 0; /* it has been removed */
    } else if (strcmp(measured, now) == 0) {
        t->best_loss = strtod(loss, NULL);
        t->since_best = since != NULL ? strtol(since, NULL, 10) : 0;
    } else {
        train_report_line(&t->report, "%s/best was measured on other data: the next measurement replaces it",
                          t->options.out);
    }
}

/* ---- the steps ---- */

static bool save(struct training *t, struct gpt2_error *error) {
    if (!gpt2_out_has_room(&t->out, &t->config, 1, error) || !train_log_draw(&t->log, error)) { return false; }
    const char *notes[2 * TRAIN_MOST_OPTIONS + 16];
    char step[24], hash[20], device[320], best[24], loss[32], measured[64], since[24];
    snprintf(step, sizeof step, "%lld", (long long)t->step);
    snprintf(hash, sizeof hash, "%016" PRIx64, t->data.hash);
    gpt2_trainer_device(t->trainer, device, sizeof device);
    int count = train_options_notes(&t->options, notes);
    const char *const more[] = {"step", step, "data-hash", hash, "device", device, NULL};
    memcpy(notes + count, more, sizeof more);
    if (t->best > 0) {
        snprintf(best, sizeof best, "%lld", (long long)t->best);
        snprintf(loss, sizeof loss, "%.17g", t->best_loss);
        snprintf(since, sizeof since, "%ld", t->since_best);
        name_measured(t, measured, sizeof measured);
        const char *const of_best[] = {"best-step", best,         "best-loss", loss, "best-measured",
                                       measured,    "since-best", since,       NULL};
        memcpy(notes + count + sizeof more / sizeof *more - 1, of_best, sizeof of_best);
    }
    if (!gpt2_checkpoint_write(&t->out, t->step, t->best, t->trainer, t->tokenizer, notes, error)) { return false; }
    t->saved = t->step;
    return write_run(t, "running", error);
}

/* The mean loss of --val's first windows. */
static bool validate(struct training *t, struct gpt2_error *error) {
    const int64_t windows = measured_windows(t);
    double sum = 0.0;
    for (int64_t done = 0; done < windows; done += t->B) {
        int B = windows - done < t->B ? (int)(windows - done) : t->B;
        gpt2_data_batch(&t->val, done, 0, false, B, t->T, t->tokens, t->targets);
        if (!gpt2_trainer_losses(t->trainer, t->tokens, t->targets, B, t->T, error)) { return false; }
    }
    if (!gpt2_trainer_take_loss(t->trainer, &sum, error)) { return false; }
    double mean = sum / (double)(windows * t->T);
    const bool lowest = mean < t->best_loss;
    if (!train_log_validation(&t->log, mean, error)) { return false; }
    t->since_best++;
    if (lowest) { t->best = t->step, t->best_loss = mean, t->since_best = 0; }
    train_report_line(&t->report, "step %lld/%ld  validation loss %.4f  perplexity %.2f%s", (long long)t->step,
                      t->options.steps, mean, exp(mean), lowest ? "  lowest so far" : "");
    return true;
}

/* A text with the current weights, to samples.txt and to standard output. */
static bool sample(struct training *t, struct gpt2_error *error) {
    struct gpt2_text text = {NULL, 0, 0};
    const struct gpt2_source weights = gpt2_trainer_source(t->trainer, GPT2_WEIGHTS);
    bool good = train_samples_write(&t->samples, t->step, &weights, &text, error);
    if (good) {
        train_report_line(&t->report, "step %lld/%ld  sample:", (long long)t->step, t->options.steps);
        fwrite(text.bytes, 1, text.size, stdout);
        train_report_line(&t->report, "%s", "");
    }
    gpt2_text_free(&text);
    return good;
}

static bool one_step(struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    const int64_t predicted = (int64_t)t->K * t->B * t->T;
    const struct gpt2_schedule schedule = {o->rate, o->least, o->warmup, o->steps};
    const struct gpt2_adamw settings = {.rate = gpt2_schedule_rate(&schedule, t->step + 1),
                                        .beta1 = 0.9,
                                        .beta2 = 0.95,
                                        .epsilon = 1e-8,
                                        .decay = o->decay,
                                        .clip = o->clip};
    double began = seconds(), loss, norm;
    for (int k = 0; k < t->K; k++) {
        int64_t taken = (t->step * t->K + k) * t->B; /* windows so far */
        gpt2_data_batch(&t->data, taken, (uint64_t)o->seed, true, t->B, t->T, t->tokens, t->targets);
        gpt2_trainer_pass(t->trainer, t->step * t->K + k);
        if (!gpt2_trainer_gradients(t->trainer, t->tokens, t->targets, t->B, t->T, 1.0f / (float)predicted, error)) {
            return false;
        }
    }
    if (!gpt2_trainer_update(t->trainer, &settings, t->step + 1, &norm, error) ||
        !gpt2_trainer_take_loss(t->trainer, &loss, error)) {
        return false;
    }
    t->step++;
    t->loss = loss / (double)predicted;
    if (!train_log_step(&t->log, t->step, t->loss, settings.rate, norm, error)) { return false; }
    train_report_step(&t->report, (long)t->step, t->loss, settings.rate, norm, (double)predicted / (seconds() - began));
    return true;
}

/* Did the loss on --val not fall for --patience measurements? */
static bool is_stalled(const struct training *t) {
    return t->options.patience > 0 && t->since_best >= t->options.patience;
}

static bool is_due(long every, int64_t step) {
    return every > 0 && step % every == 0;
}

static bool all_steps(struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    if (t->latest != NULL) { recall_best(t); }
    if (t->latest != NULL && o->best && !gpt2_out_point(&t->out, "latest", t->step, error)) { return false; }
    if (!write_run(t, "running", error)) { return false; }
    while (t->step < o->steps && !is_stalled(t)) {
        if (!one_step(t, error)) { return false; }
        bool last = t->step == o->steps;
        if (o->val != NULL && (last || is_due(o->val_every, t->step)) && !validate(t, error)) { return false; }
        last = last || is_stalled(t);
        if (o->sample_every > 0 && (last || is_due(o->sample_every, t->step)) && !sample(t, error)) { return false; }
        bool due = last || t->best == t->step || is_due(o->save_every, t->step);
        if (due && !save(t, error)) { return false; }
    }
    if (is_stalled(t)) {
        train_report_line(&t->report, "--patience %ld: as many measurements had no lower validation loss", o->patience);
    }
    train_report_line(&t->report, "step %lld/%ld is in %s/latest", (long long)t->step, o->steps, o->out);
    if (t->best > 0) {
        train_report_line(&t->report, "step %lld, of the lowest validation loss, %.4f, is in %s/best",
                          (long long)t->best, t->best_loss, o->out);
    }
    return write_run(t, "finished", error);
}

int command_train(int count, char **words, struct gpt2_error *error) {
    struct training t;
    bool good = training_open(&t, count, words, error) && all_steps(&t, error);
    if (t.report.open) { printf("\n"); }
    if (!good && t.run.root != NULL) { write_run(&t, error->text, NULL); }
    training_close(&t);
    return good ? 0 : 2;
}
