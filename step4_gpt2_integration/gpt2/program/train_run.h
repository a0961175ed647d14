/* train_run.h — a run of gpt2 train: all that it has open. train_open.c opens it, train.c takes the steps. */
#ifndef GPT2_PROGRAM_TRAIN_RUN_H
#define GPT2_PROGRAM_TRAIN_RUN_H

#include "gpt2/train/checkpoint.h"
#include "gpt2/train/data.h"
#include "gpt2/train/initial.h"
#include "program.h"
#include "train.h"

struct training {
    struct train_options options;
    struct gpt2_out out;
    char *latest;                /* the checkpoint to go on from; NULL: none */
    struct safetensors notes;    /* of it */
    struct gpt2_weights weights; /* to start from, when there are */
    struct gpt2_initial initial; /* else these */
    struct gpt2_tokenizer *tokenizer;
    struct kernel_choice *kernels;
    struct gpt2_trainer *trainer;
    struct gpt2_data data, val;
    struct train_report report;
    struct gpt2_config config;
    int64_t best;     /* the step whose checkpoint had the lowest loss on --val; 0: none was measured */
    double best_loss; /* its; infinite: the next one is lower */
    int64_t step;     /* done */
    int B, T, K;
    int32_t *tokens, *targets; /* (B, T) */
};

/* From the arguments after the command: a run at its beginning, or where its latest checkpoint is. On failure too it is to be
 * closed. */
bool training_open(struct training *t, int count, char **arguments, struct gpt2_error *error);
void training_close(struct training *t);

#endif
