#include "render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grader.h"

enum { LARGEST_REPORT = 16 << 20 };

const struct renderer renderers[RENDER_FORMATS] = {
    {"gradescope", render_gradescope},
    {"github", render_github},
    {"junit", render_junit},
    {"html", render_html},
};

/* ---- an outcome ---- */

static bool verdict_is(const struct json_value *outcome, const char *verdict) {
    return strcmp(json_get_text(outcome, "verdict"), verdict) == 0;
}

bool render_is_skipped(const struct json_value *outcome) {
    return json_is_true(outcome, "optional") && !verdict_is(outcome, "pass") && !verdict_is(outcome, "FAIL") &&
           !verdict_is(outcome, "partly");
}

bool render_has_passed(const struct json_value *outcome) {
    return verdict_is(outcome, "pass");
}

void render_name(FILE *out, const struct json_value *outcome) {
    const char *title = json_get_text(outcome, "title"), *check = json_get_text(outcome, "check");
    if (strcmp(title, check) == 0) {
        fputs(title, out);
    } else {
        fprintf(out, "%s: %s", title, check);
    }
}

static void write_line(FILE *out, const char *before, const char *text) {
    if (text[0]) { fprintf(out, "%s%s\n", before, text); }
}

static void write_failure(FILE *out, const struct json_value *failure) {
    write_line(out, "", json_get_text(failure, "where"));
    write_line(out, "", json_get_text(failure, "comparison"));
    write_line(out, "", json_get_text(failure, "message"));
    write_line(out, "seen: ", json_get_text(failure, "calls"));
    write_line(out, "seen: ", json_get_text(failure, "results"));
    write_line(out, "seen: the compiler warns: ", json_get_text(failure, "warning"));
    write_line(out, "seen: ", json_get_text(failure, "fact"));
    write_line(out, "likely cause: ", json_get_text(failure, "cause"));
    write_line(out, "or, equally: ", json_get_text(failure, "other_cause"));
}

void render_explanation(FILE *out, const struct json_value *outcome) {
    const char *measured = json_get_text(outcome, "measured"), *target = json_get_text(outcome, "target");
    const struct json_value *failure = json_get(outcome, "failure");
    if (!failure && !render_has_passed(outcome)) { write_line(out, "", json_get_text(outcome, "verdict")); }
    if (measured[0]) { fprintf(out, target[0] ? "%s (%s)\n" : "%s\n", measured, target); }
    write_failure(out, failure);
    write_line(out, "next step: ", json_get_text(outcome, "next_rung"));
}

char *render_text(void (*write)(FILE *out, const struct json_value *outcome), const struct json_value *outcome) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) { return strdup(""); }
    write(memory, outcome);
    fclose(memory);
    return text;
}

/* ---- files ---- */

static bool write_file(const struct renderer *renderer, const char *path, const struct json_value *report, char *error,
                       size_t error_size) {
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (file) { renderer->write(file, report); }
    bool ok = file && !ferror(file);
    if (file && (file == stdout ? fflush(file) : fclose(file)) != 0) { ok = false; }
    if (!ok) { snprintf(error, error_size, "cannot write --%s %s: %s", renderer->format, path, strerror(errno)); }
    return ok;
}

/* A report of a version that this grader writes. */
static bool is_report(const struct json_value *report) {
    const struct json_value *outcomes = json_get(report, "outcomes");
    return json_get_number(report, "version") == 1.0 && outcomes && outcomes->kind == JSON_ARRAY;
}

bool render_files(const char *json, size_t length, const char *name, const char *const files[RENDER_FORMATS],
                  char *error, size_t error_size) {
    char problem[128] = "it has no \"version\": 1 and no \"outcomes\"";
    struct json_value *report = json_read(json, length, problem, sizeof problem);
    bool ok = is_report(report);
    if (!ok) {
        snprintf(error, error_size, "%s is no report of this grader (%s); write one with --json FILE", name, problem);
    }
    for (int i = 0; ok && i < RENDER_FORMATS; i++) {
        if (files[i]) { ok = write_file(&renderers[i], files[i], report, error, error_size); }
    }
    json_free(report);
    return ok;
}

bool render_stored(const char *path, const char *const files[RENDER_FORMATS], char *error, size_t error_size) {
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(LARGEST_REPORT) : NULL;
    size_t length = text ? fread(text, 1, LARGEST_REPORT, file) : 0;
    bool ok = text && !ferror(file);
    if (!ok) { snprintf(error, error_size, "cannot read %s: %s", path, strerror(errno)); }
    ok = ok && render_files(text, length, path, files, error, error_size);
    free(text);
    if (file) { fclose(file); }
    return ok;
}
