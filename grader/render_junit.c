/* render_junit.c — JUnit XML: one testsuite, a testcase for each check. Valid by the schema of Apache Ant, which is
 * windyroad/JUnit-Schema, and by that of Jenkins' xUnit plugin. Where they differ, only what both allow is written: attributes
 * that Ant requires, and `skipped` without attributes. The time of a single check is not known: it is 0. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "markup.h"
#include "render.h"

static bool is_skipped(const struct json_value *outcome) {
    const char *verdict = json_get_text(outcome, "verdict");
    return render_is_skipped(outcome) || strcmp(verdict, "not run") == 0 || strcmp(verdict, "waiting") == 0;
}

static void write_attribute(FILE *out, const char *name, const char *value) {
    fprintf(out, " %s=\"", name);
    markup_attribute(out, value);
    fputc('"', out);
}

/* The schemas allow no name of blanks alone. */
static void write_name(FILE *out, const char *name, const char *value) {
    write_attribute(out, name, value[strspn(value, " \t\r\n")] ? value : "?");
}

/* A UTC time of the schemas, which has no zone. */
static void write_timestamp(FILE *out, const char *time) {
    static const char form[] = "0000-00-00T00:00:00";
    char text[sizeof form];
    snprintf(text, sizeof text, "%s", time);
    bool ok = strlen(text) == strlen(form);
    for (size_t i = 0; ok && form[i]; i++) {
        ok = form[i] == '0' ? isdigit((unsigned char)text[i]) : text[i] == form[i];
    }
    write_attribute(out, "timestamp", ok ? text : "1970-01-01T00:00:00");
}

/* One line: what was wrong, in the words of the most telling source. */
static void write_message(FILE *out, const struct json_value *outcome) {
    static const char *const keys[] = {"comparison", "message", "cause", "fact", "calls"};
    const struct json_value *failure = json_get(outcome, "failure");
    const char *text = json_get_text(outcome, "measured");
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !text[0]; i++) { text = json_get_text(failure, keys[i]); }
    if (!text[0]) { text = json_get_text(outcome, "verdict"); }
    fprintf(out, "%.*s", (int)strcspn(text, "\n"), text);
}

static void write_class(FILE *out, const char *step, const struct json_value *outcome) {
    char *name = NULL;
    if (asprintf(&name, "%s.%s", step, json_get_text(outcome, "exercise")) < 0) { return; }
    write_name(out, "classname", name);
    free(name);
}

static void write_case(FILE *out, const char *step, const struct json_value *outcome) {
    char *name = render_text(render_name, outcome), *explanation = render_text(render_explanation, outcome);
    char *message = render_text(write_message, outcome);
    const char *kind = json_get_text(json_get(outcome, "failure"), "kind");
    fputs("    <testcase", out);
    write_name(out, "name", name);
    write_class(out, step, outcome);
    fputs(" time=\"0\">", out);
    if (is_skipped(outcome)) {
        fputs("<skipped>", out);
        markup_text(out, explanation);
        fputs("</skipped>", out);
    } else if (!render_has_passed(outcome)) {
        fputs("\n      <failure", out);
        write_attribute(out, "type", kind[0] ? kind : json_get_text(outcome, "verdict"));
        write_attribute(out, "message", message);
        fputs(">", out);
        markup_text(out, explanation);
        fputs("</failure>\n    ", out);
    }
    fputs("</testcase>\n", out);
    free(name);
    free(explanation);
    free(message);
}

static void write_error(FILE *out, const char *step, const char *error) {
    fputs("    <testcase name=\"submission\"", out);
    write_name(out, "classname", step);
    fputs(" time=\"0\">\n      <error type=\"submission\"", out);
    write_attribute(out, "message", error);
    fputs("/>\n    </testcase>\n", out);
}

static void write_property(FILE *out, const char *name, const char *value) {
    fputs("      <property", out);
    write_attribute(out, "name", name);
    write_attribute(out, "value", value);
    fputs("/>\n", out);
}

static void write_properties(FILE *out, const struct json_value *report) {
    char points[64];
    fputs("    <properties>\n", out);
    snprintf(points, sizeof points, "%.17g", json_get_number(report, "points"));
    write_property(out, "points", points);
    snprintf(points, sizeof points, "%.17g", json_get_number(report, "points_max"));
    write_property(out, "points_max", points);
    write_property(out, "device", json_get_text(report, "device"));
    fputs("    </properties>\n", out);
}

void render_junit(FILE *out, const struct json_value *report) {
    const char *step = json_get_text(report, "step"), *error = json_get_text(report, "error");
    int tests = error[0] != '\0', failures = 0, skipped = 0;
    for (const struct json_value *outcome = json_get_first(report, "outcomes"); outcome; outcome = outcome->next) {
        tests++;
        skipped += is_skipped(outcome);
        failures += !is_skipped(outcome) && !render_has_passed(outcome);
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite", out);
    write_name(out, "name", step);
    write_attribute(out, "package", "grader");
    write_timestamp(out, json_get_text(report, "time"));
    fprintf(out, " id=\"0\" hostname=\"localhost\" tests=\"%d\" failures=\"%d\" errors=\"%d\"", tests, failures,
            error[0] != '\0');
    fprintf(out, " skipped=\"%d\" time=\"%.3f\">\n", skipped, json_get_number(report, "seconds"));
    write_properties(out, report);
    for (const struct json_value *outcome = json_get_first(report, "outcomes"); outcome; outcome = outcome->next) {
        write_case(out, step, outcome);
    }
    if (error[0]) { write_error(out, step, error); }
    fputs("    <system-out>", out);
    markup_text(out, json_get_text(report, "printed"));
    fputs("</system-out>\n    <system-err>", out);
    markup_text(out, json_get_text(report, "note"));
    fputs("</system-err>\n  </testsuite>\n</testsuites>\n", out);
}
