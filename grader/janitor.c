#include "janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paths.h"

/* What is written into the pipe: small enough to arrive as a whole. */
struct care {
    pid_t group;
    char folder[256];
};

static int to_janitor = -1;
static struct care current;

/* The pipe ends when the grader does. */
static void wait_and_tidy(int from_grader) {
    struct care care = {0}, next;
    ssize_t n;
    while ((n = read(from_grader, &next, sizeof next)) != 0) {
        if (n == (ssize_t)sizeof next) { care = next; }
        if (n < 0 && errno != EINTR) { break; }
    }
    if (care.group > 0 && kill(-care.group, SIGTERM) == 0) {
        for (int i = 0; i < 40 && kill(-care.group, 0) == 0; i++) { poll(NULL, 0, 50); }
        kill(-care.group, SIGKILL);
    }
    /* What make started ends soon after it, and may have written meanwhile. */
    for (int i = 0; care.folder[0] && access(care.folder, F_OK) == 0 && i < 40; i++) {
        if (i > 0) { poll(NULL, 0, 50); }
        paths_remove(care.folder);
    }
    _exit(0);
}

void janitor_start(void) {
    int ends[2];
    if (to_janitor >= 0 || pipe2(ends, O_CLOEXEC) != 0) { return; }
    pid_t pid = fork();
    if (pid == 0) {
        if (fork() != 0) { _exit(0); } /* the janitor is then no child of the grader, which waits for its children */
        setsid();
        for (int s = 1; s < NSIG; s++) { signal(s, SIG_IGN); }
        int nothing = open("/dev/null", O_RDWR);
        for (int i = 0; i < 3; i++) { dup2(nothing, i); }
        close(ends[1]);
        wait_and_tidy(ends[0]);
    }
    close(ends[0]);
    to_janitor = ends[1];
    int how;
    while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR) {}
}

static void tell(void) {
    if (to_janitor >= 0 && write(to_janitor, &current, sizeof current) < 0) { to_janitor = -1; }
}

void janitor_group(pid_t group) {
    current.group = group;
    tell();
}

void janitor_folder(const char *folder) {
    snprintf(current.folder, sizeof current.folder, "%s", folder ? folder : "");
    tell();
}
