#include "hint.h"

#include <string.h>

#include "lab.h"
#include "options.h"
#include "report.h"

enum { PATH_BYTES = 1024, HINT_BYTES = 16384 };

static const char *const level_names[] = {"", "the idea", "the method", "near-code"};

/* A line of OUT/last-run: an exercise that is not solved, what is wrong with it, and the level of its next hint. */
struct note {
    char op[EXERCISE_NAME_BYTES], failure[64];
    int level;
};

enum { MOST_NOTES = STEP_MAX_EXERCISES };

static int read_notes(const char *out, struct note *notes) {
    char path[PATH_BYTES];
    int count = 0;
    snprintf(path, sizeof path, "%s/last-run", out);
    FILE *file = fopen(path, "r");
    if (!file) { return 0; }
    while (count < MOST_NOTES &&
           fscanf(file, "%63s %63s %d", notes[count].op, notes[count].failure, &notes[count].level) == 3) {
        int *level = &notes[count++].level;
        *level = *level < 1 ? 1 : *level > HINT_LEVELS ? HINT_LEVELS : *level;
    }
    fclose(file);
    return count;
}

static void write_notes(const char *out, const struct note *notes, int count) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/last-run", out);
    FILE *file = fopen(path, "w");
    if (!file) { return; } /* without the file, --hint starts with the first exercise */
    for (int i = 0; i < count; i++) { fprintf(file, "%s %s %d\n", notes[i].op, notes[i].failure, notes[i].level); }
    fclose(file);
}

static bool is_unsolved(const struct outcome *outcome) {
    return outcome->exercise && outcome->verdict != VERDICT_PASS && outcome->verdict != VERDICT_NOT_RUN &&
           outcome->verdict != VERDICT_WAITING;
}

static bool was_marked(const struct report *report, const char *name) {
    const struct exercise *exercise = exercise_find(report->step, name);
    for (int i = 0; i < report->outcome_count; i++) {
        if (exercise && report->outcomes[i].exercise == exercise) { return true; }
    }
    return false;
}

void hint_remember(const struct report *report, const char *out) {
    struct note before[MOST_NOTES], notes[MOST_NOTES];
    int known = read_notes(out, before), count = 0;
    const struct exercise *last = NULL;
    for (int i = 0; i < report->outcome_count && count < MOST_NOTES; i++) {
        const struct outcome *outcome = &report->outcomes[i];
        if (!is_unsolved(outcome) || outcome->exercise == last) { continue; }
        last = outcome->exercise;
        const char *failure =
            outcome->failure.diagnosis ? outcome->failure.diagnosis : check_name(outcome->check->kind);
        struct note *note = &notes[count++];
        *note = (struct note){.level = outcome->failure.hint ? outcome->failure.hint : 1};
        exercise_name(report->step, last, note->op);
        snprintf(note->failure, sizeof note->failure, "%s", failure);
        for (int k = 0; k < known; k++) { /* the same failure: go on where the hints were */
            bool same = strcmp(before[k].op, note->op) == 0 && strcmp(before[k].failure, failure) == 0;
            if (same && before[k].level > note->level) { note->level = before[k].level; }
        }
    }
    for (int k = 0; k < known && count < MOST_NOTES; k++) { /* those that this run did not mark */
        if (!was_marked(report, before[k].op)) { notes[count++] = before[k]; }
    }
    write_notes(out, notes, count);
}

/* The exercise and level that the last run suggests for this op (NULL: any), and the note of it, or -1. */
static int recall(const struct hint_request *request, const struct note *notes, int count,
                  const struct exercise **exercise, int *level) {
    *exercise = request->kernel ? exercise_find(request->step, request->kernel) : &request->step->exercises[0];
    *level = 1;
    for (int i = 0; i < count; i++) {
        const struct exercise *found = exercise_find(request->step, notes[i].op);
        if (!found || (request->kernel && !exercise_is(found, request->kernel))) { continue; }
        *exercise = found;
        *level = notes[i].level;
        return i;
    }
    return -1;
}

static FILE *open_hint(const struct hint_request *request, const char *op, int level) {
    const char *folder = request->step->folder;
    const char *places[][3] = {
        {request->files, "", ""}, {request->files, "/..", ""}, {folder, "", ""}, {request->course, "/", folder}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s%s%s/hints/%s.%d.md", places[i][0], places[i][1], places[i][2], op, level);
        FILE *file = fopen(path, "r");
        if (file) { return file; }
    }
    return NULL;
}

/* Prints the words of a line after the first `column` columns, which the paragraph's last line already fills. */
static void fill(FILE *to, const char *line, size_t length, size_t width, size_t *column) {
    while (length > 0) {
        size_t word = strcspn(line, " \n"), spaces = strspn(line + word, " ");
        if (*column > 0 && *column + 1 + word > width) {
            fputc('\n', to);
            *column = 0;
        }
        fprintf(to, "%s%.*s", *column ? " " : "", (int)word, line);
        *column += word + (*column > 0);
        line += word + spaces;
        length -= word + spaces;
    }
}

/* For a terminal: paragraphs are filled to its width; headings, code and empty lines keep their line breaks. */
static void show_filled(FILE *to, char *text, int width) {
    size_t column = 0;
    for (char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        bool is_last = line[length] == '\0', prose = length > 0 && !strchr(" #|", line[0]);
        line[length] = '\0';
        if (column > 0 && !prose) {
            fputc('\n', to);
            column = 0;
        }
        if (prose) {
            fill(to, line, length, (size_t)width, &column);
        } else if (length == 0) {
            fputc('\n', to);
        } else {
            report_fit(to, line, width);
        }
        line += length + !is_last;
    }
    if (column > 0) { fputc('\n', to); }
}

/* As written in the file, or fitted to the terminal. */
static void show(FILE *to, FILE *file) {
    char text[HINT_BYTES];
    size_t length = fread(text, 1, sizeof text - 1, file);
    int width = report_width(to);
    text[length] = '\0';
    if (width) {
        show_filled(to, text, width);
    } else {
        fputs(text, to);
    }
}

bool hint_show(const struct hint_request *request, FILE *to, char *error, size_t error_size) {
    const struct exercise *exercise;
    struct note notes[MOST_NOTES];
    int level, count = read_notes(request->out, notes), noted = recall(request, notes, count, &exercise, &level);
    if (request->level > 0) { level = request->level; }
    const struct script *script = request->kernel ? script_find(request->step, request->kernel) : NULL;
    const char *name = script ? script->name : exercise ? exercise->op : request->kernel;
    FILE *file = open_hint(request, name, level);
    if (!file) {
        snprintf(error, error_size, "there is no hint %d for %s (looked for hints/%s.%d.md in %s and in the course)",
                 level, name, name, level, request->files);
        return false;
    }
    fprintf(to, "%s: %s, hint %d of %d (%s)\n\n", request->step->name, script ? script->title : exercise->title, level,
            HINT_LEVELS, level_names[level]);
    show(to, file);
    fclose(file);
    if (level < HINT_LEVELS) {
        fprintf(to, "\nmore: ./grader %s --kernel %s --hint=%d\n", request->step->name, name, level + 1);
        if (noted >= 0) {
            notes[noted].level = level + 1;
            write_notes(request->out, notes, count);
        }
    }
    return true;
}
