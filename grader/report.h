/* report.h — the outcomes of a step as one aligned screen, and as JSON. */
#ifndef REPORT_H
#define REPORT_H

#include "predict.h"

/* Decides what the learner should do next: fills report->next. `files` is the folder of the step's files. */
void report_next(struct report *report, const struct prediction *prediction, const char *files);

void report_print(FILE *out, bool colour, const struct report *report, const struct prediction *prediction);

/* Terminal without NO_COLOR (https://no-color.org). */
bool report_wants_colour(FILE *out);

/* "pass", "FAIL", ... */
const char *report_verdict(enum verdict verdict);

/* docs/grader-json.md describes it. */
void report_json(FILE *out, const struct report *report, const struct prediction *prediction);

/* --list */
void report_list(FILE *out);

#endif
