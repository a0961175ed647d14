/* class_show.c — a class's results as a table for spreadsheets (RFC 4180), an index page, and a page for each student. */
#include <stdlib.h>
#include <string.h>

#include "class_store.h"
#include "lab.h"
#include "markup.h"
#include "page.h"
#include "render.h"
#include "utf8.h"

static bool is_marked(const struct submission *submission) {
    return strcmp(store_status(submission), "marked") == 0;
}

/* Points of an exercise, or of the predictions, by its name in the report. */
static double points_of(const struct submission *submission, const char *name) {
    double points = 0.0;
    const struct json_value *outcome = json_get_first(submission->result, "outcomes");
    for (; outcome; outcome = outcome->next) {
        if (strcmp(json_get_text(outcome, "exercise"), name) == 0) { points += json_get_number(outcome, "points"); }
    }
    return points;
}

/* Column number `index`: the required exercises, then the predictions. False: there are no more. */
static bool column(const struct step *step, int index, char name[EXERCISE_NAME_BYTES]) {
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        if (exercise->optional || index-- > 0) { continue; }
        exercise_name(step, exercise, name);
        return true;
    }
    snprintf(name, EXERCISE_NAME_BYTES, "predictions");
    return index == 0;
}

static const char *reason_of(const struct submission *submission) {
    return json_get_text(submission->result, "error");
}

/* ---- results.csv ---- */

/* One cell. Spreadsheets run a cell that begins like a formula, so such a text gets an apostrophe in front. */
static void write_cell(FILE *out, const char *text) {
    fputc('"', out);
    if (text[0] && strchr("=+-@\t\r", text[0])) { fputc('\'', out); }
    while (*text) {
        size_t length = utf8_length(text);
        bool control = length == 1 && ((unsigned char)*text < 0x20 || *text == 0x7f);
        if (*text == '"') { fputc('"', out); }
        if (length == 0 || control) {
            fputs(control ? " " : UTF8_REPLACEMENT, out);
        } else {
            fwrite(text, 1, length, out);
        }
        text += length ? length : 1;
    }
    fputc('"', out);
}

static void write_row(FILE *out, const struct step *step, const struct submission *submission) {
    char name[EXERCISE_NAME_BYTES];
    bool marked = is_marked(submission);
    write_cell(out, submission->student);
    fprintf(out, ",%s,", store_status(submission));
    if (marked) {
        fprintf(out, "%g,%g", json_get_number(submission->result, "points"),
                json_get_number(submission->result, "points_max"));
    } else {
        fputc(',', out);
    }
    for (int i = 0; column(step, i, name); i++) {
        fputc(',', out);
        if (marked) { fprintf(out, "%g", points_of(submission, name)); }
    }
    fputc(',', out);
    write_cell(out, reason_of(submission));
    fputs("\r\n", out);
}

bool class_show_csv(const char *out, const struct step *step, const struct submission *submissions, int count) {
    char path[PATHS_BYTES], name[EXERCISE_NAME_BYTES];
    struct store_file store;
    snprintf(path, sizeof path, "%.1000s/results.csv", out);
    if (!store_begin(&store, path)) { return false; }
    fputs("student,status,points,points_max", store.file);
    for (int i = 0; column(step, i, name); i++) { fprintf(store.file, ",%s", name); }
    fputs(",reason\r\n", store.file);
    for (int i = 0; i < count; i++) { write_row(store.file, step, &submissions[i]); }
    return store_end(&store);
}

/* ---- pages ---- */

bool class_show_page(const char *out, const struct submission *submission) {
    char path[PATHS_BYTES];
    struct store_file store;
    snprintf(path, sizeof path, "%.900s/pages/%s.html", out, submission->slug);
    if (!store_begin(&store, path)) { return false; }
    render_html(store.file, submission->result);
    return store_end(&store);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_points(const struct submission *submissions, int count, int *marked) {
    double *points = malloc((size_t)(count + 1) * sizeof *points), median;
    *marked = 0;
    if (!points) { return 0.0; }
    for (int i = 0; i < count; i++) {
        if (is_marked(&submissions[i])) { points[(*marked)++] = json_get_number(submissions[i].result, "points"); }
    }
    qsort(points, (size_t)*marked, sizeof *points, by_value);
    median = *marked ? (points[(*marked - 1) / 2] + points[*marked / 2]) / 2 : 0.0;
    free(points);
    return median;
}

static void write_line(FILE *out, const struct step *step, const struct submission *submission) {
    char name[EXERCISE_NAME_BYTES], label[64];
    double points = json_get_number(submission->result, "points"),
           most = json_get_number(submission->result, "points_max");
    fprintf(out, "<tr><td><a href=\"pages/%s.html\">", submission->slug);
    markup_text(out, submission->student);
    fputs("</a></td>", out);
    if (is_marked(submission)) {
        snprintf(label, sizeof label, "%g of %g points", points, most);
        fprintf(out, "<td>%g</td><td>", points);
        page_bar(out, points < most ? "" : "pass", points, 0.0, most, label);
        fputs("</td>", out);
        for (int i = 0; column(step, i, name); i++) { fprintf(out, "<td>%g</td>", points_of(submission, name)); }
    } else {
        int columns = 0;
        while (column(step, columns, name)) { columns++; }
        fprintf(out, "<td class=\"text fail\" colspan=\"%d\">%s: ", columns + 2, store_status(submission));
        markup_text(out, reason_of(submission));
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

bool class_show_index(const char *out, const struct step *step, const struct submission *submissions, int count) {
    char path[PATHS_BYTES], name[EXERCISE_NAME_BYTES], title[256];
    struct store_file store;
    int marked;
    double median = median_points(submissions, count, &marked);
    snprintf(path, sizeof path, "%.1000s/index.html", out);
    if (!store_begin(&store, path)) { return false; }
    snprintf(title, sizeof title, "%s: %.200s", step->name, step->title);
    page_begin(store.file, title);
    fputs("<main class=\"wide\">\n<h1>", store.file);
    markup_text(store.file, title);
    fprintf(store.file, "</h1>\n<p>%d submissions, %d marked", count, marked);
    if (marked) { fprintf(store.file, ", median %g points", median); }
    fputs(". <a href=\"results.csv\">results.csv</a></p>\n<div "
          "class=\"scroll\"><table>\n<tr><th>student</th><th>points</th><th></th>",
          store.file);
    for (int i = 0; column(step, i, name); i++) {
        fputs("<th>", store.file);
        markup_text(store.file, name);
        fputs("</th>", store.file);
    }
    fputs("</tr>\n", store.file);
    for (int i = 0; i < count; i++) { write_line(store.file, step, &submissions[i]); }
    fputs("</table></div>\n</main>\n", store.file);
    page_end(store.file);
    return store_end(&store);
}
