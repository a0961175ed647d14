/* train.h — gpt2 train: the command, its options, and its output. */
#ifndef GPT2_PROGRAM_TRAIN_H
#define GPT2_PROGRAM_TRAIN_H

#include <stdio.h>

#include "gpt2/formats/config.h"
#include "gpt2/formats/safetensors.h"
#include "gpt2/program/arguments.h"

/* The options of train, for arguments.h. Its own table, because a checkpoint stores them. */
extern const struct arguments train_arguments;

/* Parses its options; words[0] is the command. Returns an exit status; 2 with the error filled. */
int command_train(int count, char **words, struct gpt2_error *error);

enum { TRAIN_MOST_OPTIONS = 48 };

struct train_options {
    const char *data, *val, *model, *tokenizer, *out, *type, *attention, *kernels, *sample_prompt;
    long layers, heads, channels, context;
    long steps, batch, length, accumulate, tokens_per_step, warmup, seed, save_every, val_every, val_batches, patience;
    long sample_every, sample_tokens, gpus, zero;
    long ranks; /* that train together, at least 1; set by the caller */
    double rate, least, decay, clip, dropout, sample_temperature, rank_timeout;
    bool recompute, resume, best;
    char derived[3][24]; /* texts of --accumulate, --batch and --val-batches that follow from other options */
    const char *text[TRAIN_MOST_OPTIONS]; /* as given, in the order of the table; NULL: not given */
};

/* words[0] is the command. Each value is checked against its range; train_options_check checks them together. */
bool train_options_parse(struct train_options *options, int count, char **words, struct gpt2_error *error);

/* For --resume: takes all options that were not given from the notes of a checkpoint. Refused: a different value for an option
 * that affects the numbers. With another number of ranks than the checkpoint's the sequences of an update stay, and --batch and
 * --accumulate divide them: --batch is as given, else the largest that is possible and not larger than the checkpoint's. */
bool train_options_resume(struct train_options *options, const struct safetensors *notes, struct gpt2_error *error);

/* Do the given sizes equal those of the run's model? */
bool train_options_sizes(const struct train_options *options, const struct gpt2_config *config,
                         struct gpt2_error *error);

/* Are all options given that a run needs, and are they consistent? from_checkpoint: the model is that of the checkpoint. */
bool train_options_check(struct train_options *options, bool from_checkpoint, struct gpt2_error *error);

/* With --tokens-per-step: --accumulate for sequences of T tokens. Refused: tokens that are not whole batches; in a run from a
 * checkpoint, another number than it has. */
bool train_options_accumulate(struct train_options *options, int T, bool from_checkpoint, struct gpt2_error *error);

/* Writes the notes of a checkpoint to `notes`: key, text, ... of all options with a value. Returns the number of pointers. */
int train_options_notes(const struct train_options *options, const char **notes);

/* ---- the output ---- */

struct train_report {
    int width;          /* of the terminal, on which the line of a step overwrites the one before; 0: none */
    bool open;          /* the cursor is in such a line */
    bool silent;        /* prints nothing: all ranks but the first */
    double flops, peak; /* operations per token; of the device per second, 0: unknown */
    long steps;
    long steps_done; /* by this process */
    double began;    /* the end of its first step */
};

/* flops: 6 for each weight of a product (2 forward, 4 backward), and 12 L C T for the two products of attention. */
void train_report_start(struct train_report *report, const struct gpt2_config *config, const char *type,
                        const char *device, int T, long steps);
void train_report_step(struct train_report *report, long step, double loss, double rate, double norm,
                       double tokens_per_second);
void train_report_line(struct train_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
