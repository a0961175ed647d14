/* train.c — gpt2 train: opens a run from its options or its latest checkpoint, then trains, measures and saves.
 *
 * The state of a run is its step number and its checkpoint. The windows of data, the masks of dropout, the learning rate and
 * the moments follow from them, so a run that was stopped continues with the same bits.
 *
 * Several ranks (collective.h) make the same steps, each with its own sequences. The first one alone writes and prints. What
 * can fail on one rank is followed by an agreement of all; a failure in a pass, where the others wait for gradients, ends all
 * ranks. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/model/model.h"
#include "gpt2/train/checkpoint.h"
#include "gpt2/train/collective.h"
#include "gpt2/train/data.h"
#include "gpt2/train/initial.h"
#include "gpt2/train/schedule.h"
#include "program.h"
#include "ranks.h"
#include "train.h"
#include "train_log.h"
#include "train_run.h"
#include "train_samples.h"

struct training {
    struct train_options options;
    struct gpt2_collective group; /* the ranks */
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

/* ---- ranks ---- */

static bool is_first(const struct training *t) {
    return t->group.rank == 0;
}

/* After what may fail on one rank: true where it failed on none. */
static bool agree(const struct training *t, bool good, struct gpt2_error *error) {
    return gpt2_collective_agree(&t->group, good, NULL, error);
}

/* After a failure while other ranks may wait for this one. */
static bool fail_alone(const struct training *t, const struct gpt2_error *error) {
    if (t->group.ranks > 1) { gpt2_collective_abort(&t->group, error); }
    return false;
}

/* The ranks must have the same weights and moments. */
static bool compare_ranks(const struct training *t, struct gpt2_error *error) {
    static const char *const names[GPT2_TRAINER_HASHES] = {"the weights", "the first moments", "the second moments"};
    uint64_t hashes[GPT2_TRAINER_HASHES];
    if (t->group.ranks == 1) { return true; }
    if (!agree(t, gpt2_trainer_hash(t->trainer, hashes, error), error)) { return false; }
    struct gpt2_error why;
    return gpt2_collective_same(&t->group, hashes, names, GPT2_TRAINER_HASHES, &why) ||
           gpt2_fail(error, "step %lld: %.400s", (long long)t->step, why.text);
}

/* ---- opening a run ---- */

/* On the first rank: locks the folder and finds the checkpoint to resume. */
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
    return t->latest == NULL || options->resume ||
           gpt2_fail(error, "%s: there is a run in it; --resume continues it", options->out);
}

/* The first rank's checkpoint, on all of them. */
static bool share_latest(struct training *t, struct gpt2_error *error) {
    size_t size = t->latest != NULL ? strlen(t->latest) + 1 : 0;
    if (!gpt2_collective_broadcast(&t->group, &size, sizeof size, error)) { return false; }
    if (size == 0) { return true; }
    if (t->latest == NULL) { t->latest = calloc(1, size); }
    if (!agree(t, t->latest != NULL || gpt2_fail(error, "out of memory"), error)) { return false; }
    return gpt2_collective_broadcast(&t->group, t->latest, size, error);
}

/* The options, of the command line and of the checkpoint. */
static bool open_start(struct training *t, struct gpt2_error *error) {
    struct train_options *options = &t->options;
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

static bool open_model(struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    const char *model = t->latest != NULL ? t->latest : o->model;
    const char *tokenizer = t->latest != NULL ? t->latest : o->tokenizer;
    t->tokenizer = session_tokenizer_open(tokenizer, model != NULL ? model : tokenizer, error);
    if (t->tokenizer == NULL) { return false; }
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

/* The ranks may be on machines with other files. */
static bool same_data(const struct training *t, struct gpt2_error *error) {
    static const char *const names[] = {"the tokens of --data", "the tokens of --val"};
    const uint64_t hashes[] = {t->data.hash, t->val.hash};
    return gpt2_collective_same(&t->group, hashes, names, 2, error);
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

/* The algorithms of the products that the first rank chooses, for all ranks. A pass without targets chooses them: its gradients
 * are zeros. */
static bool share_algorithms(struct training *t, struct gpt2_error *error) {
    size_t size = 0;
    void *bytes = NULL;
    bool good = true;
    if (t->group.ranks == 1) { return true; }
    if (is_first(t)) {
        double none;
        for (int i = 0; i < t->B * t->T; i++) { t->targets[i] = -1; }
        good = gpt2_trainer_gradients(t->trainer, t->tokens, t->targets, t->B, t->T, 0.0f, error) &&
               gpt2_trainer_take_loss(t->trainer, &none, error);
        bytes = good ? gpt2_trainer_algorithms(t->trainer, &size) : NULL;
        good = good && (bytes != NULL || gpt2_fail(error, "out of memory"));
    }
    good = agree(t, good, error) && gpt2_collective_broadcast(&t->group, &size, sizeof size, error);
    if (good && bytes == NULL) { bytes = malloc(size + 1); }
    good = good && agree(t, bytes != NULL || gpt2_fail(error, "out of memory"), error) &&
           gpt2_collective_broadcast(&t->group, bytes, size, error);
    bool used = !good || is_first(t) || gpt2_trainer_use_algorithms(t->trainer, bytes, size) ||
                gpt2_fail(error, "its gpt2 is built differently from that of rank 0: install the same on all machines");
    free(bytes);
    return good && agree(t, used, error);
}

/* Before the trainer: the kernels and its settings. */
static bool open_kernels(struct training *t, struct gpt2_trainer_options *settings, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    t->kernels = kernel_choice_open(o->kernels, error);
    if (t->kernels == NULL) { return false; }
    if (is_first(t)) { note_activation(&t->config, t->kernels); }
    enum gpt2_form attention;
    if (!parse_form(&attention, GPT2_AUTO, "--attention", o->attention, error)) { return false; }
    *settings = (struct gpt2_trainer_options){.type = strcmp(o->type, "bf16") == 0 ? GPT2_BF16 : GPT2_F32,
                                              .tf32 = strcmp(o->type, "tf32") == 0,
                                              .attention = attention,
                                              .recompute = o->recompute,
                                              .batch = t->B,
                                              .length = t->T,
                                              .dropout = o->dropout,
                                              .seed = (uint64_t)o->seed,
                                              .kernels = kernel_choice_table(t->kernels),
                                              .group = &t->group,
                                              .zero = o->zero > 0};
    return true;
}

static bool open_trainer(struct training *t, const struct gpt2_trainer_options *settings, bool *same_bits,
                         struct gpt2_error *error) {
    bool from_file = t->latest != NULL || t->options.model != NULL;
    struct gpt2_source source = from_file ? gpt2_weights_source(&t->weights) : gpt2_initial_source(&t->initial);
    t->trainer = gpt2_trainer_open(&source, settings, error);
    return t->trainer != NULL &&
           (t->latest == NULL || gpt2_checkpoint_restore(&t->notes, t->trainer, same_bits, error));
}

/* The first lines of the output. */
static bool report_start(struct training *t, bool same_bits, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    char device[320];
    double machines = t->group.local == 0;
    if (!gpt2_collective_agree(&t->group, true, &machines, error)) { return false; }
    gpt2_trainer_device(t->trainer, device, sizeof device);
    train_report_start(&t->report, &t->config, o->type, device, t->T, o->steps);
    t->report.silent = !is_first(t);
    t->report.peak *= t->group.ranks;
    if (t->group.ranks > 1) {
        train_report_line(&t->report,
                          "%d ranks on %.0f machine%s: each computes %d x %d of the %d sequences of an update%s",
                          t->group.ranks, machines, machines > 1.0 ? "s" : "", t->K, t->B, t->group.ranks * t->K * t->B,
                          o->zero > 0 ? ", and keeps its part of the optimizer's state" : "");
    }
    double epochs = (double)o->steps * t->group.ranks * t->K * t->B / (double)gpt2_data_windows(&t->data, t->T);
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
        train_report_line(&t->report,
                          "the checkpoint is from another device, library or version of gpt2%s: the run "
                          "continues, rounded differently",
                          t->group.ranks > 1 ? ", or from another number of ranks, or another --zero" : "");
    }
    return true;
}

/* Before the first step: the checkpoints that are kept at once, and the one that is written beside them. */
static bool check_room(const struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    bool several = t->latest != NULL || o->val != NULL || (o->save_every > 0 && o->save_every < o->steps);
    int most = 1 + several + (o->val != NULL), there = t->latest != NULL;
    return t->step == o->steps || !is_first(t) || gpt2_out_has_room(&t->out, &t->config, most - there, error);
}

/* run.json says what the run is from now on. */
static bool write_run(struct training *t, const char *status, struct gpt2_error *error) {
    if (!is_first(t)) { return true; }
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

/* The files that the first rank writes. */
static bool open_written(struct training *t, const struct gpt2_trainer_options *settings, int count, char **words,
                         struct gpt2_error *error) {
    return !is_first(t) || (open_samples(t, settings, error) && train_log_open(&t->log, &t->out, t->step, error) &&
                            open_run(t, count, words, error));
}

/* Was the checkpoint written by as many ranks, which divided the same? Their sums have other roundings. */
static bool same_ranks(const struct training *t) {
    const char *ranks = t->latest != NULL ? safetensors_metadata(&t->notes, "ranks") : NULL;
    const char *zero = t->latest != NULL ? safetensors_metadata(&t->notes, "zero") : NULL;
    const bool divided = zero != NULL && strcmp(zero, "0") != 0;
    return t->latest == NULL || (strtol(ranks != NULL ? ranks : "1", NULL, 10) == t->group.ranks &&
                                 (t->group.ranks == 1 || divided == (t->options.zero > 0)));
}

/* A new run, or one at its latest checkpoint. The caller closes it, also after a failure. */
static bool training_open(struct training *t, int count, char **words, struct gpt2_error *error) {
    struct gpt2_trainer_options settings;
    bool same_bits = true;
    return agree(t, !is_first(t) || open_out(t, error), error) && share_latest(t, error) &&
           agree(t, open_start(t, error) && open_model(t, error) && open_data(t, error) && check_room(t, error),
                 error) &&
           same_data(t, error) && gpt2_collective_use_device(&t->group, error) &&
           agree(t, open_kernels(t, &settings, error) && open_trainer(t, &settings, &same_bits, error), error) &&
           share_algorithms(t, error) && compare_ranks(t, error) &&
           agree(t, open_written(t, &settings, count, words, error), error) &&
           report_start(t, same_bits && same_ranks(t), error);
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
    gpt2_collective_close(&t->group);
}

/* The number of windows of --val in a measurement. */
static int64_t measured_windows(const struct training *t) {
    int64_t windows = gpt2_data_windows(&t->val, t->T);
    int64_t most = (int64_t)t->options.val_batches * t->group.ranks * t->B;
    return windows < most ? windows : most;
}

/* ---- the best checkpoint, by its loss on --val ---- */

/* Identifies the data of a measurement: losses on other data are not comparable. */
static void name_measured(const struct training *t, char *text, size_t size) {
    snprintf(text, size, "%016" PRIx64 ", %lld windows", t->val.hash, (long long)measured_windows(t));
}

/* The best step, from the latest checkpoint's notes. The link may still point to the best step before it. */
static bool recall_best(struct training *t, struct gpt2_error *error) {
    const char *step = safetensors_metadata(&t->notes, "best-step"),
               *loss = safetensors_metadata(&t->notes, "best-loss"),
               *since = safetensors_metadata(&t->notes, "since-best");
    const char *measured = safetensors_metadata(&t->notes, "best-measured");
    char now[64];
    if (step == NULL || loss == NULL || measured == NULL || t->options.val == NULL) { return true; }
    name_measured(t, now, sizeof now);
    t->best = strtoll(step, NULL, 10);
    double there = is_first(t) && gpt2_out_point(&t->out, "best", t->best, NULL) ? 1.0 : 0.0;
    if (!gpt2_collective_agree(&t->group, true, &there, error)) { return false; }
    if (there == 0.0) {
        t->best = 0; /* it has been removed */
    } else if (strcmp(measured, now) == 0) {
        t->best_loss = strtod(loss, NULL);
        t->since_best = since != NULL ? strtol(since, NULL, 10) : 0;
    } else {
        train_report_line(&t->report, "%s/best was measured on other data: the next measurement replaces it",
                          t->options.out);
    }
    return true;
}

/* ---- the steps ---- */

static bool write_checkpoint(struct training *t, struct gpt2_error *error) {
    if (!gpt2_out_has_room(&t->out, &t->config, 1, error) || !train_log_draw(&t->log, error)) { return false; }
    const char *notes[2 * TRAIN_MOST_OPTIONS + 18];
    char step[24], hash[20], device[320], best[24], loss[32], measured[64], since[24], ranks[24];
    snprintf(step, sizeof step, "%lld", (long long)t->step);
    snprintf(hash, sizeof hash, "%016" PRIx64, t->data.hash);
    gpt2_trainer_device(t->trainer, device, sizeof device);
    int count = train_options_notes(&t->options, notes);
    if (t->group.ranks > 1) { /* as the notes of one rank otherwise */
        snprintf(ranks, sizeof ranks, "%d", t->group.ranks);
        notes[count++] = "ranks", notes[count++] = ranks;
    }
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

static bool save(struct training *t, struct gpt2_error *error) {
    struct gpt2_error lost;
    if (!compare_ranks(t, error)) { return false; }
    if (!gpt2_trainer_collect(t->trainer, error)) { return fail_alone(t, error); }
    const bool good = !is_first(t) || write_checkpoint(t, error);
    if (!gpt2_trainer_release(t->trainer, &lost)) { return fail_alone(t, &lost); }
    return agree(t, good, error);
}

/* The sum of the losses of this rank's batches of --val: every ranks-th. */
static bool own_losses(struct training *t, int64_t windows, double *sum, struct gpt2_error *error) {
    for (int64_t done = (int64_t)t->group.rank * t->B; done < windows; done += (int64_t)t->group.ranks * t->B) {
        int B = windows - done < t->B ? (int)(windows - done) : t->B;
        gpt2_data_batch(&t->val, done, 0, false, B, t->T, t->tokens, t->targets);
        if (!gpt2_trainer_losses(t->trainer, t->tokens, t->targets, B, t->T, error)) { return false; }
    }
    return gpt2_trainer_take_loss(t->trainer, sum, error);
}

/* The mean loss of --val's first windows. */
static bool validate(struct training *t, struct gpt2_error *error) {
    const int64_t windows = measured_windows(t);
    double sum = 0.0;
    if (!gpt2_collective_agree(&t->group, own_losses(t, windows, &sum, error), &sum, error)) { return false; }
    double mean = sum / (double)(windows * t->T);
    const bool lowest = mean < t->best_loss;
    if (!agree(t, !is_first(t) || train_log_validation(&t->log, mean, error), error)) { return false; }
    t->since_best++;
    if (lowest) { t->best = t->step, t->best_loss = mean, t->since_best = 0; }
    train_report_line(&t->report, "step %lld/%ld  validation loss %.4f  perplexity %.2f%s", (long long)t->step,
                      t->options.steps, mean, exp(mean), lowest ? "  lowest so far" : "");
    return true;
}

/* A text with the current weights, to samples.txt and to standard output. */
static bool sample(struct training *t, struct gpt2_error *error) {
    struct gpt2_text text = {NULL, 0, 0};
    if (!is_first(t)) { return true; }
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

/* This rank's batches of step number step + 1, forward and backward. Batch k of rank r is number (step K + k) ranks + r of the
 * run, so that the ranks read in an update what one rank reads with a batch of all their sequences. */
static bool own_gradients(struct training *t, float scale, struct gpt2_error *error) {
    for (int k = 0; k < t->K; k++) {
        const int64_t number = (t->step * t->K + k) * t->group.ranks + t->group.rank;
        gpt2_data_batch(&t->data, number * t->B, (uint64_t)t->options.seed, true, t->B, t->T, t->tokens, t->targets);
        gpt2_trainer_pass(t->trainer, number);
        if (k == t->K - 1) { gpt2_trainer_sum_next(t->trainer); }
        if (!gpt2_trainer_gradients(t->trainer, t->tokens, t->targets, t->B, t->T, scale, error)) { return false; }
    }
    return true;
}

static bool one_step(struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    const int64_t predicted = (int64_t)t->group.ranks * t->K * t->B * t->T;
    const struct gpt2_schedule schedule = {o->rate, o->least, o->warmup, o->steps};
    const struct gpt2_adamw settings = {.rate = gpt2_schedule_rate(&schedule, t->step + 1),
                                        .beta1 = 0.9,
                                        .beta2 = 0.95,
                                        .epsilon = 1e-8,
                                        .decay = o->decay,
                                        .clip = o->clip};
    double began = seconds(), loss = 0.0, norm;
    if (!own_gradients(t, 1.0f / (float)predicted, error)) { return fail_alone(t, error); }
    bool good = gpt2_trainer_update(t->trainer, &settings, t->step + 1, &norm, error);
    if (!good && isfinite(norm)) { return fail_alone(t, error); } /* else all ranks have the same norm */
    good = good && gpt2_trainer_take_loss(t->trainer, &loss, error);
    if (!gpt2_collective_agree(&t->group, good, &loss, error)) { return false; }
    t->step++;
    t->loss = loss / (double)predicted;
    good = !is_first(t) || train_log_step(&t->log, t->step, t->loss, settings.rate, norm, error);
    train_report_step(&t->report, (long)t->step, t->loss, settings.rate, norm, (double)predicted / (seconds() - began));
    return agree(t, good, error);
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
    if (t->latest != NULL && !recall_best(t, error)) { return false; }
    bool good = t->latest == NULL || !o->best || !is_first(t) || gpt2_out_point(&t->out, "latest", t->step, error);
    if (!agree(t, good && write_run(t, "running", error), error)) { return false; }
    while (t->step < o->steps && !is_stalled(t)) {
        if (!one_step(t, error)) { return false; }
        gpt2_collective_limit(&t->group, o->rank_timeout);
        if (!is_first(t)) { gpt2_collective_limit(&t->group, 0.0); } /* for what the first rank does alone */
        bool last = t->step == o->steps;
        if (o->val != NULL && (last || is_due(o->val_every, t->step)) && !validate(t, error)) { return false; }
        last = last || is_stalled(t);
        if (o->sample_every > 0 && (last || is_due(o->sample_every, t->step)) && !agree(t, sample(t, error), error)) {
            return false;
        }
        bool due = last || t->best == t->step || is_due(o->save_every, t->step);
        if (due && !save(t, error)) { return false; }
        gpt2_collective_limit(&t->group, o->rank_timeout);
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
    struct training t = {.out = {.lock = -1}, .best_loss = INFINITY, .loss = NAN};
    bool good =
        train_options_parse(&t.options, count, words, error) && ranks_launch(t.options.gpus, count, words, error);
    struct gpt2_error unjoined = {""};
    if (!gpt2_collective_open(&t.group, &unjoined)) {
        *error = unjoined;
        return unjoined.text[0] != '\0' ? 2 : 0; /* as at the end */
    }
    t.options.ranks = t.group.ranks;
    good = agree(&t, good, error) && training_open(&t, count, words, error) && all_steps(&t, error);
    if (t.report.open) { printf("\n"); }
    if (!good && t.run.root != NULL) { write_run(&t, error->text, NULL); }
    const bool first = is_first(&t);
    if (!first) { error->text[0] = '\0'; } /* the first rank has the same message */
    training_close(&t);
    return good || !first ? 0 : 2; /* mpirun ends the others at a status of 2, and the first one has yet to print */
}
