/* train_log.h — the losses of a run, in its folder: loss.csv, a row for each step, and loss.svg, its curve.
 *
 *     step,loss,lr,norm,val_loss
 *     1,6.2146,0.0006,1.3,
 *     100,4.1,0.0006,0.9,4.3            val_loss where it was measured
 *
 * A resumed run drops the rows past its checkpoint, so the file is that of an uninterrupted run.
 */
#ifndef GPT2_PROGRAM_TRAIN_LOG_H
#define GPT2_PROGRAM_TRAIN_LOG_H

#include "gpt2/train/checkpoint.h"

struct train_log {
    char *csv, *svg; /* paths */
    FILE *file;      /* of the CSV, at its end */
    bool open_row;   /* a row without its end: val_loss may follow */
};

/* step: of the checkpoint; 0 for a new run. */
bool train_log_open(struct train_log *log, const struct gpt2_out *out, int64_t step, struct gpt2_error *error);
bool train_log_step(struct train_log *log, int64_t step, double loss, double rate, double norm,
                    struct gpt2_error *error);
bool train_log_validation(struct train_log *log, double loss, struct gpt2_error *error); /* after that step */
bool train_log_draw(struct train_log *log, struct gpt2_error *error); /* flushes the CSV and writes the SVG */
void train_log_close(struct train_log *log);                          /* may be called on an all-zero struct */

#endif
