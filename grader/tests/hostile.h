/* hostile.h — where the tests find the hostile programs that the build made from hostile/: the ordinary build in
 * TEST_BUILD, never one under sanitizers, which would turn a crash into a report. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdio.h>
#include <stdlib.h>

/* The path of the program under the name of one of its modes; valid until the next call. */
static inline const char *hostile_path(const char *mode) {
    static char path[600];
    snprintf(path, sizeof path, "%s/hostile/%s", TEST_BUILD, mode);
    return path;
}

#endif
