/* checkpoint.h — the state of a run in a folder, complete at any moment.
 *
 *     OUT/latest -> step-00000200          the newest checkpoint, from which a run resumes: `gpt2 generate --model OUT`
 *     OUT/best -> step-00000150            the one with the lowest validation loss, where the run validates: the same with --best
 *     OUT/step-00000200/config.json, model.safetensors         the weights (fp32), in Hugging Face's format
 *                       vocab.json, merges.txt                 the tokenizer
 *                       optimizer.safetensors                  both moments, the notes, the algorithms of cuBLASLt
 *
 *     char *part = gpt2_out_begin(&out, step, error);      then fill the folder of that name with flushed files
 *     gpt2_out_commit(&out, step, best, error);            or gpt2_out_abandon(&out, step)
 *
 * A checkpoint is written under a temporary name and renamed. Then `latest` is replaced by a rename, then `best`. Then all
 * checkpoints that neither link names are removed. A process that is killed in between leaves the old or the new checkpoint
 * complete, and perhaps a folder that the next checkpoint removes. `best` may then be one behind; the latest checkpoint's notes
 * name the best step.
 */
#ifndef GPT2_CHECKPOINT_H
#define GPT2_CHECKPOINT_H

#include <stdint.h>

#include "gpt2/formats/safetensors.h"
#include "gpt2/tokenizer/tokenizer.h"
#include "gpt2/train/trainer.h"

/* ---- the folder of a run ---- */

/* The folder, locked for this process until the close. */
struct gpt2_out {
    char *path;
    int lock;
};

/* Makes the folder if needed. Refused: another process has locked it. */
bool gpt2_out_open(struct gpt2_out *out, const char *path, struct gpt2_error *error);
void gpt2_out_close(struct gpt2_out *out); /* may be called on an all-zero struct */

/* gpt2_out_find: the folder that the link `name`, "latest" or "best", names, in a new string; NULL: there is none. False: it
 * cannot be determined, so a new run must not begin. gpt2_out_has_latest: is there a latest one, for a folder that is not
 * open? */
bool gpt2_out_find(const struct gpt2_out *out, const char *name, char **found, struct gpt2_error *error);
bool gpt2_out_has_latest(const char *path);

/* Is there room for `count` checkpoints of this model on the folder's disk? False: the message has the needed and the free
 * bytes. */
bool gpt2_out_has_room(const struct gpt2_out *out, const struct gpt2_config *config, int count,
                       struct gpt2_error *error);

/* Points the link `name` to that step's checkpoint. False: there is none. */
bool gpt2_out_point(const struct gpt2_out *out, const char *name, int64_t step, struct gpt2_error *error);

/* The path of the folder to make and fill, in a new string. */
char *gpt2_out_begin(const struct gpt2_out *out, int64_t step, struct gpt2_error *error);

/* Publishes the filled folder: points `latest` to it, and `best` to the checkpoint of step `best`, which may be this one; 0:
 * `best` stays. */
bool gpt2_out_commit(const struct gpt2_out *out, int64_t step, int64_t best, struct gpt2_error *error);
void gpt2_out_abandon(const struct gpt2_out *out, int64_t step);

/* ---- a checkpoint ---- */

/* best: the step of the best checkpoint, which may be this one; 0: none. notes: key, text, key, text, ..., NULL: the run's own
 * state. */
bool gpt2_checkpoint_write(const struct gpt2_out *out, int64_t step, int64_t best, struct gpt2_trainer *trainer,
                           const struct gpt2_tokenizer *tokenizer, const char *const *notes, struct gpt2_error *error);

/* gpt2_checkpoint_open opens the optimizer's file of a checkpoint; safetensors_metadata reads its notes.
 * gpt2_checkpoint_restore loads moments and algorithms into a trainer, which has the weights already. *same_bits: the file is
 * from an equal device and has its algorithms, so the run continues as if it had not been stopped. */
bool gpt2_checkpoint_open(struct safetensors *file, const char *folder, struct gpt2_error *error);
bool gpt2_checkpoint_restore(const struct safetensors *file, struct gpt2_trainer *trainer, bool *same_bits,
                             struct gpt2_error *error);

#endif
