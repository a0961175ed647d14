/* render_github.c — the result that a test of GitHub Classroom's autograding hands to classroom-resources/
 * autograding-grading-reporter: one JSON object of version 1, which a workflow gives to it in base64 (docs/platforms.md). */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "render.h"

static void write_test(struct json *json, const struct json_value *outcome) {
    char *name = render_text(render_name, outcome), *explanation = render_text(render_explanation, outcome);
    const struct json_value *failure = json_get(outcome, "failure");
    const char *file = json_get_text(failure, "file");
    double line = json_get_number(failure, "line");
    json_begin_object(json, NULL);
    json_string(json, "name", name);
    json_string(json, "status", render_has_passed(outcome) ? "pass" : "fail");
    json_number(json, "score", json_get_number(outcome, "points"));
    json_number(json, "max_score", json_get_number(outcome, "points_max"));
    json_string(json, "message", explanation);
    json_string(json, "test_code", "");
    json_string(json, "filename", file[0] ? file : json_get_text(outcome, "file"));
    json_integer(json, "line_no", line > 0.0 && line < 1e9 ? (long long)line : 0);
    json_end_object(json);
    free(name);
    free(explanation);
}

/* A report without outcomes would show no reason. */
static void write_error(struct json *json, const char *error) {
    json_begin_object(json, NULL);
    json_string(json, "name", "submission");
    json_string(json, "status", "error");
    json_number(json, "score", 0.0);
    json_string(json, "message", error);
    json_end_object(json);
}

void render_github(FILE *out, const struct json_value *report) {
    struct json json = {.file = out};
    const char *error = json_get_text(report, "error");
    double points = json_get_number(report, "points"), most = json_get_number(report, "points_max");
    json_begin_object(&json, NULL);
    json_integer(&json, "version", 1);
    json_string(&json, "status", error[0] ? "error" : points < most ? "fail" : "pass");
    json_number(&json, "max_score", most);
    json_begin_array(&json, "tests");
    for (const struct json_value *outcome = json_get_first(report, "outcomes"); outcome; outcome = outcome->next) {
        if (!render_is_skipped(outcome)) { write_test(&json, outcome); }
    }
    if (error[0]) { write_error(&json, error); }
    json_end_array(&json);
    json_end_object(&json);
}
