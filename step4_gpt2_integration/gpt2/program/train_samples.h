/* train_samples.h — texts of the model while it is trained, at the end of samples.txt in the folder of a run:
 *
 *     --- step 100, 57 bytes ---
 *     In the beginning God divided the light from the darkness.
 *
 * Each begins with the prompt and is drawn with the same random numbers, so that two of them differ by the weights alone. The
 * number of bytes is that of the text, without its last newline. A resumed run drops the texts past its checkpoint and a text
 * that a kill cut off.
 */
#ifndef GPT2_PROGRAM_TRAIN_SAMPLES_H
#define GPT2_PROGRAM_TRAIN_SAMPLES_H

#include "gpt2/train/checkpoint.h"
#include "train.h"

struct train_samples {
    char *path;
    const struct train_options *options;
    struct gpt2_tokenizer *tokenizer;
    struct gpt2_model *model; /* NULL: no samples */
    struct gpt2_ids ids;      /* the prompt; room for the rest of a sample */
    size_t prompt;            /* its tokens */
    int choices;              /* the number of ids with a token */
};

/* Cuts the file to the texts up to `step` (0 for a new run). With --sample-every also opens a model of the trainer's sizes
 * beside it, with its own weights and KV cache: all memory that samples need. False also for a prompt that is empty or too
 * long, and for a file that holds something else. */
bool train_samples_open(struct train_samples *samples, const struct train_options *options, const struct gpt2_out *out,
                        int64_t step, struct gpt2_tokenizer *tokenizer, const struct gpt2_source *weights,
                        const struct gpt2_model_options *settings, struct gpt2_error *error);
void train_samples_close(struct train_samples *samples);         /* may be called on an all-zero struct */
size_t train_samples_bytes(const struct train_samples *samples); /* of device memory */

/* Writes a text with these weights to the end of the file, on the disk, and to *text, which the caller frees. */
bool train_samples_write(struct train_samples *samples, int64_t step, const struct gpt2_source *weights,
                         struct gpt2_text *text, struct gpt2_error *error);

#endif
