/* report_fit.c — the report on a terminal of any width: lines are broken at spaces, and go on under their own text. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report.h"

enum { LEAST_WIDTH = 40, HANGING = 4 };

int report_width(FILE *out) {
    struct winsize size;
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) { return 0; }
    return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
}

/* Bytes of a colour's escape sequence at `text`, which take no place; 0 when there is none. */
static size_t escape_bytes(const char *text) {
    return text[0] == '\033' ? strcspn(text, "m") + 1 : 0;
}

/* Bytes of the line that fit into `room` columns: up to the last gap between two columns of the table, if that is in the
 * second half, else up to the last space. */
static size_t part_bytes(const char *line, size_t length, size_t room, size_t indent) {
    size_t at = 0, column = 0, space = 0, gap = 0;
    while (at < length) {
        size_t escape = escape_bytes(line + at);
        if (escape) {
            at += escape;
            continue;
        }
        if (column == room) { break; }
        bool starts_gap = line[at] == ' ' && at + 1 < length && line[at + 1] == ' ' && (at == 0 || line[at - 1] != ' ');
        if (starts_gap && column > room / 2) { gap = at; }
        if (line[at] == ' ' && column > indent) { space = at; }
        column += ((unsigned char)line[at] & 0xc0) != 0x80; /* of UTF-8 only the first byte */
        at++;
    }
    if (at >= length) { return at; }
    return gap ? gap : line[at] == ' ' ? at : space ? space : at;
}

void report_fit(FILE *out, const char *text, int width) {
    while (*text) {
        size_t length = strcspn(text, "\n"), indent = strspn(text, " ");
        size_t hanging = indent + HANGING < (size_t)width / 2 ? indent + HANGING : HANGING;
        const char *line = text;
        text += length + (text[length] == '\n');
        size_t part = part_bytes(line, length, (size_t)width, indent);
        fprintf(out, "%.*s\n", (int)part, line);
        while (part < length) {
            line += part;
            length -= part;
            size_t spaces = strspn(line, " ");
            line += spaces;
            length -= spaces;
            part = part_bytes(line, length, (size_t)width - hanging, 0);
            if (part) { fprintf(out, "%*s%.*s\n", (int)hanging, "", (int)part, line); }
        }
    }
}

void report_show(FILE *out, const struct report *report, const struct prediction *prediction) {
    int width = report_width(out);
    char *text = NULL;
    size_t size = 0;
    FILE *page = width ? open_memstream(&text, &size) : NULL;
    if (!page) {
        report_print(out, report_wants_colour(out), 0, report, prediction);
        return;
    }
    report_print(page, report_wants_colour(out), width, report, prediction);
    fclose(page);
    report_fit(out, text, width);
    free(text);
}
