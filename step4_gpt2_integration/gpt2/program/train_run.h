/* train_run.h — run.json in the folder of a run: what the run is, how it was called, and how far it is.
 *
 *     {"program": "gpt2 train 1.0.0",
 *      "begun": "2026-01-31T12:00:00Z",
 *      "model": {"from": "random weights", "layers": 4, "heads": 4, "channels": 128, "context": 128, "vocabulary": 1024,
 *                "weights": 931456},
 *      "seed": 1, "options": {"batch": "8", ...},                         as --help lists them, with their defaults
 *      "data": {"path": ..., "bytes": ..., "tokens": ..., "tokens_hash": ...}, "val": the same,
 *      "calls": [{"at": ..., "program": ..., "device": ..., ["ranks": 4,] "from_step": 0, "folder": ..., "command": ["gpt2",
 *      "train", ...]}, ...], "state": {"at": ..., "status": "running", "step": 100, "steps": 1000, ...}}
 *
 * Written at the start, with each checkpoint, and at the end, under a temporary name and renamed. Nothing reads it but a
 * resumed run, which keeps `begun`, `model.from` and the calls before. After a kill the status is still "running".
 */
#ifndef GPT2_PROGRAM_TRAIN_RUN_H
#define GPT2_PROGRAM_TRAIN_RUN_H

#include <cjson/cJSON.h>

#include "gpt2/train/checkpoint.h"
#include "gpt2/train/data.h"
#include "train.h"

struct train_run {
    char *path;
    cJSON *root;
};

/* words: the command line, from "train" on. val: NULL for none. resumed: takes over the calls of the file that is there. Writes
 * nothing. */
bool train_run_open(struct train_run *run, const struct gpt2_out *out, const struct train_options *options, int count,
                    char **words, const struct gpt2_config *config, const struct gpt2_data *data,
                    const struct gpt2_data *val, const char *device, int64_t step, bool resumed,
                    struct gpt2_error *error);
void train_run_close(struct train_run *run); /* may be called on an all-zero struct */

struct train_state {
    const char *status; /* "running", "finished", or an error */
    int64_t step, steps, checkpoint, best;
    double loss, best_loss; /* of the last step, NAN: none; of the best checkpoint, where there is one */
};

/* Replaces the state and writes the file. */
bool train_run_write(struct train_run *run, const struct train_state *state, struct gpt2_error *error);

#endif
