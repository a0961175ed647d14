/* llmc.h — the files of llm.c: checkpoints and debug states. (Token files: tokens.h; its tokenizer: tokenizer/tokenizer.h.)
 *
 * Every file starts with a header of 256 int32, 1024 bytes: magic, version, then numbers of its own. All are little-endian.
 * Checkpoint: header[2..7] = T, V, L, NH, C, Vp. The tensors follow in the order of weights.h, each with all its layers, wte
 * with Vp rows, linear weights as (out, in). Version 3 is F32, version 5 BF16.
 */
#ifndef GPT2_LLMC_H
#define GPT2_LLMC_H

#include "gpt2/formats/weights.h"

enum { LLMC_HEADER_INTS = 256, LLMC_HEADER_BYTES = 1024 };

/* Maps and checks a checkpoint. Refused: another magic or version (1 is unpadded), invalid sizes, a file whose length differs
 * from that of its header. epsilon is 1e-5, which the format does not store. */
bool gpt2_llmc_open(struct gpt2_weights *weights, const char *path, struct gpt2_error *error);

/* Writes a checkpoint: version 3 for GPT2_F32, version 5 for GPT2_BF16. Other types, and an epsilon other than 1e-5, are
 * errors. Rows V..Vp of wte are zeros. */
bool gpt2_llmc_write(const char *path, const struct gpt2_source *source, enum gpt2_type type, struct gpt2_error *error);

/* ---- debug state: one batch, with the model's outputs and gradients ---- */

struct gpt2_debug_state {
    int B, T;
    const int32_t *x, *y;         /* (B, T)    inputs and targets, each in 0..V-1 */
    const float *logits;          /* (B, T, V) */
    float loss;                   /* mean over B*T */
    struct gpt2_weights gradient; /* F32 views with the checkpoint's names and shapes; owns the file */
};

/* config: of its checkpoint. Refused: another magic or version (2), T beyond the context, a length that does not follow from
 * config, B and T, token ids outside the vocabulary. */
bool gpt2_debug_state_open(struct gpt2_debug_state *state, const char *path, const struct gpt2_config *config,
                           struct gpt2_error *error);
void gpt2_debug_state_close(struct gpt2_debug_state *state);

/* Writes x, y, logits and loss of `state`, and the gradients from `gradient`. */
bool gpt2_debug_state_write(const char *path, const struct gpt2_debug_state *state, const struct gpt2_source *gradient,
                            struct gpt2_error *error);

/* ---- shared by the four formats of llm.c ---- */

/* Has the file that magic and version, and a complete header? what: "a checkpoint of llm.c", for the message. */
bool llmc_check_header(const struct gpt2_file *file, int32_t magic, int32_t version, const char *what,
                       struct gpt2_error *error);
int32_t llmc_header(const struct gpt2_file *file, int index);

/* Writes a header: `count` numbers, then zeros. */
bool llmc_write_header(struct gpt2_output *output, const int32_t *numbers, int count, struct gpt2_error *error);

/* Makes the views of all tensors, which start at `bytes` in the layout of a checkpoint of weights->config. */
bool llmc_place_views(struct gpt2_weights *weights, const uint8_t *bytes, enum gpt2_type type,
                      struct gpt2_error *error);

/* Appends all tensors in the layout of a checkpoint. */
bool llmc_write_tensors(struct gpt2_output *output, const struct gpt2_source *source, enum gpt2_type type,
                        struct gpt2_error *error);

#endif
