/* out.h — the folder of a run: checkpoints that are whole at any moment, and two links to them.
 *
 *     char *part = gpt2_out_begin(&out, step, error);      then fill the folder of that name, with files that are flushed
 *     gpt2_out_commit(&out, step, best, error);            or gpt2_out_abandon(&out, step)
 *
 * A checkpoint is written beside its name and renamed; then `latest` is replaced by a rename, then `best`; then those that neither names
 * are removed. Whoever stops the process in between leaves the old one or the new one, whole, and perhaps a folder that the
 * next checkpoint removes. `best` may be one behind then: the latest one's notes say which it is.
 */
#ifndef GPT2_OUT_H
#define GPT2_OUT_H

#include <stdint.h>

#include "gpt2/error.h"

/* This process alone writes there, until the close. */
struct gpt2_out {
    char *path;
    int lock;
};

/* Makes the folder where it is not there. Refused: another process has it. */
bool gpt2_out_open(struct gpt2_out *out, const char *path, struct gpt2_error *error);
void gpt2_out_close(struct gpt2_out *out); /* may be called on an all-zero struct */

/* The folder that `latest` names, in a new string; NULL where there is none. False: nobody can say, so a run may not begin anew.
 * And is there one, before the folder is opened? */
bool gpt2_out_latest(const struct gpt2_out *out, char **latest, struct gpt2_error *error);
bool gpt2_out_has_latest(const char *path);

/* Lets `best` name that step's checkpoint. False: there is none. */
bool gpt2_out_best(const struct gpt2_out *out, int64_t step);

/* The folder to fill, which is not there yet: a new string. */
char *gpt2_out_begin(const struct gpt2_out *out, int64_t step, struct gpt2_error *error);

/* It is whole: `latest` names it, and `best` the checkpoint of that step, perhaps this one; 0: leave `best`. */
bool gpt2_out_commit(const struct gpt2_out *out, int64_t step, int64_t best, struct gpt2_error *error);
void gpt2_out_abandon(const struct gpt2_out *out, int64_t step);

#endif
