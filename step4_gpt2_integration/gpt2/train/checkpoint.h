/* checkpoint.h — the state of a run in a folder, whole at any moment.
 *
 *     OUT/latest -> step-00000200          the newest, from which a run goes on: `gpt2 generate --model OUT/latest`
 *     OUT/best -> step-00000150            the one that the run measured as the best, where it measures
 *     OUT/step-00000200/config.json, model.safetensors         the weights (fp32), as Hugging Face has them
 *                       vocab.json, merges.txt                 the tokenizer
 *                       optimizer.safetensors                  both moments, the notes, the algorithms of cuBLASLt
 *
 * How it gets there whole: out.h.
 */
#ifndef GPT2_CHECKPOINT_H
#define GPT2_CHECKPOINT_H

#include "gpt2/formats/safetensors.h"
#include "gpt2/tokenizer/tokenizer.h"
#include "gpt2/train/out.h"
#include "gpt2/train/trainer.h"

/* best: the step whose checkpoint is kept as the best, perhaps this one; 0: none is. notes: key, text, key, text, ..., NULL: what
 * the run needs to go on. */
bool gpt2_checkpoint_write(const struct gpt2_out *out, int64_t step, int64_t best, struct gpt2_trainer *trainer,
                           const struct gpt2_tokenizer *tokenizer, const char *const *notes, struct gpt2_error *error);

/* The optimizer's file of a checkpoint, for its notes (safetensors_metadata); and the trainer's moments and algorithms from it. The
 * weights are the trainer's already. *same_bits: it was written on such a device and names its algorithms, so the run goes on as if it
 * had never been stopped. */
bool gpt2_checkpoint_open(struct safetensors *file, const char *folder, struct gpt2_error *error);
bool gpt2_checkpoint_restore(const struct safetensors *file, struct gpt2_trainer *trainer, bool *same_bits,
                             struct gpt2_error *error);

#endif
