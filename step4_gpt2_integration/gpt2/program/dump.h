/* dump.h — what another implementation made of some prompts, in float64 and float32, and how far from it ours is.
 *
 * The file is tools/hf/reference.py's: safetensors with tokens (N) and lengths (B) of B prompts that stand one after the other,
 * "float64.LAYER.STAGE" and "float32.LAYER.STAGE" (N, columns), greedy (B, G), float64.loss and float32.loss (1). Stages and
 * layers are those of gpt2_observe, and "decoded logits".
 *
 * The error of a stage is |ours - float64| / |float64| over all its rows, | | being the length of a vector. It is judged by
 * the same of the other's float32.
 */
#ifndef GPT2_DUMP_H
#define GPT2_DUMP_H

#include "gpt2/formats/config.h"
#include "gpt2/formats/safetensors.h"

struct dump {
    struct safetensors file;
    int B, T;                  /* prompts, tokens of the longest */
    int64_t N;                 /* tokens of all of them */
    int G;                     /* tokens that were written after each */
    int32_t *tokens;           /* (B, T), zeros past a prompt's end */
    int32_t *lengths;          /* (B) */
    int64_t *starts;           /* (B): the prompt's first row of N */
    int32_t *greedy;           /* (B, G) */
    double loss, loss_float32; /* mean over the N - B tokens that have one before them; NaN: no prompt has two */
};

/* config: of the model that is to be compared. Refused: what safetensors.h refuses; a tensor that is missing or of another shape
 * or type; lengths and ids that are not the model's. */
bool dump_open(struct dump *dump, const char *path, const struct gpt2_config *config, struct gpt2_error *error);
void dump_close(struct dump *dump); /* may be called on an all-zero struct */

/* ---- comparing ---- */

struct quantity {
    char stage[32];
    int layer;
    double ours,
        theirs; /* errors; of "greedy tokens" how many are the same and how many there are; of "perplexity" themselves */
    double ratio, target;
    bool good, is_tensor;
    double off, their_off, size; /* squares, summed over the rows so far */
    int64_t rows;                /* so far, with those past a prompt's end */
};
struct comparison {
    const struct dump *dump;
    struct quantity *quantities; /* in the order in which they came */
    int count, room;
    double target; /* how many times the other's error ours may be */
};

/* `rows` more rows of a stage, as a batch (B, T) has them. */
bool comparison_add(struct comparison *comparison, const char *stage, int layer, const float *values, int64_t rows,
                    int64_t columns, struct gpt2_error *error);

/* One row, of the token at `position` of prompt b. */
bool comparison_add_row(struct comparison *comparison, const char *stage, int layer, const float *values, int b,
                        int position, int64_t columns, struct gpt2_error *error);

/* A quantity that is no tensor. The pointer is good until the next call. NULL: out of memory. */
struct quantity *comparison_quantity(struct comparison *comparison, const char *stage, int layer,
                                     struct gpt2_error *error);

/* From the sums to errors and verdicts. A tensor of which not every row came is an error. */
bool comparison_judge(struct comparison *comparison, struct gpt2_error *error);
void comparison_free(struct comparison *comparison);

#endif
