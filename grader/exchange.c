/* exchange.c — the waiting half of spawn.h: every byte to and from a child has a deadline, its output is drained while we
 * wait, its memory is watched, and when it dies we find out of what.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spawn.h"

static const double watch_seconds = 0.02; /* between two looks at the child's memory */
static const double ending_seconds = 0.5; /* a child whose socket closed has this long to end */

static void keep_output(struct child *child, const char *data, size_t bytes) {
    child->output_total += bytes;
    for (size_t i = 0; i < bytes && child->output_length < SPAWN_OUTPUT_BYTES; i++) {
        child->output[child->output_length++] = data[i] ? data[i] : '?';
    }
    child->output[child->output_length] = '\0';
}

/* Takes what the child has printed, at most 1 MiB in one go so that the deadline is looked at in between. */
static void drain(struct child *child) {
    char data[16384];
    for (int i = 0; i < 64 && child->output_pipe >= 0; i++) {
        ssize_t n = read(child->output_pipe, data, sizeof data);
        if (n < 0) { return; }
        if (n == 0) {
            close(child->output_pipe);
            child->output_pipe = -1;
            return;
        }
        keep_output(child, data, (size_t)n);
    }
}

static void forget(struct child *child) {
    drain(child);
    if (child->socket >= 0) { close(child->socket); }
    if (child->output_pipe >= 0) { close(child->output_pipe); }
    child->socket = child->output_pipe = -1;
    child->pid = 0;
}

static void set_message(struct child *child, enum child_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void set_message(struct child *child, enum child_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(child->message, sizeof child->message, format, arguments);
    va_end(arguments);
    child->status = status;
}

enum child_status child_kill(struct child *child, enum child_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(child->message, sizeof child->message, format, arguments);
    va_end(arguments);
    child->status = status;
    if (child->pid > 0) {
        kill(-child->pid, SIGKILL); /* the group: also what it started */
        kill(child->pid, SIGKILL);  /* if it died before its setsid */
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {}
        forget(child);
    }
    return status;
}

static const char *explain_signal(int number) {
    switch (number) {
        case SIGSEGV:
        case SIGBUS: return "host code used a bad pointer (is a device pointer read on the host?)";
        case SIGABRT: return "an assertion failed or the C library found broken memory";
        case SIGFPE: return "an integer was divided by zero";
        case SIGILL:
            return "the program ran into an illegal instruction (a function that should return a value does not?)";
        case SIGKILL: return "killed from outside, most likely because memory ran out";
        case SIGXFSZ: return "it wrote a file that is too large";
        case SIGSYS: return "it made a system call that is not allowed";
        case SIGPIPE: return "it wrote to a pipe that nobody reads";
        default: return "it did not end by itself";
    }
}

static enum child_status describe_end(struct child *child, int how) {
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU) {
        set_message(child, CHILD_TIMED_OUT, "used more than %d s of processor time and was stopped",
                    child->limits.cpu_seconds);
    } else if (WIFSIGNALED(how)) {
        set_message(child, CHILD_CRASHED, "crashed with signal %d (SIG%s): %s", WTERMSIG(how),
                    sigabbrev_np(WTERMSIG(how)) ? sigabbrev_np(WTERMSIG(how)) : "?", explain_signal(WTERMSIG(how)));
    } else {
        set_message(child, CHILD_EXITED,
                    "ended with exit status %d before it answered: lab code must return to its caller, not call exit()",
                    WEXITSTATUS(how));
    }
    return child->status;
}

/* Waits for the end until `deadline`. False: still running. */
static bool reap(struct child *child, double deadline, int *how) {
    for (;;) {
        pid_t got = waitpid(child->pid, how, WNOHANG);
        if (got == child->pid) {
            kill(-child->pid, SIGKILL); /* descendants, if the sandbox could not forbid them */
            return true;
        }
        if (got < 0 && errno != EINTR) { return false; }
        if (child_now() >= deadline) { return false; }
        drain(child);
        nanosleep(&(struct timespec){0, 500000}, NULL);
    }
}

/* The socket is closed: has the child died, and of what? */
static enum child_status socket_closed(struct child *child) {
    int how;
    if (!reap(child, child_now() + ending_seconds, &how)) {
        return child_kill(child, CHILD_CLOSED,
                          "closed its connection to the grader: descriptor 3 is not the lab code's to close");
    }
    forget(child);
    return describe_end(child, how);
}

static size_t resident_bytes(pid_t pid) {
    char path[64];
    unsigned long total, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) { return 0; }
    if (fscanf(f, "%lu %lu", &total, &resident) != 2) { resident = 0; }
    fclose(f);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Waits until the socket is ready for `events`, or says why it never will be. */
static enum child_status wait_ready(struct child *child, short events, double deadline, double *next_watch) {
    double now = child_now(), limit = child->limits.call_seconds;
    if (now >= deadline) {
        return child_kill(
            child, CHILD_TIMED_OUT,
            "gave no answer within %g s and was stopped: does a loop never end, or a thread wait for ever?", limit);
    }
    if (now >= *next_watch) {
        *next_watch = now + watch_seconds;
        if (child->limits.resident_bytes && resident_bytes(child->pid) > child->limits.resident_bytes) {
            return child_kill(child, CHILD_MEMORY, "used more than %.1f GiB of memory and was stopped",
                              (double)child->limits.resident_bytes / (double)(1 << 30));
        }
    }
    double seconds = deadline - now < watch_seconds ? deadline - now : watch_seconds;
    struct pollfd wait[2] = {{child->socket, events, 0}, {child->output_pipe, POLLIN, 0}};
    if (poll(wait, 2, (int)(seconds * 1000) + 1) > 0 && wait[1].revents) { drain(child); }
    if (child->limits.output_bytes && child->output_total > child->limits.output_bytes) {
        return child_kill(child, CHILD_FLOODED,
                          "printed more than %.0f MiB and was stopped: is a printf left in a kernel?",
                          (double)child->limits.output_bytes / (1 << 20));
    }
    return CHILD_OK;
}

static enum child_status transfer(struct child *child, char *data, size_t bytes, bool sending, double deadline) {
    if (child->pid <= 0) { return child->status == CHILD_OK ? CHILD_CLOSED : child->status; }
    double next_watch = child_now() + watch_seconds;
    for (size_t done = 0; done < bytes;) {
        ssize_t n = sending ? send(child->socket, data + done, bytes - done, MSG_NOSIGNAL)
                            : recv(child->socket, data + done, bytes - done, 0);
        if (n > 0) {
            done += (size_t)n;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && errno == EAGAIN) {
            enum child_status status = wait_ready(child, sending ? POLLOUT : POLLIN, deadline, &next_watch);
            if (status != CHILD_OK) { return status; }
        } else {
            return socket_closed(child);
        }
    }
    return CHILD_OK;
}

enum child_status child_send(struct child *child, const void *data, size_t bytes, double deadline) {
    return transfer(child, (char *)data, bytes, true, deadline);
}

enum child_status child_receive(struct child *child, void *data, size_t bytes, double deadline) {
    return transfer(child, data, bytes, false, deadline);
}

void child_finish(struct child *child, double deadline) {
    if (child->pid <= 0) { return; }
    close(child->socket);
    child->socket = -1;
    int how;
    if (!reap(child, deadline, &how)) {
        child_kill(child, CHILD_OK, "%s", "");
        return;
    }
    forget(child);
}
