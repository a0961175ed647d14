/* terminal.h — what a program that redraws a line of progress knows about its terminal, and how it writes a time. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The width of a terminal that can redraw a line, so that the line is not wrapped; 0: it is none. */
static inline int terminal_width(int descriptor) {
    const char *terminal = getenv("TERM");
    struct winsize size;
    if (!isatty(descriptor) || terminal == NULL || strcmp(terminal, "dumb") == 0) { return 0; }
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* "12 s", "3 min 20 s", "2 h 05 min". */
static inline void time_text(double seconds, char *text, size_t size) {
    long whole = (long)(seconds + 0.5);
    if (whole < 60) {
        snprintf(text, size, "%ld s", whole);
    } else if (whole < 3600) {
        snprintf(text, size, "%ld min %02ld s", whole / 60, whole % 60);
    } else {
        snprintf(text, size, "%ld h %02ld min", whole / 3600, whole % 3600 / 60);
    }
}

#endif
