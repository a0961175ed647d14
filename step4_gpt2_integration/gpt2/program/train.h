/* train.h — gpt2 train: the command, its options, and the lines that it prints. */
#ifndef GPT2_PROGRAM_TRAIN_H
#define GPT2_PROGRAM_TRAIN_H

#include <stdio.h>

#include "gpt2/formats/config.h"
#include "gpt2/formats/safetensors.h"

/* Its options are its own, so it takes the arguments after the command. An exit status; 2 with the error filled. */
int command_train(int count, char **arguments, struct gpt2_error *error);

enum { TRAIN_MOST_OPTIONS = 32 };

struct train_options {
    const char *data, *val, *model, *tokenizer, *out, *type, *attention, *kernels;
    long layers, heads, channels, context;
    long steps, batch, length, accumulate, warmup, seed, save_every, val_every, val_batches;
    double rate, least, decay, clip;
    bool recompute, resume;
    const char *text[TRAIN_MOST_OPTIONS]; /* as given; NULL where it was not. In the order of the table */
};

void train_options_print(FILE *to);

/* From the arguments after the command. Values are in their ranges then, but whether they fit together is not checked. */
bool train_options_parse(struct train_options *options, int count, char **arguments, struct gpt2_error *error);

/* For --resume: what the notes of a checkpoint say, for all options that were not given. Refused: one that decides on the numbers
 * and was given differently. */
bool train_options_resume(struct train_options *options, const struct safetensors *notes, struct gpt2_error *error);

/* Are the sizes that were given those of the run's model? */
bool train_options_sizes(const struct train_options *options, const struct gpt2_config *config,
                         struct gpt2_error *error);

/* Are those there that a run needs, and do they fit together? from_checkpoint: the model is not theirs to say. */
bool train_options_check(struct train_options *options, bool from_checkpoint, struct gpt2_error *error);

/* The notes for a checkpoint: key, text, ... of all options with a value, appended at `notes`. Returns how many pointers. */
int train_options_notes(const struct train_options *options, const char **notes);

/* ---- the lines ---- */

struct train_report {
    bool terminal;      /* one line that is written over again; else a line a step */
    bool open;          /* such a line is on the terminal */
    double flops, peak; /* operations a token; of the device in a second, 0: unknown */
    long steps;
};

/* flops: 6 a weight that is multiplied (2 forward, 4 back), and 12 L C T for the attention's two products. */
void train_report_start(struct train_report *report, const struct gpt2_config *config, const char *type,
                        const char *device, int T, long steps);
void train_report_step(struct train_report *report, long step, double loss, double rate, double norm,
                       double tokens_per_second);
void train_report_line(struct train_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
