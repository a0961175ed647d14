/* hint.h — show a hint of an exercise; after each run, remember which hint would help. */
#ifndef HINT_H
#define HINT_H

#include <stdio.h>

#include "grader.h"

/* Writes the exercises that a run left unsolved into OUT/last-run, with the level of the hint that fits what is wrong. Where the
 * same is wrong as in the run before, the hints go on where they were. */
void hint_remember(const struct report *report, const char *out);

struct hint_request {
    const struct step *step;
    const char *course, *files, *out;
    const char *kernel; /* op, or NULL: the first that the last run left unsolved, or the first of the step */
    int level;          /* from 1; 0: after a run, the level that fits, and one further at each call; otherwise 1 */
};

/* Prints the hint. False: error says what is missing. */
bool hint_show(const struct hint_request *request, FILE *to, char *error, size_t error_size);

#endif
