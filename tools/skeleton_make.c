/* skeleton_make.c — reads a solution line by line and writes the skeleton; see skeleton.h, markers in skeleton.c. */
#define _POSIX_C_SOURCE 200809L
#include "skeleton.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum place { OUTSIDE, TASK, SOLUTION, STUB, SWAP, OMIT };
enum marker { NOT_A_MARKER, TEXT, MARK_TODO, MARK_SOLUTION, MARK_STUB, MARK_OMIT, MARK_SWAP, MARK_END, UNKNOWN };

static const char *const names[] = {
    [MARK_TODO] = "todo", [MARK_SOLUTION] = "solution", [MARK_STUB] = "stub",
    [MARK_OMIT] = "omit", [MARK_SWAP] = "swap",         [MARK_END] = "end",
};

enum { MOST_TASKS = 64, MOST_TEXT = 40, LONGEST_ID = 8 };

struct maker {
    FILE *out;
    struct skeleton_error *error;
    int line;
    enum place place;
    int opened;      /* the line that opened the region */
    int depth;       /* of braces, since the region's code began */
    int code_lines;  /* in the region's solution */
    bool in_comment; /* inside a block comment */
    bool continued;  /* the line before ended with a backslash */
    int indent;      /* of the opening marker */
    char id[MOST_TASKS][LONGEST_ID];
    int tasks;
    char *title;           /* "2a The title" */
    char *text[MOST_TEXT]; /* the task's text, printed when the solution's length is known */
    int texts;
};

__attribute__((format(printf, 3, 4))) static bool fail(struct maker *maker, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(maker->error->text, sizeof maker->error->text, format, arguments);
    va_end(arguments);
    maker->error->line = line;
    return false;
}

/* Follows comments, strings and braces through one line of code. Returns where a marker follows code, or NULL. */
static const char *scan_code(struct maker *maker, const char *line) {
    for (const char *p = line; *p; p++) {
        if (maker->in_comment) {
            if (p[0] == '*' && p[1] == '/') {
                maker->in_comment = false;
                p++;
            }
        } else if (p[0] == '/' && p[1] == '*') {
            maker->in_comment = true;
            p++;
        } else if (p[0] == '/' && p[1] == '/') {
            return p[2] == ':' ? p : NULL;
        } else if (*p == '"' || *p == '\'') {
            bool digit_separator = *p == '\'' && p > line && isxdigit((unsigned char)p[-1]);
            char quote = *p;
            while (!digit_separator && p[1] && *++p != quote) {
                if (*p == '\\' && p[1]) { p++; }
            }
        } else if (*p == '{') {
            maker->depth++;
        } else if (*p == '}') {
            if (--maker->depth < 0 && maker->place != OUTSIDE) { return NULL; }
        }
    }
    return NULL;
}

static enum marker marker_of(const char *line, const char **rest) {
    while (*line == ' ' || *line == '\t') { line++; }
    size_t opening = strncmp(line, "//:", 3) == 0 ? 3 : strncmp(line, "#:", 2) == 0 ? 2 : 0;
    if (!opening) { return NOT_A_MARKER; }
    line += opening;
    *rest = line;
    if (*line == '\0' || *line == ' ') { return TEXT; }
    size_t length = strcspn(line, " ");
    *rest = line + length + (line[length] == ' ');
    for (enum marker m = MARK_TODO; m <= MARK_END; m++) {
        if (strlen(names[m]) == length && strncmp(line, names[m], length) == 0) { return m; }
    }
    return UNKNOWN;
}

static bool begin_task(struct maker *maker, const char *title) {
    size_t digits = strspn(title, "0123456789"), length = digits + 1;
    if (digits == 0 || digits > 3 || !islower((unsigned char)title[digits]) || title[length] != ' ' ||
        !title[length + 1]) {
        return fail(maker, maker->line,
                    "//:todo needs an id and a title, as in: //:todo 2a Which row is this thread's?");
    }
    for (int i = 0; i < maker->tasks; i++) {
        if (strlen(maker->id[i]) == length && strncmp(maker->id[i], title, length) == 0) {
            return fail(maker, maker->line, "the id %s is used twice in this file", maker->id[i]);
        }
    }
    if (maker->tasks == MOST_TASKS) { return fail(maker, maker->line, "more than %d tasks in one file", MOST_TASKS); }
    snprintf(maker->id[maker->tasks++], LONGEST_ID, "%.*s", (int)length, title);
    maker->title = strdup(title);
    return true;
}

static void print_task(struct maker *maker) {
    int id = (int)strcspn(maker->title, " ");
    fprintf(maker->out, "%*s// TODO %.*s (%d line%s):%s\n", maker->indent, "", id, maker->title, maker->code_lines,
            maker->code_lines == 1 ? "" : "s", maker->title + id);
    for (int i = 0; i < maker->texts; i++) {
        fprintf(maker->out, "%*s//  %s\n", maker->indent, "", maker->text[i]);
        free(maker->text[i]);
    }
    free(maker->title);
    maker->title = NULL;
    maker->texts = 0;
}

/* The region's code is complete: at //:stub or //:end. */
static bool close_code(struct maker *maker, enum marker marker) {
    if (maker->depth != 0) {
        return fail(maker, maker->line, "//:%s splits a { block }: the region begun in line %d holds %d more '%c'",
                    names[marker], maker->opened, abs(maker->depth), maker->depth > 0 ? '{' : '}');
    }
    if (maker->in_comment) { return fail(maker, maker->line, "//:%s stands inside a /* comment */", names[marker]); }
    if (maker->place == STUB) { return true; }
    bool insertion = maker->place == SWAP && marker == MARK_STUB; // nothing there, the stub here
    if (maker->code_lines == 0 && !insertion) {
        return fail(maker, maker->line, "the region begun in line %d has no solution", maker->opened);
    }
    if (maker->place == SOLUTION) { print_task(maker); }
    return true;
}

static bool open_region(struct maker *maker, const char *line, enum marker marker, const char *rest) {
    maker->opened = maker->line;
    maker->indent = (int)strspn(line, " ");
    maker->depth = 0;
    maker->code_lines = 0;
    maker->place = marker == MARK_TODO ? TASK : marker == MARK_SWAP ? SWAP : OMIT;
    if (marker == MARK_TODO) { return begin_task(maker, rest); }
    return *rest ? fail(maker, maker->line, "//:%s takes nothing after it", names[marker]) : true;
}

static bool take_marker(struct maker *maker, const char *line, enum marker marker, const char *rest) {
    static const char *const region[] = {
        [TASK] = "todo", [SOLUTION] = "todo", [STUB] = "stub", [SWAP] = "swap", [OMIT] = "omit"};
    if (marker == UNKNOWN) {
        const char *name = strchr(line, ':') + 1;
        return fail(maker, maker->line, "no such marker: //:%.*s (there are todo, solution, stub, omit, swap, end)",
                    (int)strcspn(name, " "), name);
    }
    if (maker->in_comment) { return fail(maker, maker->line, "this marker stands inside a /* comment */"); }
    if (maker->continued) {
        return fail(maker, maker->line, "this marker stands inside a line continued by a backslash");
    }
    if (marker == MARK_TODO || marker == MARK_OMIT || marker == MARK_SWAP) {
        if (maker->place == OUTSIDE) { return open_region(maker, line, marker, rest); }
        return fail(maker, maker->line,
                    "//:%s inside the //:%s of line %d: regions do not nest; is its //:end missing?", names[marker],
                    region[maker->place], maker->opened);
    }
    if (marker == TEXT) {
        if (maker->place == STUB) {
            const char *code = *rest ? rest + 1 : rest;
            fprintf(maker->out, "%*s%s\n", *code ? maker->indent : 0, "", code);
            scan_code(maker, rest);
            return true;
        }
        if (maker->place != TASK) {
            return fail(maker, maker->line, "text after //: belongs to a //:todo or a //:stub");
        }
        if (maker->texts == MOST_TEXT) {
            return fail(maker, maker->line, "a task's text has at most %d lines", MOST_TEXT);
        }
        maker->text[maker->texts++] = strdup(rest);
        return true;
    }
    if (*rest) { return fail(maker, maker->line, "//:%s takes nothing after it", names[marker]); }
    bool legal = marker == MARK_SOLUTION ? maker->place == TASK
                 : marker == MARK_STUB   ? maker->place == SOLUTION || maker->place == SWAP
                                         : maker->place != OUTSIDE && maker->place != TASK;
    if (!legal) {
        return fail(maker, maker->line, "//:%s has no place here: %s", names[marker],
                    marker == MARK_SOLUTION ? "it follows a //:todo and its text"
                    : marker == MARK_STUB   ? "it follows the solution of a //:todo or //:swap"
                    : maker->place == TASK  ? "the //:todo has no //:solution yet"
                                            : "no region is open");
    }
    if (marker == MARK_SOLUTION) {
        maker->place = SOLUTION;
        return true;
    }
    if (!close_code(maker, marker)) { return false; }
    maker->place = marker == MARK_STUB ? STUB : OUTSIDE;
    return true;
}

static bool take_code(struct maker *maker, const char *line) {
    if (maker->place == TASK) { return fail(maker, maker->line, "a line without //: between //:todo and //:solution"); }
    if (maker->place == STUB) {
        return fail(maker, maker->line, "a stub's lines begin with \"//: \"; is //:end missing?");
    }
    const char *after_code = scan_code(maker, line);
    if (after_code) { return fail(maker, maker->line, "a marker after code: it must stand alone on its line"); }
    if (strstr(line, "// :") || strstr(line, "//;")) {
        return fail(maker, maker->line, "this looks like a marker, but markers begin with //: exactly");
    }
    if (maker->place == OUTSIDE) {
        fprintf(maker->out, "%s\n", line);
        return true;
    }
    if (maker->depth < 0) {
        return fail(maker, maker->line, "this '}' closes a block that began before the region of line %d",
                    maker->opened);
    }
    maker->code_lines += line[strspn(line, " \t")] != '\0';
    return true;
}

static bool make(struct maker *maker, char *solution) {
    for (char *line = solution, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) { *next++ = '\0'; }
        maker->line++;
        size_t length = strlen(line);
        if (length > 0 && line[length - 1] == '\r') {
            return fail(maker, maker->line, "this line ends with a carriage return: use Unix line ends");
        }
        const char *rest = "";
        enum marker marker = marker_of(line, &rest);
        if (!(marker ? take_marker(maker, line, marker, rest) : take_code(maker, line))) { return false; }
        maker->continued = !marker && length > 0 && line[length - 1] == '\\';
    }
    if (maker->place == OUTSIDE) { return true; }
    return fail(maker, maker->opened, "this region is never closed: its //:end is missing");
}

char *skeleton_make(const char *solution, struct skeleton_error *error) {
    struct maker maker = {.error = error};
    char *skeleton = NULL, *copy = strdup(solution);
    size_t size;
    maker.out = open_memstream(&skeleton, &size);
    bool made = false;
    if (copy && maker.out) {
        made = make(&maker, copy);
    } else {
        fail(&maker, 0, "out of memory");
    }
    if (maker.out) { fclose(maker.out); }
    for (int i = 0; i < maker.texts; i++) { free(maker.text[i]); }
    free(maker.title);
    free(copy);
    if (!made) {
        free(skeleton);
        return NULL;
    }
    return skeleton;
}
