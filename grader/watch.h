/* watch.h — wait until a lab file is saved (inotify), whether the editor writes in place or renames a new file over
 * the old one. Several events within a moment count as one save.
 */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct watch {
    int descriptor; /* -1: closed */
    char error[256];
};

/* Watches one folder's .cu, .cuh, .h, .c files. False: error says why. */
bool watch_open(struct watch *watch, const char *folder);

/* Waits for the next save, at most timeout_ms (-1: for ever). 1: `name` holds the file's name; 0: timeout; -1: error. */
int watch_wait(struct watch *watch, int timeout_ms, char *name, size_t name_size);

void watch_close(struct watch *watch);

#endif
