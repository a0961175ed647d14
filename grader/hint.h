/* hint.h — show a hint of an exercise; after each run, remember which hint would help. */
#ifndef HINT_H
#define HINT_H

#include <stdio.h>

#include "grader.h"

/* Writes the exercises that a run left unsolved into OUT/last-run. */
void hint_remember(const struct report *report, const char *out);

struct hint_request {
    const struct step *step;
    const char *course, *files, *out;
    const char *kernel; /* op, or NULL: the first that the last run left unsolved, or the first of the step */
    int level;          /* from 1; 0: the level that the last run suggested, or 1 */
};

/* Prints the hint. False: error says what is missing. */
bool hint_show(const struct hint_request *request, FILE *to, char *error, size_t error_size);

#endif
