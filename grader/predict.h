/* predict.h — the learner's predictions: made before the first measurement and stored as text beside the lab's files.
 *
 *   # comment
 *   predicted 2026-01-31T18:05:00Z
 *   softmax_traffic 2
 *   measured softmax_forward_f32 2026-01-31T19:20:00Z
 *
 * Counted figures are shown only after the predictions are made, so that a prediction cannot be made too late by accident.
 * An answer may be corrected until the report has shown the right one: for a question about an exercise that is after the
 * first measurement of this exercise, for all other questions after the first measurement of the lab.
 */
#ifndef PREDICT_H
#define PREDICT_H

#include <stdio.h>

#include "grader.h"

struct prediction {
    bool made; /* every question has a plausible answer */
    char time[32];
    double answer[STEP_MAX_QUESTIONS]; /* in the question's unit; NaN: none */
    bool is_fixed[STEP_MAX_QUESTIONS]; /* measured: may not be corrected any more */
    bool is_measured;                  /* an exercise of the lab is */
    char problem[352];                 /* why an existing file is not a complete prediction */
};

int predict_question_count(const struct step *step);

/* Reads the file of a lab's folder. No file: made is false, problem is "". */
void predict_load(const struct step *step, const char *folder, struct prediction *prediction);

/* Shows the profile, asks each question on `in` until the answer is plausible, stores the answers. Of an existing prediction
 * it asks again what is not yet measured: an empty line, and the end of the input, keep an answer. `typed`: `in` is a
 * terminal, so prompts are printed. False: input ended early, or the file cannot be written; `error` says so. */
bool predict_ask(const struct step *step, const char *folder, FILE *in, FILE *out, bool typed, char *error,
                 size_t error_size);

/* A plausible answer to the question, in its unit, from a line of text: a number, perhaps with a unit of the same kind ("2.5x"
 * and "250%", "0.5 GB" for MB). False: `why` is one sentence on what is wrong, and what to type. */
bool predict_parse(const struct question *question, const char *line, double *answer, char *why, size_t why_size);

/* Adds to the stored prediction which exercises' figures the report shows. A folder that cannot be written is left alone. */
void predict_note_measured(const struct report *report, const char *folder);

/* Is this outcome the figure that answers a question about its exercise? The traffic is, or the launches of an exercise without
 * traffic. */
bool predict_is_figure(const struct outcome *outcome);

/* The outcome of the step's predictions: points for having made them. */
void predict_score(const struct step *step, const struct prediction *prediction, struct outcome *outcome);

#endif
