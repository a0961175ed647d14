/* skeleton.h — the text of a skeleton from the text of a solution. The markers: skeleton.c. */
#ifndef SKELETON_H
#define SKELETON_H

#include <stdbool.h>

struct skeleton_error {
    int line;       /* 1 is the first */
    char text[256]; /* what is wrong and what to do */
};

/* The skeleton, to be freed by the caller; NULL and *error for a malformed marker. */
char *skeleton_make(const char *solution, struct skeleton_error *error);

#endif
