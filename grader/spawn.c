#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox_filter.h"

const struct limits limits_default = {
    .call_seconds = 10,
    .cpu_seconds = 3600,
    .resident_bytes = (size_t)4 << 30,
    .output_bytes = (size_t)16 << 20,
};

enum { FILE_BYTES = 64 << 20, MAX_ENVIRONMENT = 32 };

double child_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

const char *child_status_name(enum child_status status) {
    switch (status) {
        case CHILD_OK: return "ok";
        case CHILD_CANNOT_START: return "cannot start";
        case CHILD_CRASHED: return "crashed";
        case CHILD_EXITED: return "exited early";
        case CHILD_TIMED_OUT: return "timed out";
        case CHILD_CLOSED: return "closed its connection";
        case CHILD_GARBAGE: return "protocol garbage";
        case CHILD_FORGED: return "forged result";
        case CHILD_MEMORY: return "too much memory";
        case CHILD_FLOODED: return "too much output";
    }
    return "unknown";
}

/* What the child needs to know to become the runner. */
struct launch {
    int executable, socket, output, report;
    const char *const *argv;
    const char *const *environment;
    struct sandbox sandbox;
};

/* What the child says before the exec, over a pipe that the exec closes. */
struct launch_report {
    unsigned layers;
    int error; /* of the exec; only sent when it failed */
};

static void write_all(int descriptor, const void *data, size_t bytes) {
    if (write(descriptor, data, bytes) != (ssize_t)bytes) { _exit(127); }
}

/* In the child, from fork to exec: system calls only. The descriptors are all above 9, so nothing is overwritten. */
static void become_runner(const struct launch *launch) {
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < NSIG; s++) { signal(s, SIG_DFL); }
    int nothing = open("/dev/null", O_RDONLY), oom = open("/proc/self/oom_score_adj", O_WRONLY);
    if (oom >= 0) { write_all(oom, "1000", 4); } /* if memory runs out, this process goes first */
    dup2(nothing, 0);
    dup2(launch->output, 1);
    dup2(launch->output, 2);
    dup2(launch->socket, 3);
    dup2(launch->executable, FILTER_EXEC_DESCRIPTOR);
    struct launch_report report = {sandbox_enter(&launch->sandbox), 0};
    write_all(launch->report, &report, sizeof report);
    execveat(FILTER_EXEC_DESCRIPTOR, "", (char *const *)launch->argv, (char *const *)launch->environment,
             AT_EMPTY_PATH);
    report.error = errno;
    write_all(launch->report, &report, sizeof report);
    _exit(127);
}

/* A cleared environment: what finds the GPU driver and its devices, then what the caller adds. */
static void choose_environment(const char **out, const struct limits *limits) {
    static const char *const kept[] = {
        "LD_LIBRARY_PATH=", "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=", "TZ=", "LANG="};
    extern char **environ;
    int n = 0;
    out[n++] = "PATH=/usr/bin:/bin";
    out[n++] = "CUDA_CACHE_DISABLE=1"; /* the code is compiled for this GPU; the cache's folder could not be written */
    for (char **variable = environ; *variable; variable++) {
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
            if (strncmp(*variable, kept[i], strlen(kept[i])) == 0 && n < MAX_ENVIRONMENT) { out[n++] = *variable; }
        }
    }
    for (const char *const *extra = limits->environment; extra && *extra && n < MAX_ENVIRONMENT; extra++) {
        out[n++] = *extra;
    }
    out[n] = NULL;
}

static enum child_status cannot_start(struct child *child, const char *path, const char *what, int error) {
    child->pid = 0;
    child->status = CHILD_CANNOT_START;
    snprintf(child->message, sizeof child->message, "%s: cannot %s: %s", path, what, strerror(error));
    return child->status;
}

/* Moves a descriptor out of the way of 0 to 4, which the child gives fixed meanings. */
static int move_up(int descriptor) {
    if (descriptor < 0) { return descriptor; }
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
    close(descriptor);
    return moved;
}

static void close_all(int descriptors[], int count) {
    for (int i = 0; i < count; i++) {
        if (descriptors[i] >= 0) { close(descriptors[i]); }
    }
}

enum { EXECUTABLE, OURS, THEIRS, OUTPUT_READ, OUTPUT_WRITE, REPORT_READ, REPORT_WRITE, DESCRIPTORS };

static bool open_descriptors(const char *path, int d[], const char **what) {
    for (int i = 0; i < DESCRIPTORS; i++) { d[i] = -1; }
    *what = "open it";
    if ((d[EXECUTABLE] = open(path, O_PATH | O_CLOEXEC)) < 0) { return false; }
    *what = "open a socket and pipes";
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, d + OURS) != 0) { return false; }
    if (pipe2(d + OUTPUT_READ, O_CLOEXEC) != 0 || pipe2(d + REPORT_READ, O_CLOEXEC) != 0) { return false; }
    for (int i = 0; i < DESCRIPTORS; i++) {
        if ((d[i] = move_up(d[i])) < 0) { return false; }
    }
    int buffer = 4 << 20; /* fewer switches between the two processes; the kernel takes what it allows */
    for (int i = OURS; i <= THEIRS; i++) {
        setsockopt(d[i], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
        setsockopt(d[i], SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    }
    /* Only our side must not block: the child's side is a socket of its own. */
    fcntl(d[OURS], F_SETFL, fcntl(d[OURS], F_GETFL) | O_NONBLOCK);
    fcntl(d[OUTPUT_READ], F_SETFL, fcntl(d[OUTPUT_READ], F_GETFL) | O_NONBLOCK);
    return true;
}

enum child_status child_start(struct child *child, const char *path, const char *const argv[],
                              const struct limits *limits) {
    memset(child, 0, sizeof *child);
    child->limits = limits ? *limits : limits_default;
    child->socket = child->output_pipe = -1;
    const char *only_path[] = {path, NULL}, *environment[MAX_ENVIRONMENT + 1], *what;
    choose_environment(environment, &child->limits);
    int d[DESCRIPTORS];
    if (!open_descriptors(path, d, &what)) {
        int error = errno;
        close_all(d, DESCRIPTORS);
        return cannot_start(child, path, what, error);
    }
    struct launch launch = {d[EXECUTABLE],
                            d[THEIRS],
                            d[OUTPUT_WRITE],
                            d[REPORT_WRITE],
                            argv ? argv : only_path,
                            environment,
                            {.gpu = child->limits.gpu,
                             .cpu_seconds = child->limits.cpu_seconds,
                             .file_bytes = FILE_BYTES,
                             .address_bytes = child->limits.address_bytes}};
    sandbox_prepare(&launch.sandbox, d[EXECUTABLE]);
    pid_t pid = fork();
    if (pid == 0) { become_runner(&launch); }
    int error = errno;
    sandbox_release(&launch.sandbox);
    int theirs[] = {d[EXECUTABLE], d[THEIRS], d[OUTPUT_WRITE], d[REPORT_WRITE]};
    close_all(theirs, 4);
    if (pid < 0) {
        int ours[] = {d[OURS], d[OUTPUT_READ], d[REPORT_READ]};
        close_all(ours, 3);
        return cannot_start(child, path, "start a process", error);
    }
    child->pid = pid;
    child->socket = d[OURS];
    child->output_pipe = d[OUTPUT_READ];

    struct launch_report report = {0, 0}, failed = {0, 0};
    ssize_t got = read(d[REPORT_READ], &report, sizeof report);
    bool exec_failed = read(d[REPORT_READ], &failed, sizeof failed) == (ssize_t)sizeof failed;
    close(d[REPORT_READ]);
    child->layers = report.layers;
    if (got != (ssize_t)sizeof report || exec_failed) {
        child_kill(child, CHILD_CANNOT_START, "stopped");
        return cannot_start(child, path, "execute it", failed.error ? failed.error : ECHILD);
    }
    /* Without Landlock and without a user of its own the child could open our memory under /proc. */
    if (!(child->layers & (SANDBOX_LANDLOCK | SANDBOX_USER))) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
    return child->status = CHILD_OK;
}
