/* predict.h — the learner's predictions: made before the first measurement and stored as text beside the lab's files.
 *
 *   # comment
 *   predicted 2026-01-31T18:05:00Z
 *   softmax_traffic 2
 *
 * Counted figures are shown only after the predictions are made, so that a prediction cannot be made too late by accident.
 */
#ifndef PREDICT_H
#define PREDICT_H

#include <stdio.h>

#include "grader.h"

struct prediction {
    bool made; /* every question has a plausible answer */
    char time[32];
    double answer[STEP_MAX_QUESTIONS]; /* NaN: none */
    char problem[160];                 /* why an existing file is not a complete prediction */
};

int predict_question_count(const struct step *step);

/* Reads the file of a lab's folder. No file: made is false, problem is "". */
void predict_load(const struct step *step, const char *folder, struct prediction *prediction);

/* Shows the profile, asks each question on `in` until the answer is plausible, stores the answers. An existing prediction
 * is shown and kept. `typed`: `in` is a terminal, so prompts are printed. False: input ended early, or the file cannot be
 * written; `error` says so. */
bool predict_ask(const struct step *step, const char *folder, FILE *in, FILE *out, bool typed, char *error,
                 size_t error_size);

/* A plausible answer to the question, from a line of text ("2", "2.5x", "16 times"). */
bool predict_parse(const struct question *question, const char *line, double *answer);

/* The outcome of the step's predictions: points for having made them. */
void predict_score(const struct step *step, const struct prediction *prediction, struct outcome *outcome);

#endif
