/* llmc.h — the files of llm.c: checkpoints and debug states. (Token files: tokens.h; its tokenizer: tokenizer/tokenizer.h.)
 *
 * Every one starts with 256 int32, 1024 bytes: magic, version, then numbers of its own. All little-endian.
 * Checkpoint: header[2..7] = T, V, L, NH, C, Vp; then each tensor of weights.h in that order, all layers in a row, wte with
 * Vp rows, linear weights (out, in). Version 3: all F32; version 5: all BF16.
 */
#ifndef GPT2_LLMC_H
#define GPT2_LLMC_H

#include "gpt2/formats/weights.h"

enum { LLMC_HEADER_INTS = 256, LLMC_HEADER_BYTES = 1024 };

/* Map and check a checkpoint. Refused: another magic or version (1 is unpadded), sizes that are no model, a file that is not
 * exactly as long as its header says. epsilon is 1e-5, which the format does not store. */
bool gpt2_llmc_open(struct gpt2_weights *weights, const char *path, struct gpt2_error *error);

/* Write one: GPT2_F32 is version 3, GPT2_BF16 version 5, another type an error, as is another epsilon than 1e-5. Rows V..Vp
 * of wte are zeros. */
bool gpt2_llmc_write(const char *path, const struct gpt2_source *source, enum gpt2_type type, struct gpt2_error *error);

/* ---- debug state: one batch, and what the model makes of it ---- */

struct gpt2_debug_state {
    int B, T;
    const int32_t *x, *y;         /* (B, T)    inputs and targets, each in 0..V-1 */
    const float *logits;          /* (B, T, V) */
    float loss;                   /* the mean over B*T */
    struct gpt2_weights gradient; /* views of F32, of the checkpoint's names and shapes; holds the file */
};

/* config: of the checkpoint that it belongs to. Refused: another magic or version (2), T beyond the context, another length
 * than config, B and T say, token ids outside the vocabulary. */
bool gpt2_debug_state_open(struct gpt2_debug_state *state, const char *path, const struct gpt2_config *config,
                           struct gpt2_error *error);
void gpt2_debug_state_close(struct gpt2_debug_state *state);

/* x, y, logits and loss of `state`, and the gradients from `gradient`. */
bool gpt2_debug_state_write(const char *path, const struct gpt2_debug_state *state, const struct gpt2_source *gradient,
                            struct gpt2_error *error);

/* ---- what the four formats of llm.c share ---- */

/* Is this a file of that magic and version, with a whole header? what: "a checkpoint of llm.c", for the message. */
bool llmc_check_header(const struct gpt2_file *file, int32_t magic, int32_t version, const char *what,
                       struct gpt2_error *error);
int32_t llmc_header(const struct gpt2_file *file, int index);

/* A header with `count` numbers given, the rest zeros. */
bool llmc_write_header(struct gpt2_output *output, const int32_t *numbers, int count, struct gpt2_error *error);

/* Views of all tensors that start at `bytes`, as they lie in a checkpoint of weights->config. */
bool llmc_place_views(struct gpt2_weights *weights, const uint8_t *bytes, enum gpt2_type type,
                      struct gpt2_error *error);

/* Append all tensors, as they lie in a checkpoint. */
bool llmc_write_tensors(struct gpt2_output *output, const struct gpt2_source *source, enum gpt2_type type,
                        struct gpt2_error *error);

#endif
