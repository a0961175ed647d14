/* rate.h — tokens a second of the whole GPT-2 around a learner's files, decoding on a GPU: with their kernels, and with the naive
 * ones. It is shown and gives no points: the program is the learner's, and could print what it likes. */
#ifndef RATE_H
#define RATE_H

#include "grade.h"

struct rates {
    double own, naive; /* tokens/s of one sequence, 124M in bf16 */
    char reason[128];  /* why there are none; else "" */
};

/* The program that `make step4` built beside the learner's folder of files, or for the solution's files the course's own.
 * False: there is none; reason says what to type. */
bool rate_program(const struct grade_request *request, char *path, size_t size, const char **kernels,
                  struct rates *rates);

/* Runs PROGRAM bench twice, in the sandbox. False: reason. */
bool rate_measure(const char *program, const char *kernels, struct rates *rates);

/* The tokens/s in a row of what `gpt2 bench` printed, or a negative number. */
double rate_parse(const char *printed);

/* Measures and fills the outcome. */
void rate_score(const struct grade_request *request, struct outcome *outcome);

#endif
