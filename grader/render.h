/* render.h — a report in the formats of other programs and for a browser. Each is written from the JSON report alone
 * (docs/grader-json.md), by a file of its own, so that a stored report gives the same output as a run. */
#ifndef RENDER_H
#define RENDER_H

#include <stdio.h>

#include "json_read.h"

enum { RENDER_FORMATS = 4 };

/* --gradescope, --github, --junit, --html: the options' names are those of the formats. */
struct renderer {
    const char *format;
    void (*write)(FILE *out, const struct json_value *report);
};

extern const struct renderer renderers[RENDER_FORMATS];

/* Writes the report, given as JSON, to files[i] in the format renderers[i]; NULL: not in this one; "-": standard output.
 * `name` is the report's in messages. False: `error` says why. */
bool render_files(const char *json, size_t length, const char *name, const char *const files[RENDER_FORMATS],
                  char *error, size_t error_size);

/* The same from a stored report. */
bool render_stored(const char *path, const char *const files[RENDER_FORMATS], char *error, size_t error_size);

/* ---- what the formats share: an entry of `outcomes` ---- */

/* Is it an exercise of track B that was not started? Other formats leave it out or call it skipped. */
bool render_is_skipped(const struct json_value *outcome);

bool render_has_passed(const struct json_value *outcome);

/* "softmax, forward: shapes", or "predictions". */
void render_name(FILE *out, const struct json_value *outcome);

/* The failure, the figure, or why there is neither: plain lines. */
void render_explanation(FILE *out, const struct json_value *outcome);

/* The same two, in memory that the caller frees. */
char *render_text(void (*write)(FILE *out, const struct json_value *outcome), const struct json_value *outcome);

/* ---- the formats ---- */

void render_gradescope(FILE *out, const struct json_value *report);
void render_github(FILE *out, const struct json_value *report);
void render_junit(FILE *out, const struct json_value *report);
void render_html(FILE *out, const struct json_value *report);

#endif
