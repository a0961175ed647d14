/* train.c — gpt2 train: step after step, with its measurements and checkpoints.
 *
 * Where a run is, is one number: its step. Windows of data taken, the learning rate and the moments follow from it and from the
 * checkpoint, so a run that was stopped goes on with the bits that it would have had. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/train/schedule.h"
#include "train_run.h"

/* Of --val's, so many are measured. */
static int64_t measured_windows(const struct training *t) {
    int64_t windows = gpt2_data_windows(&t->val, t->T), most = (int64_t)t->options.val_batches * t->B;
    return windows < most ? windows : most;
}

/* ---- the best checkpoint, by its loss on --val ---- */

/* What a loss is measured on: losses on something else compare with none of these. */
static void name_measured(const struct training *t, char *text, size_t size) {
    snprintf(text, size, "%016" PRIx64 ", %lld windows", t->val.hash, (long long)measured_windows(t));
}

/* The latest checkpoint's notes say which was the best; its link may be one behind. */
static void recall_best(struct training *t) {
    const char *step = safetensors_metadata(&t->notes, "best-step"),
               *loss = safetensors_metadata(&t->notes, "best-loss");
    const char *measured = safetensors_metadata(&t->notes, "best-measured");
    char now[64];
    if (step == NULL || loss == NULL || measured == NULL || t->options.val == NULL) { return; }
    name_measured(t, now, sizeof now);
    t->best = strtoll(step, NULL, 10);
    if (!gpt2_out_best(&t->out, t->best)) {
        t->best = 0; /* somebody removed it */
    } else if (strcmp(measured, now) == 0) {
        t->best_loss = strtod(loss, NULL);
    } else {
        train_report_line(&t->report, "%s/best was measured on something else: the next measurement replaces it",
                          t->options.out);
    }
}

/* ---- the steps ---- */

static bool save(struct training *t, struct gpt2_error *error) {
    const char *notes[2 * TRAIN_MOST_OPTIONS + 16];
    char step[24], hash[20], device[320], best[24], loss[32], measured[64];
    snprintf(step, sizeof step, "%lld", (long long)t->step);
    snprintf(hash, sizeof hash, "%016" PRIx64, t->data.hash);
    gpt2_trainer_device(t->trainer, device, sizeof device);
    int count = train_options_notes(&t->options, notes);
    const char *const more[] = {"step", step, "data-hash", hash, "device", device, NULL};
    memcpy(notes + count, more, sizeof more);
    if (t->best > 0) {
        snprintf(best, sizeof best, "%lld", (long long)t->best);
        snprintf(loss, sizeof loss, "%.17g", t->best_loss);
        name_measured(t, measured, sizeof measured);
        const char *const of_best[] = {"best-step", best, "best-loss", loss, "best-measured", measured, NULL};
        memcpy(notes + count + sizeof more / sizeof *more - 1, of_best, sizeof of_best);
    }
    return gpt2_checkpoint_write(&t->out, t->step, t->best, t->trainer, t->tokenizer, notes, error);
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
    if (lowest) { t->best = t->step, t->best_loss = mean; }
    train_report_line(&t->report, "step %lld/%ld  validation loss %.4f  perplexity %.2f%s", (long long)t->step,
                      t->options.steps, mean, exp(mean), lowest ? "  lowest so far" : "");
    return true;
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
        int64_t taken = (t->step * t->K + k) * t->B; /* windows, so far */
        gpt2_data_batch(&t->data, taken, (uint64_t)o->seed, true, t->B, t->T, t->tokens, t->targets);
        if (!gpt2_trainer_gradients(t->trainer, t->tokens, t->targets, t->B, t->T, 1.0f / (float)predicted, error)) {
            return false;
        }
    }
    if (!gpt2_trainer_update(t->trainer, &settings, t->step + 1, &norm, error) ||
        !gpt2_trainer_take_loss(t->trainer, &loss, error)) {
        return false;
    }
    t->step++;
    train_report_step(&t->report, (long)t->step, loss / (double)predicted, settings.rate, norm,
                      (double)predicted / (seconds() - began));
    return true;
}

static bool all_steps(struct training *t, struct gpt2_error *error) {
    const struct train_options *o = &t->options;
    if (t->latest != NULL) { recall_best(t); }
    while (t->step < o->steps) {
        if (!one_step(t, error)) { return false; }
        bool last = t->step == o->steps;
        if (o->val != NULL && (last || t->step % o->val_every == 0) && !validate(t, error)) { return false; }
        bool due = last || t->best == t->step || (o->save_every > 0 && t->step % o->save_every == 0);
        if (due && !save(t, error)) { return false; }
    }
    train_report_line(&t->report, "step %lld/%ld is in %s/latest", (long long)t->step, o->steps, o->out);
    if (t->best > 0) {
        train_report_line(&t->report, "step %lld, of the lowest validation loss, %.4f, is in %s/best",
                          (long long)t->best, t->best_loss, o->out);
    }
    return true;
}

int command_train(int count, char **arguments, struct gpt2_error *error) {
    struct training t;
    bool good = training_open(&t, count, arguments, error) && all_steps(&t, error);
    if (t.report.open) { printf("\n"); }
    training_close(&t);
    return good ? 0 : 2;
}
