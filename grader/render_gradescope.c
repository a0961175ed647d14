/* render_gradescope.c — results.json of an autograder of Gradescope: a test for each check; `number` groups those of an
 * exercise. The output is text, which Gradescope shows as it is.
 * https://gradescope-autograders.readthedocs.io/en/latest/specs/ */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "render.h"

static void write_test(struct json *json, const struct json_value *outcome, int exercise, int check) {
    char number[32], *name = render_text(render_name, outcome), *explanation = render_text(render_explanation, outcome);
    snprintf(number, sizeof number, "%d.%d", exercise, check);
    json_begin_object(json, NULL);
    json_string(json, "name", name);
    json_string(json, "number", number);
    json_number(json, "score", json_get_number(outcome, "points"));
    json_number(json, "max_score", json_get_number(outcome, "points_max"));
    json_string(json, "status", render_has_passed(outcome) ? "passed" : "failed");
    json_string(json, "output", explanation);
    json_string(json, "output_format", "text");
    json_string(json, "visibility", "visible");
    json_end_object(json);
    free(name);
    free(explanation);
}

static void write_output(FILE *out, const struct json_value *report) {
    const char *error = json_get_text(report, "error"), *note = json_get_text(report, "note");
    const char *printed = json_get_text(report, "printed");
    if (error[0]) { fprintf(out, "not marked: %s\n", error); }
    if (note[0]) { fprintf(out, "%s\n", note); }
    fprintf(out, "%g of %g points\n", json_get_number(report, "points"), json_get_number(report, "points_max"));
    if (printed[0]) { fprintf(out, "your code printed:\n%s\n", printed); }
}

void render_gradescope(FILE *out, const struct json_value *report) {
    struct json json = {.file = out};
    char *output = render_text(write_output, report);
    const char *before = "";
    int exercise = 0, check = 0;
    json_begin_object(&json, NULL);
    json_number(&json, "score", json_get_number(report, "points"));
    json_number(&json, "execution_time", json_get_number(report, "seconds"));
    json_string(&json, "output", output);
    json_string(&json, "output_format", "text");
    json_string(&json, "visibility", "visible");
    json_string(&json, "stdout_visibility", "hidden");
    json_begin_array(&json, "tests");
    for (const struct json_value *outcome = json_get_first(report, "outcomes"); outcome; outcome = outcome->next) {
        const char *title = json_get_text(outcome, "exercise");
        check = strcmp(title, before) == 0 ? check + 1 : 1;
        exercise += check == 1;
        before = title;
        if (!render_is_skipped(outcome)) { write_test(&json, outcome, exercise, check); }
    }
    json_end_array(&json);
    json_end_object(&json);
    free(output);
}
