/* train_options.c — the options of gpt2 train: their table (arguments.h), and what a checkpoint keeps of them (train.h). */
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "train.h"

/* The role of an option in a checkpoint. START: not stored. COMFORT: stored, and may change. FIXED: stored, and must not
 * change. */
enum keep { START, COMFORT, FIXED };

#define FIELD(field) offsetof(struct train_options, field)
static const struct argument table[] = {
    {"--data", NULL, "FILE", NULL, "training data: a text, or tokens in llm.c's format", ARGUMENT_TEXT, FIELD(data), 0,
     0, COMFORT},
    {"--val", NULL, "FILE", NULL, "validation data, of the same kinds; the checkpoint with the lowest loss is kept",
     ARGUMENT_TEXT, FIELD(val), 0, 0, COMFORT},
    {"--out", NULL, "DIR", NULL,
     "folder of the checkpoints: DIR/latest and, with --val, DIR/best, models for all commands", ARGUMENT_TEXT,
     FIELD(out), 0, 0, START},
    {"--model", NULL, "PATH", NULL, "start from these weights (default: from random ones of the sizes below)",
     ARGUMENT_TEXT, FIELD(model), 0, 0, START},
    {"--layers", NULL, "L", NULL, "number of blocks, without --model", ARGUMENT_LONG, FIELD(layers), 1, 1 << 12, START},
    {"--heads", NULL, "H", NULL, "heads of a block; divides the channels", ARGUMENT_LONG, FIELD(heads), 1, 1 << 12,
     START},
    {"--channels", NULL, "C", NULL, "number of channels", ARGUMENT_LONG, FIELD(channels), 1, 1 << 16, START},
    {"--context", NULL, "T", NULL, "context of the model in tokens (default: --length)", ARGUMENT_LONG, FIELD(context),
     1, 1 << 20, START},
    {"--tokenizer", NULL, "PATH", NULL, "a folder or file with the tokenizer (default: beside the model)",
     ARGUMENT_TEXT, FIELD(tokenizer), 0, 0, START},
    {"--steps", NULL, "N", NULL, "number of updates; with --resume another number extends the run, or shortens it",
     ARGUMENT_LONG, FIELD(steps), 1, 1e9, COMFORT},
    {"--batch", NULL, "B", "8", "sequences in a batch", ARGUMENT_LONG, FIELD(batch), 1, 1 << 16, FIXED},
    {"--length", NULL, "T", NULL, "tokens of a sequence (default: the model's context)", ARGUMENT_LONG, FIELD(length),
     1, 1 << 20, FIXED},
    {"--accumulate", NULL, "K", "1", "batches in an update", ARGUMENT_LONG, FIELD(accumulate), 1, 1 << 20, FIXED},
    {"--tokens-per-step", NULL, "N", NULL, "tokens in an update, in place of --accumulate: K = N / (B T)",
     ARGUMENT_LONG, FIELD(tokens_per_step), 1, 1e15, START},
    {"--lr", NULL, "X", "6e-4", "learning rate after the warm-up", ARGUMENT_REAL, FIELD(rate), 0, 1e3, FIXED},
    {"--min-lr", NULL, "X", NULL, "learning rate at the end (default: a tenth of --lr)", ARGUMENT_REAL, FIELD(least), 0,
     1e3, FIXED},
    {"--warmup", NULL, "N", "0", "steps over which the learning rate rises", ARGUMENT_LONG, FIELD(warmup), 0, 1e9,
     FIXED},
    {"--weight-decay", NULL, "X", "0.1", "weight decay of the matrices", ARGUMENT_REAL, FIELD(decay), 0, 1e3, FIXED},
    {"--clip", NULL, "X", "1", "upper bound of the gradients' norm; 0: none", ARGUMENT_REAL, FIELD(clip), 0, 1e9,
     FIXED},
    {"--dropout", NULL, "P", "0", "dropout of the embedding, of attention's weights and of both branches of a block",
     ARGUMENT_REAL, FIELD(dropout), 0, 0.99, FIXED},
    {"--seed", NULL, "N", "1", "random seed of the weights, the order of the data, dropout and samples", ARGUMENT_LONG,
     FIELD(seed), 0, 9e15, FIXED},
    {"--type", NULL, "TYPE", "f32", "f32, tf32 or bf16; master weights and gradients are f32", ARGUMENT_TEXT,
     FIELD(type), 0, 0, FIXED},
    {"--kernels", NULL, "SET", "reference", "naive, reference, lab, a path; and SET,op=SET,... for single ops",
     ARGUMENT_TEXT, FIELD(kernels), 0, 0, FIXED},
    {"--attention", NULL, "FORM", "auto", "taught, fused (bf16 on a GPU: no scores in memory), or auto", ARGUMENT_TEXT,
     FIELD(attention), 0, 0, FIXED},
    {"--recompute", NULL, NULL, NULL, "keep fewer activations and compute them again: the same numbers, less memory",
     ARGUMENT_SWITCH, FIELD(recompute), 0, 0, COMFORT},
    {"--save-every", NULL, "N", "0",
     "steps between checkpoints, besides those of a lowest loss; 0: only one at the end", ARGUMENT_LONG,
     FIELD(save_every), 0, 1e9, COMFORT},
    {"--val-every", NULL, "N", "100", "steps between measurements on --val", ARGUMENT_LONG, FIELD(val_every), 1, 1e9,
     COMFORT},
    {"--val-batches", NULL, "N", "20", "the most batches of a measurement", ARGUMENT_LONG, FIELD(val_batches), 1, 1e9,
     COMFORT},
    {"--patience", NULL, "N", "0", "end after N measurements on --val without a lower loss; 0: never", ARGUMENT_LONG,
     FIELD(patience), 0, 1e9, COMFORT},
    {"--sample-every", NULL, "N", "0", "steps between texts that the model writes, kept in DIR/samples.txt; 0: none",
     ARGUMENT_LONG, FIELD(sample_every), 0, 1e9, COMFORT},
    {"--sample-prompt", NULL, "TEXT", NULL, "the text that they continue (default: the beginning of a document)",
     ARGUMENT_TEXT, FIELD(sample_prompt), 0, 0, COMFORT},
    {"--sample-tokens", NULL, "N", "64", "the most tokens of such a text", ARGUMENT_LONG, FIELD(sample_tokens), 1,
     1 << 20, COMFORT},
    {"--sample-temperature", NULL, "X", "0.8", "draw them with this temperature; 0: the likeliest tokens",
     ARGUMENT_REAL, FIELD(sample_temperature), 0, 100, COMFORT},
    {"--gpus", NULL, "N", "1", "train on N GPUs of this machine, a process each; --batch is of each", ARGUMENT_LONG,
     FIELD(gpus), 1, 1 << 10, START},
    {"--zero", NULL, "STAGE", "0",
     "1: the ranks divide the optimizer's state among them (ZeRO stage 1); 0: each has all of it", ARGUMENT_LONG,
     FIELD(zero), 0, 1, COMFORT},
    {"--rank-timeout", NULL, "S", "60", "seconds that a rank waits for another, after the first step; 0: no limit",
     ARGUMENT_REAL, FIELD(rank_timeout), 0, 1e6, COMFORT},
    {"--resume", NULL, NULL, NULL, "continue from the latest checkpoint in --out, if there is one", ARGUMENT_SWITCH,
     FIELD(resume), 0, 0, START},
    {"--best", NULL, NULL, NULL,
     "with --resume: go back to the checkpoint with the lowest loss on --val; with --model RUN: start from that one",
     ARGUMENT_SWITCH, FIELD(best), 0, 0, START},
};
enum { OPTIONS = sizeof table / sizeof *table };
_Static_assert(OPTIONS <= (int)TRAIN_MOST_OPTIONS, "train_options.text has no room");

const struct arguments train_arguments = {table, OPTIONS, "train"};

static bool take(void *context, int row, const char *text, struct gpt2_error *error) {
    struct train_options *options = context;
    options->text[row] = text;
    return argument_store(options, &table[row], text, error);
}

bool train_options_parse(struct train_options *options, int count, char **words, struct gpt2_error *error) {
    *options = (struct train_options){.least = -1.0, .ranks = 1};
    if (!arguments_store_usual(&train_arguments, options, error) ||
        arguments_parse(&train_arguments, count, words, take, options, error) != ARGUMENTS_TAKEN) {
        return false;
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
        if (table[i].role == START || text == NULL) { continue; }
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

static int row_of(const char *name) {
    int at = 0;
    while (strcmp(table[at].name, name) != 0) { at++; }
    return at;
}

static bool given(const struct train_options *o, const char *name) {
    return o->text[row_of(name)] != NULL;
}

static bool derive(struct train_options *o, const char *name, int slot, long value, struct gpt2_error *error) {
    snprintf(o->derived[slot], sizeof o->derived[slot], "%ld", value);
    return take(o, row_of(name), o->derived[slot], error);
}

enum { MOST_RANKS = 1 << 16 };

/* A number of the notes, at most `most`; 1 where they have none. */
static long noted(const struct safetensors *notes, const char *name, long most) {
    const char *text = safetensors_metadata(notes, name);
    long value = text != NULL ? strtol(text, NULL, 10) : 1;
    return value > 0 && value <= most ? value : 1;
}

/* The run had another number of ranks: an update keeps its sequences, which --batch and --accumulate divide anew. */
static bool divide_anew(struct train_options *o, const struct safetensors *notes, struct gpt2_error *error) {
    const long batch = noted(notes, "batch", 1 << 16), accumulate = noted(notes, "accumulate", 1 << 20);
    const long ranks = noted(notes, "ranks", MOST_RANKS);
    const long sequences = ranks * batch * accumulate, each = sequences / o->ranks; /* of an update; of a rank */
    const bool has_batch = given(o, "--batch"), has_accumulate = given(o, "--accumulate");
    if (sequences % o->ranks != 0) {
        return gpt2_fail(error, "%ld ranks cannot divide the %ld sequences of an update of the run in %s", o->ranks,
                         sequences, o->out);
    }
    long own = has_batch ? o->batch : has_accumulate ? each / o->accumulate : batch;
    while (!has_batch && !has_accumulate && (own > each || each % own != 0)) { own--; }
    long times = has_accumulate ? o->accumulate : each / own;
    if (own < 1 || own * times != each) {
        return gpt2_fail(error,
                         "--batch and --accumulate: an update of the run in %s has %ld sequences, so with %ld ranks "
                         "their product is %ld",
                         o->out, sequences, o->ranks, each);
    }
    const long measured = noted(notes, "val-batches", 1000000000) * ranks * batch; /* the most sequences of --val */
    if (!given(o, "--val-batches") && measured % (o->ranks * own) == 0 &&
        !derive(o, "--val-batches", 2, measured / (o->ranks * own), error)) {
        return false;
    }
    return derive(o, "--batch", 1, own, error) && derive(o, "--accumulate", 0, times, error);
}

/* Is it an option that divides an update among ranks? */
static bool divides(const struct argument *option) {
    return strcmp(option->name, "--batch") == 0 || strcmp(option->name, "--accumulate") == 0;
}

bool train_options_resume(struct train_options *options, const struct safetensors *notes, struct gpt2_error *error) {
    const bool anew = noted(notes, "ranks", MOST_RANKS) != options->ranks;
    if (anew && !divide_anew(options, notes, error)) { return false; }
    for (int i = 0; i < OPTIONS; i++) {
        const char *then = safetensors_metadata(notes, table[i].name + 2), *now = options->text[i];
        if (anew && divides(&table[i])) { continue; }
        if (table[i].role == FIXED && now != NULL && (then == NULL || strcmp(now, then) != 0)) {
            return gpt2_fail(error, "%s %s: the run in %s has %s; omit the option to continue it", table[i].name, now,
                             options->out, then != NULL ? then : "none");
        }
        if (table[i].role == START || then == NULL || now != NULL) { continue; }
        if (!take(options, i, then, error)) { return false; }
    }
    return true;
}

/* ---- together ---- */

bool train_options_accumulate(struct train_options *o, int T, bool from_checkpoint, struct gpt2_error *error) {
    const long batch = o->ranks * o->batch * T, N = o->tokens_per_step, whole = N / batch; /* of all ranks */
    if (N == 0) { return true; }
    if (from_checkpoint) {
        return N == o->accumulate * batch ||
               gpt2_fail(error, "--tokens-per-step %ld: the run in %s has %ld; omit the option to continue it", N,
                         o->out, o->accumulate * batch);
    }
    if (given(o, "--accumulate")) {
        return gpt2_fail(error, "--tokens-per-step determines --accumulate: omit one of them");
    }
    if (N % batch != 0) {
        char below[40] = "";
        if (whole > 0) { snprintf(below, sizeof below, "%ld or ", whole * batch); }
        return gpt2_fail(error,
                         "--tokens-per-step %ld: a batch has %ld x %d = %ld tokens; the nearest whole number of "
                         "batches is %s%ld",
                         N, o->ranks * o->batch, T, batch, below, (whole + 1) * batch);
    }
    if (whole > 1 << 20) {
        return gpt2_fail(error, "--tokens-per-step %ld: %ld batches of %ld tokens, and at most %d are possible", N,
                         whole, batch, 1 << 20);
    }
    return derive(o, "--accumulate", 0, whole, error);
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
    if (!parse_form(&attention, GPT2_AUTO, "--attention", o->attention, error)) { return false; }
    if (o->val == NULL && o->patience > 0) { return gpt2_fail(error, "--val is missing: --patience is of its losses"); }
    if (from_checkpoint) { return true; }
    if (o->sample_every == 0 &&
        (given(o, "--sample-prompt") || given(o, "--sample-tokens") || given(o, "--sample-temperature"))) {
        return gpt2_fail(error, "--sample-every is missing: the number of steps between samples");
    }
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
