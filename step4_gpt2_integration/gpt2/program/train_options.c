/* train_options.c — the options of gpt2 train, in one table that parses, checks, saves and restores them (train.h). */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "train.h"

enum kind { TEXT, WHOLE, REAL, SWITCH };

/* The role of an option in a checkpoint. START: not stored. COMFORT: stored, and may change. FIXED: stored, and must not change. */
enum keep { START, COMFORT, FIXED };

#define FIELD(field) offsetof(struct train_options, field)
static const struct option {
    const char *name, *value, *usual, *what;
    enum kind kind;
    enum keep keep;
    size_t offset;
    double least, most;
} table[] = {
    {"--data", "FILE", NULL, "training data: a text, or tokens in llm.c's format", TEXT, COMFORT, FIELD(data), 0, 0},
    {"--val", "FILE", NULL, "validation data, of the same kinds; the checkpoint with the lowest loss is kept", TEXT,
     COMFORT, FIELD(val), 0, 0},
    {"--out", "DIR", NULL, "folder of the checkpoints: DIR/latest and, with --val, DIR/best, models for all commands",
     TEXT, START, FIELD(out), 0, 0},
    {"--model", "PATH", NULL, "start from these weights; else from random ones, of these sizes:", TEXT, START,
     FIELD(model), 0, 0},
    {"--layers", "L", NULL, "number of blocks", WHOLE, START, FIELD(layers), 1, 1 << 12},
    {"--heads", "H", NULL, "heads of a block; divides the channels", WHOLE, START, FIELD(heads), 1, 1 << 12},
    {"--channels", "C", NULL, "number of channels", WHOLE, START, FIELD(channels), 1, 1 << 16},
    {"--context", "T", NULL, "context of the model in tokens (--length)", WHOLE, START, FIELD(context), 1, 1 << 20},
    {"--tokenizer", "PATH", NULL, "a folder or file with the tokenizer (else: in the model's folder)", TEXT, START,
     FIELD(tokenizer), 0, 0},
    {"--steps", "N", NULL, "number of updates", WHOLE, FIXED, FIELD(steps), 1, 1e9},
    {"--batch", "B", "8", "sequences in a batch", WHOLE, FIXED, FIELD(batch), 1, 1 << 16},
    {"--length", "T", NULL, "tokens of a sequence (the model's context)", WHOLE, FIXED, FIELD(length), 1, 1 << 20},
    {"--accumulate", "K", "1", "batches in an update", WHOLE, FIXED, FIELD(accumulate), 1, 1 << 20},
    {"--lr", "X", "6e-4", "learning rate after the warm-up", REAL, FIXED, FIELD(rate), 0, 1e3},
    {"--min-lr", "X", NULL, "learning rate at the end (a tenth of --lr)", REAL, FIXED, FIELD(least), 0, 1e3},
    {"--warmup", "N", "0", "steps over which the learning rate rises", WHOLE, FIXED, FIELD(warmup), 0, 1e9},
    {"--weight-decay", "X", "0.1", "weight decay of the matrices", REAL, FIXED, FIELD(decay), 0, 1e3},
    {"--clip", "X", "1", "upper bound of the gradients' norm; 0: none", REAL, FIXED, FIELD(clip), 0, 1e9},
    {"--seed", "N", "1", "random seed of the weights and of the order of the data", WHOLE, FIXED, FIELD(seed), 0, 9e15},
    {"--type", "TYPE", "f32", "f32, tf32 or bf16; master weights and gradients are f32", TEXT, FIXED, FIELD(type), 0,
     0},
    {"--kernels", "SET", "reference", "naive, reference, lab, a path; and SET,op=SET,... for single ops", TEXT, FIXED,
     FIELD(kernels), 0, 0},
    {"--attention", "FORM", "auto", "taught, fused (bf16 on a GPU: no scores in memory), or auto", TEXT, FIXED,
     FIELD(attention), 0, 0},
    {"--recompute", NULL, NULL, "keep fewer activations and compute them again: the same numbers, less memory", SWITCH,
     COMFORT, FIELD(recompute), 0, 0},
    {"--save-every", "N", "0", "steps between checkpoints, besides those of a lowest loss; 0: only one at the end",
     WHOLE, COMFORT, FIELD(save_every), 0, 1e9},
    {"--val-every", "N", "100", "steps between measurements on --val", WHOLE, COMFORT, FIELD(val_every), 1, 1e9},
    {"--val-batches", "N", "20", "the most batches of a measurement", WHOLE, COMFORT, FIELD(val_batches), 1, 1e9},
    {"--resume", NULL, NULL, "continue from the latest checkpoint in --out, if there is one", SWITCH, START,
     FIELD(resume), 0, 0},
};
enum { OPTIONS = sizeof table / sizeof *table };
_Static_assert(OPTIONS <= (int)TRAIN_MOST_OPTIONS, "train_options.text has no room");

void train_options_print(FILE *to) {
    for (int i = 0; i < OPTIONS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", table[i].name, table[i].value ? table[i].value : "");
        fprintf(to, "  %-18s %s", left, table[i].what);
        fprintf(to, table[i].usual ? " (%s)\n" : "\n", table[i].usual);
    }
}

static bool take(struct train_options *options, const struct option *option, const char *text,
                 struct gpt2_error *error) {
    char *place = (char *)options + option->offset, *end;
    if (option->kind == TEXT) { memcpy(place, &text, sizeof text); }
    if (option->kind == SWITCH) { *(bool *)place = true; }
    if (option->kind == TEXT || option->kind == SWITCH) { return true; }
    errno = 0;
    long whole = option->kind == WHOLE ? strtol(text, &end, 10) : 0;
    double value = option->kind == WHOLE ? (double)whole : strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(value >= option->least && value <= option->most)) {
        return gpt2_fail(error,
                         option->kind == WHOLE ? "%s %s: a whole number from %.0f to %.0f is needed"
                                               : "%s %s: a number from %.16g to %.16g is needed",
                         option->name, text, option->least, option->most);
    }
    if (option->kind == WHOLE) { memcpy(place, &whole, sizeof whole); }
    if (option->kind == REAL) { memcpy(place, &value, sizeof value); }
    return true;
}

static bool take_text(struct train_options *options, int at, const char *text, struct gpt2_error *error) {
    options->text[at] = text;
    return take(options, &table[at], text, error);
}

bool train_options_parse(struct train_options *options, int count, char **arguments, struct gpt2_error *error) {
    *options = (struct train_options){.least = -1.0};
    for (int i = 0; i < OPTIONS; i++) {
        if (table[i].usual != NULL && !take(options, &table[i], table[i].usual, error)) { return false; }
    }
    for (int i = 0; i < count; i++) {
        int at = 0;
        while (at < OPTIONS && strcmp(table[at].name, arguments[i]) != 0) { at++; }
        if (at == OPTIONS) {
            return gpt2_fail(error, "there is no option '%s' (gpt2 train --help lists them)", arguments[i]);
        }
        bool has_value = table[at].kind != SWITCH;
        if (has_value && (i + 1 == count || strncmp(arguments[i + 1], "--", 2) == 0)) {
            return gpt2_fail(error, "%s needs a value: %s", table[at].name, table[at].value);
        }
        if (has_value && arguments[i + 1][0] == '\0') {
            return gpt2_fail(error, "%s is empty: %s", table[at].name, table[at].value);
        }
        if (!take_text(options, at, has_value ? arguments[i + 1] : "yes", error)) { return false; }
        i += has_value;
    }
    options->model = model_path(options->model);
    options->tokenizer = model_path(options->tokenizer);
    return true;
}

/* ---- in a checkpoint, where names have no hyphens ---- */

int train_options_notes(const struct train_options *options, const char **notes) {
    int count = 0;
    for (int i = 0; i < OPTIONS; i++) {
        const char *text = options->text[i] != NULL ? options->text[i] : table[i].usual;
        if (table[i].keep == START || text == NULL) { continue; }
        notes[count++] = table[i].name + 2;
        notes[count++] = text;
    }
    return count;
}

bool train_options_sizes(const struct train_options *options, const struct gpt2_config *config,
                         struct gpt2_error *error) {
    const struct {
        const char *name;
        long now, then;
    } sizes[] = {
        {"--layers", options->layers, config->layers},
        {"--heads", options->heads, config->heads},
        {"--channels", options->channels, config->channels},
        {"--context", options->context, config->max_tokens},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].now != 0 && sizes[i].now != sizes[i].then) {
            return gpt2_fail(error, "%s %ld: the run in %s has %ld; leave the option away to go on with it",
                             sizes[i].name, sizes[i].now, options->out, sizes[i].then);
        }
    }
    return true;
}

bool train_options_resume(struct train_options *options, const struct safetensors *notes, struct gpt2_error *error) {
    for (int i = 0; i < OPTIONS; i++) {
        const char *then = safetensors_metadata(notes, table[i].name + 2), *now = options->text[i];
        if (table[i].keep == FIXED && now != NULL && (then == NULL || strcmp(now, then) != 0)) {
            return gpt2_fail(error, "%s %s: the run in %s has %s; omit the option to continue it", table[i].name, now,
                             options->out, then != NULL ? then : "none");
        }
        if (table[i].keep == START || then == NULL || now != NULL) { continue; }
        if (!take_text(options, i, then, error)) { return false; }
    }
    return true;
}

/* ---- together ---- */

static bool given(const struct train_options *o, const char *name) {
    int at = 0;
    while (strcmp(table[at].name, name) != 0) { at++; }
    return o->text[at] != NULL;
}

bool train_options_check(struct train_options *o, bool from_checkpoint, struct gpt2_error *error) {
    bool sizes = o->layers > 0 || o->heads > 0 || o->channels > 0 || o->context > 0;
    if (o->data == NULL) { return gpt2_fail(error, "--data is missing: a text, or tokens in llm.c's format"); }
    if (o->steps == 0) { return gpt2_fail(error, "--steps is missing: the number of updates"); }
    if (o->warmup > o->steps) { return gpt2_fail(error, "--warmup %ld is more than --steps %ld", o->warmup, o->steps); }
    if (o->least < 0.0) { o->least = o->rate / 10.0; }
    if (o->least > o->rate) { return gpt2_fail(error, "--min-lr %g is more than --lr %g", o->least, o->rate); }
    if (strcmp(o->type, "f32") != 0 && strcmp(o->type, "tf32") != 0 && strcmp(o->type, "bf16") != 0) {
        return gpt2_fail(error,
                         strcmp(o->type, "f16") == 0 ? "--type %s: small gradients would underflow: train in bf16"
                                                     : "--type %s: f32, tf32 or bf16",
                         o->type);
    }
    enum gpt2_form attention;
    if (!parse_form(&attention, "--attention", o->attention, error)) { return false; }
    if (from_checkpoint) { return true; }
    if (o->val == NULL && (given(o, "--val-every") || given(o, "--val-batches"))) {
        return gpt2_fail(error, "--val is missing: --val-every and --val-batches are options of its measurement");
    }
    if (o->model != NULL && sizes) {
        return gpt2_fail(error, "--model determines the sizes: omit --layers, --heads, --channels and --context");
    }
    if (o->model != NULL) { return true; }
    if (o->layers == 0 || o->heads == 0 || o->channels == 0 || (o->context == 0 && o->length == 0)) {
        return gpt2_fail(error,
                         "--model is missing; or, for random weights, --layers, --heads, --channels and --context");
    }
    if (o->tokenizer == NULL) {
        return gpt2_fail(error, "--tokenizer is missing: random weights have none, and it determines the "
                                "vocabulary");
    }
    if (o->context == 0) { o->context = o->length; }
    if (o->channels % o->heads != 0) {
        return gpt2_fail(error, "--heads %ld does not divide --channels %ld", o->heads, o->channels);
    }
    return true;
}
