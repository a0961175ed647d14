/* render_html.c — a report as one HTML page: each exercise with its checks, the call that failed, what was expected and what
 * was got there, the likely cause, and counted bytes beside their floor. page.c has its style. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "markup.h"
#include "page.h"
#include "render.h"

/* Class of the style: pass, fail, part or dim. */
static const char *kind_of(const struct json_value *outcome) {
    const char *verdict = json_get_text(outcome, "verdict");
    return render_has_passed(outcome)       ? "pass"
           : strcmp(verdict, "FAIL") == 0   ? "fail"
           : strcmp(verdict, "partly") == 0 ? "part"
                                            : "dim";
}

static const char *mark_of(const char *kind) {
    return strcmp(kind, "pass") == 0   ? "\xe2\x9c\x93"  /* check mark */
           : strcmp(kind, "fail") == 0 ? "\xe2\x9c\x97"  /* cross */
           : strcmp(kind, "part") == 0 ? "\xe2\x97\x90"  /* half circle */
                                       : "\xe2\x80\x93"; /* dash */
}

static bool same_exercise(const struct json_value *a, const struct json_value *b) {
    return strcmp(json_get_text(a, "exercise"), json_get_text(b, "exercise")) == 0;
}

static void write_paragraph(FILE *out, const char *kind, const char *before, const char *text) {
    if (!text[0]) { return; }
    fprintf(out, "<p class=\"%s\">%s", kind, before);
    markup_text(out, text);
    fputs("</p>\n", out);
}

static void write_block(FILE *out, const char *text) {
    if (!text[0]) { return; }
    fputs("<pre>", out);
    markup_text(out, text);
    fputs("</pre>\n", out);
}

/* ---- one failure ---- */

/* Nine digits, or the text that stands for NaN and for infinities. */
static void write_number(FILE *out, const struct json_value *failure, const char *key) {
    const char *text = json_get_text(failure, key);
    if (text[0]) {
        markup_text(out, text);
    } else {
        fprintf(out, "%.9g", json_get_number(failure, key));
    }
}

static void write_difference(FILE *out, const struct json_value *failure) {
    bool repeated = strcmp(json_get_text(failure, "kind"), "repeat") == 0;
    fputs("<pre>  ", out);
    markup_text(out, json_get_text(failure, "element"));
    fprintf(out, "\n<span class=\"pass\">- %s ", repeated ? "first   " : "expected");
    write_number(out, failure, "expected");
    fprintf(out, "</span>\n<span class=\"fail\">+ %s ", repeated ? "then    " : "got     ");
    write_number(out, failure, "got");
    fputs("</span>", out);
    if (!repeated) {
        fputs("\n  <span class=\"dim\">", out);
        if (json_is_true(failure, "misrounded")) {
            fputs("not the nearest value of the type\n", out);
        } else {
            fprintf(out, "allowed  %.2g\n", json_get_number(failure, "tolerance"));
        }
        fprintf(out, "  %.0f of %.0f elements are wrong</span>", json_get_number(failure, "wrong"),
                json_get_number(failure, "total"));
    }
    fputs("</pre>\n", out);
}

static void write_failure(FILE *out, const char *step, const struct json_value *outcome) {
    const struct json_value *failure = json_get(outcome, "failure");
    write_paragraph(out, "dim", "the call: ", json_get_text(failure, "where"));
    if (json_get_text(failure, "element")[0]) {
        write_difference(out, failure);
    } else {
        write_block(out, json_get_text(failure, "comparison"));
    }
    write_block(out, json_get_text(failure, "message"));
    write_paragraph(out, "cause", "<strong>Seen:</strong> ", json_get_text(failure, "calls"));
    write_paragraph(out, "cause", "<strong>Seen:</strong> ", json_get_text(failure, "results"));
    write_paragraph(out, "cause", "<strong>The compiler warns:</strong> ", json_get_text(failure, "warning"));
    write_paragraph(out, "cause", "<strong>Seen:</strong> ", json_get_text(failure, "fact"));
    write_paragraph(out, "cause", "<strong>Likely cause:</strong> ", json_get_text(failure, "cause"));
    write_paragraph(out, "cause", "<strong>Or, equally:</strong> ", json_get_text(failure, "other_cause"));
    write_paragraph(out, "cause", "<strong>Next step:</strong> ", json_get_text(outcome, "next_rung"));
    if (failure && json_get_number(failure, "hint") > 0.0) {
        fputs("<p class=\"dim\">Hint: <code>", out);
        markup_print(out, "./grader %s --kernel %s --hint=%.0f", step, json_get_text(outcome, "exercise"),
                     json_get_number(failure, "hint"));
        fputs("</code></p>\n", out);
    }
}

/* ---- figures ---- */

static void write_bytes(FILE *out, double bytes) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB"};
    int unit = 0;
    for (; bytes >= 1000.0 && unit < 3; unit++) { bytes /= 1000.0; }
    fprintf(out, unit ? "%.3g %s" : "%.0f %s", bytes, units[unit]);
}

/* Counted traffic beside its floor, or counted launches beside the number that full marks allow. */
static void write_figure(FILE *out, const struct json_value *outcome) {
    const char *measured = json_get_text(outcome, "measured"), *target = json_get_text(outcome, "target");
    double figure = json_get_number(outcome, "figure"), limit = json_get_number(outcome, "limit");
    double floor = json_get_number(outcome, "floor");
    bool is_launches = strcmp(json_get_text(outcome, "check"), "launches") == 0;
    if (figure > 0.0 && limit > 0.0 && (floor > 0.0 || is_launches)) {
        double most = 1.1 * fmax(figure, limit);
        if (floor > 0.0) {
            fputs("<p class=\"dim\">floor: ", out);
            write_bytes(out, floor);
            fputs("</p>\n", out);
            page_bar(out, "", 1.0, 0.0, most, "the floor");
            fputs("<p class=\"dim\">counted: ", out);
            write_bytes(out, figure * floor);
            fputs("; the mark is the limit for full points</p>\n", out);
        }
        page_bar(out, kind_of(outcome), figure, limit, most, measured);
    }
    fputs("<p>", out);
    markup_text(out, measured);
    if (target[0]) { markup_print(out, " (%s)", target); }
    fputs("</p>\n", out);
}

/* ---- an exercise ---- */

static void write_points(FILE *out, double points, double most, bool optional) {
    if (optional) {
        fputs("<span class=\"points dim\">optional</span>", out);
    } else {
        fprintf(out, "<span class=\"points\">%g/%g</span>", points, most);
    }
}

static void write_checks(FILE *out, const struct json_value *first) {
    fputs("<ul class=\"checks\">\n", out);
    for (const struct json_value *o = first; o && same_exercise(o, first); o = o->next) {
        const char *kind = kind_of(o), *verdict = json_get_text(o, "verdict");
        fprintf(out, "<li class=\"%s\">%s ", kind, mark_of(kind));
        markup_text(out, json_get_text(o, "check"));
        if (strcmp(kind, "dim") == 0) { markup_print(out, ": %s", verdict); }
        if (!json_is_true(o, "optional")) {
            fprintf(out, " <span class=\"points\">%g/%g</span>", json_get_number(o, "points"),
                    json_get_number(o, "points_max"));
        }
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void write_details(FILE *out, const char *step, const struct json_value *outcome) {
    const struct json_value *failure = json_get(outcome, "failure");
    bool has_figure = json_get_text(outcome, "measured")[0] != '\0';
    if (!failure && !has_figure) { return; }
    fprintf(out, "<h3 class=\"%s\">", kind_of(outcome));
    markup_text(out, json_get_text(outcome, "check"));
    fputs("</h3>\n", out);
    if (has_figure) { write_figure(out, outcome); }
    if (failure) { write_failure(out, step, outcome); }
}

/* Writes the outcomes of one exercise; returns the first one of the next. */
static const struct json_value *write_exercise(FILE *out, const char *step, const struct json_value *first) {
    double points = 0.0, most = 0.0;
    const struct json_value *outcome = first;
    for (; outcome && same_exercise(outcome, first); outcome = outcome->next) {
        points += json_get_number(outcome, "points");
        most += json_get_number(outcome, "points_max");
    }
    fputs("<section>\n<h2><span>", out);
    markup_text(out, json_get_text(first, "title"));
    fputs("</span>", out);
    write_points(out, points, most, json_is_true(first, "optional"));
    fputs("</h2>\n<p class=\"dim\"><code>", out);
    markup_text(out, json_get_text(first, "file"));
    fputs("</code></p>\n", out);
    write_checks(out, first);
    for (const struct json_value *o = first; o != outcome; o = o->next) { write_details(out, step, o); }
    fputs("</section>\n", out);
    return outcome;
}

/* ---- the page ---- */

static void write_head(FILE *out, const struct json_value *report) {
    const char *student = json_get_text(report, "student"), *step = json_get_text(report, "step");
    double points = json_get_number(report, "points"), most = json_get_number(report, "points_max");
    char label[64];
    snprintf(label, sizeof label, "%g of %g points", points, most);
    fputs("<header>\n<p class=\"dim\">", out);
    markup_print(out, "%s: %s", step, json_get_text(report, "title"));
    fputs("</p>\n", out);
    if (student[0]) {
        fputs("<h1>", out);
        markup_text(out, student);
        fputs("</h1>\n", out);
    }
    fprintf(out, "<p class=\"total\"><strong>%g</strong> of %g points</p>\n", points, most);
    page_bar(out, points < most ? "" : "pass", points, 0.0, most, label);
    fputs("</header>\n", out);
    write_paragraph(out, "fail", "<strong>Not marked:</strong> ", json_get_text(report, "error"));
    write_paragraph(out, "next", "<strong>Next:</strong> ", json_get_text(report, "next"));
    write_paragraph(out, "dim", "", json_get_text(report, "note"));
}

void render_html(FILE *out, const struct json_value *report) {
    const char *step = json_get_text(report, "step"), *student = json_get_text(report, "student");
    char *title = NULL;
    if (asprintf(&title, "%s%s%s", student, student[0] ? ", " : "", step) < 0) { return; }
    page_begin(out, title);
    free(title);
    fputs("<main>\n", out);
    write_head(out, report);
    for (const struct json_value *outcome = json_get_first(report, "outcomes"); outcome;) {
        outcome = write_exercise(out, step, outcome);
    }
    if (json_get_text(report, "printed")[0]) {
        fputs("<section>\n<h2>What the code printed</h2>\n", out);
        write_block(out, json_get_text(report, "printed"));
        fputs("</section>\n", out);
    }
    fputs("<footer class=\"dim\"><p>", out);
    markup_print(out, "%s, %.1f s", json_get_text(report, "time"), json_get_number(report, "seconds"));
    fputs("</p>\n", out);
    write_paragraph(out, "dim", "device: ", json_get_text(report, "device"));
    fputs("</footer>\n</main>\n", out);
    page_end(out);
}
