/* checkpoint.h — the state of a run in a folder, whole at any moment.
 *
 *     OUT/latest -> step-00000200          the one that counts: `gpt2 generate --model OUT/latest`
 *     OUT/step-00000200/config.json, model.safetensors         the weights (fp32), as Hugging Face has them
 *                       vocab.json, merges.txt                 the tokenizer
 *                       optimizer.safetensors                  both moments, the notes, the algorithms of cuBLASLt
 *
 * A checkpoint is written beside its name, flushed to the disk, and renamed; then the link is replaced by a rename; then the one before
 * is removed. Whoever stops the process in between leaves the old one or the new one, whole, and perhaps a folder that the next
 * checkpoint removes.
 */
#ifndef GPT2_CHECKPOINT_H
#define GPT2_CHECKPOINT_H

#include "gpt2/formats/safetensors.h"
#include "gpt2/tokenizer/tokenizer.h"
#include "gpt2/train/trainer.h"

/* A folder that this process alone writes checkpoints into, until the close. */
struct gpt2_out {
    char *path;
    int lock;
};

/* Makes the folder where it is not there. Refused: another process has it. */
bool gpt2_out_open(struct gpt2_out *out, const char *path, struct gpt2_error *error);
void gpt2_out_close(struct gpt2_out *out); /* may be called on an all-zero struct */

/* The folder that `latest` names, in a new string; NULL where there is none. */
char *gpt2_out_latest(const struct gpt2_out *out);

/* notes: key, text, key, text, ..., NULL: what the run needs to go on. */
bool gpt2_checkpoint_write(const struct gpt2_out *out, int64_t step, struct gpt2_trainer *trainer,
                           const struct gpt2_tokenizer *tokenizer, const char *const *notes, struct gpt2_error *error);

/* The optimizer's file of a checkpoint, for its notes (safetensors_metadata); and the trainer's moments and algorithms from it. The
 * weights are the trainer's already. *same_bits: it was written on such a device and names its algorithms, so the run goes on as if it
 * had never been stopped. */
bool gpt2_checkpoint_open(struct safetensors *file, const char *folder, struct gpt2_error *error);
bool gpt2_checkpoint_restore(const struct safetensors *file, struct gpt2_trainer *trainer, bool *same_bits,
                             struct gpt2_error *error);

#endif
