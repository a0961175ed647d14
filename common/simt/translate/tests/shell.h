/* shell.h — runs a command and keeps its output, for the tests of programs. */
#ifndef TRANSLATE_SHELL_H
#define TRANSLATE_SHELL_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static inline const char *build_folder(void) {
    const char *build = getenv("BUILD");
    return build && *build ? build : BUILD_FOLDER; /* from make */
}

struct said {
    int status;         /* exit status, or 128 + signal */
    char text[1 << 16]; /* stdout and stderr, as far as they fit */
};

static inline void run(struct said *said, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void run(struct said *said, const char *format, ...) {
    char command[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    *said = (struct said){.status = -1};
    FILE *pipe = popen(command, "r");
    if (!pipe) { return; }
    size_t length = fread(said->text, 1, sizeof said->text - 1, pipe);
    said->text[length] = '\0';
    char rest[4096];
    while (fread(rest, 1, sizeof rest, pipe) > 0) {}
    int status = pclose(pipe);
    said->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
