/* hostile.h — where the tests find the hostile programs that the build made (tests/hostile/hostile.c). */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdio.h>
#include <stdlib.h>

/* The path of the program under the name of one of its modes; valid until the next call. */
static inline const char *hostile_path(const char *mode) {
    static char path[600];
    const char *build = getenv("BUILD");
    snprintf(path, sizeof path, "%s/hostile/%s", build ? build : "build", mode);
    return path;
}

#endif
