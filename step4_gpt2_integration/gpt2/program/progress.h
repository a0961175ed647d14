/* progress.h — long work shows itself: a line on standard error, redrawn, with the time left, and erased at the end.
 *
 * Only on a terminal, only without --quiet, and only for work that takes longer than half a second.
 */
#ifndef GPT2_PROGRAM_PROGRESS_H
#define GPT2_PROGRAM_PROGRESS_H

#include "common/terminal.h"
#include "gpt2/formats/weights.h"
#include "gpt2/model/model.h"

struct progress {
    const char *what, *unit; /* "eval", "windows" */
    double total, began, drawn;
    bool on, shown;
    int width;            /* of the terminal */
    double before, share; /* of the model's pass that is under way */
    int layers;
};

void progress_begin(struct progress *progress, const char *what, const char *unit, double total, bool quiet);
void progress_at(struct progress *progress, double done); /* of `total` */
void progress_end(struct progress *progress);             /* erases the line; may be called again */

/* The next passes of the model count as `share` units after the first `before`, block by block, on the CPU backend. On a GPU a
 * pass is enqueued long before it is computed, so only whole passes count. */
void progress_of_pass(struct progress *progress, struct gpt2_model *model, double before, double share);
void progress_pass_end(struct progress *progress, struct gpt2_model *model);

/* A source that counts the weights that are read from another one, in millions. */
struct counted_source {
    struct gpt2_source from;
    struct progress *progress;
    double read;
};
struct gpt2_source progress_source(struct counted_source *counted, const struct gpt2_source *from,
                                   struct progress *progress);
double progress_source_total(const struct gpt2_config *config); /* what such a source counts up to */

double seconds(void); /* of a clock that only goes forward */

#endif
