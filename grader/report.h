/* report.h — the outcomes of a step as one aligned screen, and as JSON. */
#ifndef REPORT_H
#define REPORT_H

#include "predict.h"

/* Decides what the learner should do next: fills report->next. `files` is the folder of the step's files. */
void report_next(struct report *report, const struct prediction *prediction, const char *files);

/* In a narrow `width`, titles are printed on lines of their own. 0: any width. */
void report_print(FILE *out, bool colour, int width, const struct report *report, const struct prediction *prediction);

/* The same in the width and colours of the terminal: report_print, then report_fit. */
void report_show(FILE *out, const struct report *report, const struct prediction *prediction);

/* Prints the text in lines of at most `width` columns, broken at spaces. */
void report_fit(FILE *out, const char *text, int width);

/* Columns of the terminal; 0 when it is none. */
int report_width(FILE *out);

/* Terminal without NO_COLOR (https://no-color.org). */
bool report_wants_colour(FILE *out);

/* "pass", "FAIL", ... */
const char *report_verdict(enum verdict verdict);

/* docs/grader-json.md describes it. render.h writes every other format from it. */
void report_json(FILE *out, const struct report *report, const struct prediction *prediction);

/* The call that failed: "N = 4, C = 64, values normal". */
void report_where(FILE *out, const struct op *op, const struct failure *failure);

/* "out[2][33]", "k[0][1][3][5]", "hidden state, block 1, branch of the MLP [4][5]": the failure's element. */
void report_element(const struct op *op, const struct failure *failure, char *name, size_t size);

/* Its line: what was expected there, and what was got. */
void report_values(FILE *out, const struct op *op, const struct failure *failure);

/* The same for a submission that cannot be marked: without outcomes, with the reason. */
void report_json_error(FILE *out, const struct step *step, const char *error);

#endif
