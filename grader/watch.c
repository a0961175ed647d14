#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { SETTLE_MS = 80 }; /* an editor writes, renames and sets attributes within this time */

bool watch_open(struct watch *watch, const char *folder) {
    watch->error[0] = '\0';
    watch->descriptor = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    /* Closed after writing: saved in place. Moved here: saved as a new file and renamed over the old one. */
    if (watch->descriptor >= 0 &&
        inotify_add_watch(watch->descriptor, folder, IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR) >= 0) {
        return true;
    }
    snprintf(watch->error, sizeof watch->error, "cannot watch %s: %s", folder, strerror(errno));
    watch_close(watch);
    return false;
}

/* Editors also write backup, swap and probe files: only sources count. */
static bool is_source(const char *name) {
    static const char *const endings[] = {".cu", ".cuh", ".h", ".c"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && name[0] != '.' && i < sizeof endings / sizeof *endings; i++) {
        if (strcmp(dot, endings[i]) == 0) { return true; }
    }
    return false;
}

/* Reads all pending events. True if one concerns a source; `name` is the last such file. */
static bool take_events(struct watch *watch, char *name, size_t name_size) {
    char data[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool found = false;
    ssize_t n;
    while ((n = read(watch->descriptor, data, sizeof data)) > 0) {
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *event = (const struct inotify_event *)(data + at);
            if (event->len > 0 && is_source(event->name)) {
                snprintf(name, name_size, "%s", event->name);
                found = true;
            }
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    return found;
}

int watch_wait(struct watch *watch, int timeout_ms, char *name, size_t name_size) {
    struct pollfd wait = {watch->descriptor, POLLIN, 0};
    bool found = false;
    for (;;) {
        /* After a save, wait only until no further event comes. */
        int ready = poll(&wait, 1, found ? SETTLE_MS : timeout_ms);
        if (ready < 0 && errno != EINTR) {
            snprintf(watch->error, sizeof watch->error, "cannot wait for a change: %s", strerror(errno));
            return -1;
        }
        if (ready < 0) { return 0; } /* a signal: return to the caller */
        if (ready == 0) { return found; }
        found |= take_events(watch, name, name_size);
    }
}

void watch_close(struct watch *watch) {
    if (watch->descriptor >= 0) { close(watch->descriptor); }
    watch->descriptor = -1;
}
