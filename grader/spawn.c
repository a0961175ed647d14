#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/runner/protocol.h"

/* ---- starting ---- */

const struct limits limits_default = {
    .call_seconds = 10,
    .cpu_seconds = 3600,
    .resident_bytes = (size_t)4 << 30,
    .output_bytes = (size_t)16 << 20,
};

enum { FILE_BYTES = 64 << 20, MAX_ENVIRONMENT = 32, PROGRESS_BYTES = 4096 };

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
        case CHILD_TOO_SLOW: return "too slow";
    }
    return "unknown";
}

/* Parameters of the child between fork and exec. */
struct launch {
    int executable, socket, output, report, progress;
    const char *const *argv;
    const char *const *environment;
    struct sandbox sandbox;
};

/* The child's report before the exec, over a pipe that the exec closes. */
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
    if (oom >= 0) { write_all(oom, "1000", 4); } /* the kernel kills this process first when memory runs out */
    dup2(nothing, 0);
    dup2(launch->output, 1);
    dup2(launch->output, 2);
    dup2(launch->socket, PROTOCOL_FD);
    dup2(launch->progress, PROGRESS_FD);
    dup2(launch->executable, SANDBOX_EXEC_DESCRIPTOR);
    struct launch_report report = {sandbox_enter(&launch->sandbox), 0};
    write_all(launch->report, &report, sizeof report);
    execveat(SANDBOX_EXEC_DESCRIPTOR, "", (char *const *)launch->argv, (char *const *)launch->environment,
             AT_EMPTY_PATH);
    report.error = errno;
    write_all(launch->report, &report, sizeof report);
    _exit(127);
}

/* An empty environment, plus the variables that the GPU driver needs and those of the caller. */
static void choose_environment(const char **out, const struct limits *limits) {
    static const char *const kept[] = {
        "LD_LIBRARY_PATH=", "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=", "TZ=", "LANG="};
    extern char **environ;
    int n = 0;
    out[n++] = "PATH=/usr/bin:/bin";
    out[n++] = "CUDA_CACHE_DISABLE=1"; /* code is compiled for this GPU, and the cache folder is not writable */
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

/* Moves a descriptor out of the way of 0 to 5, which the child gives fixed meanings. */
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

/* Memory that the child shares and cannot resize; -1: none. */
static int make_progress(void) {
    int made = memfd_create("progress", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0) { return -1; }
    if (ftruncate(made, PROGRESS_BYTES) == 0 &&
        fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
        return made;
    }
    close(made);
    return -1;
}

enum { EXECUTABLE, OURS, THEIRS, OUTPUT_READ, OUTPUT_WRITE, REPORT_READ, REPORT_WRITE, PROGRESS, DESCRIPTORS };

static bool open_descriptors(const char *path, int d[], const char **what) {
    for (int i = 0; i < DESCRIPTORS; i++) { d[i] = -1; }
    *what = "open it";
    if ((d[EXECUTABLE] = open(path, O_PATH | O_CLOEXEC)) < 0) { return false; }
    *what = "open a socket and pipes";
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, d + OURS) != 0) { return false; }
    if (pipe2(d + OUTPUT_READ, O_CLOEXEC) != 0 || pipe2(d + REPORT_READ, O_CLOEXEC) != 0) { return false; }
    *what = "make shared memory";
    if ((d[PROGRESS] = make_progress()) < 0) { return false; }
    for (int i = 0; i < DESCRIPTORS; i++) {
        if ((d[i] = move_up(d[i])) < 0) { return false; }
    }
    int buffer = 4 << 20; /* fewer context switches; the kernel limits the size */
    for (int i = OURS; i <= THEIRS; i++) {
        setsockopt(d[i], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
        setsockopt(d[i], SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    }
    /* Only the parent's side is non-blocking; the child's side is a separate socket. */
    fcntl(d[OURS], F_SETFL, fcntl(d[OURS], F_GETFL) | O_NONBLOCK);
    fcntl(d[OUTPUT_READ], F_SETFL, fcntl(d[OUTPUT_READ], F_GETFL) | O_NONBLOCK);
    return true;
}

static void forget_progress(struct child *child) {
    if (child->progress) { munmap((void *)(uintptr_t)child->progress, PROGRESS_BYTES); }
    child->progress = NULL;
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
                            d[PROGRESS],
                            argv ? argv : only_path,
                            environment,
                            {.gpu = child->limits.gpu,
                             .same_user = child->limits.same_user,
                             .cpu_seconds = child->limits.cpu_seconds,
                             .file_bytes = FILE_BYTES,
                             .address_bytes = child->limits.address_bytes}};
    sandbox_prepare(&launch.sandbox, d[EXECUTABLE]);
    pid_t pid = fork();
    if (pid == 0) { become_runner(&launch); }
    int error = errno;
    sandbox_release(&launch.sandbox);
    void *progress = mmap(NULL, PROGRESS_BYTES, PROT_READ, MAP_SHARED, d[PROGRESS], 0);
    child->progress = progress == MAP_FAILED ? NULL : progress;
    int theirs[] = {d[EXECUTABLE], d[THEIRS], d[OUTPUT_WRITE], d[REPORT_WRITE], d[PROGRESS]};
    close_all(theirs, 5);
    if (pid < 0) {
        int ours[] = {d[OURS], d[OUTPUT_READ], d[REPORT_READ]};
        close_all(ours, 3);
        forget_progress(child);
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
    /* Without Landlock and without a separate user, the child could open the parent's memory in /proc. */
    if (!(child->layers & (SANDBOX_LANDLOCK | SANDBOX_USER))) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
    return child->status = CHILD_OK;
}

/* ---- exchanging data: every transfer has a deadline ---- */

static const double watch_seconds = 0.02; /* between two checks of the child's memory */
static const double ending_seconds = 0.5; /* until a child whose socket is closed must have ended */

static void keep_output(struct child *child, const char *data, size_t bytes) {
    child->output_total += bytes;
    for (size_t i = 0; i < bytes && child->output_length < SPAWN_OUTPUT_BYTES; i++) {
        child->output[child->output_length++] = data[i] ? data[i] : '?';
    }
    child->output[child->output_length] = '\0';
}

/* Reads the child's output, at most 1 MiB per call, so that the deadline is checked in between. */
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
    forget_progress(child);
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
        kill(-child->pid, SIGKILL); /* the whole process group */
        kill(child->pid, SIGKILL);  /* in case it has not called setsid yet */
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
        case SIGPIPE: return "it wrote to a closed pipe";
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

/* Waits until the child ends or `deadline` passes. False: it still runs. */
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

/* The socket is closed: did the child end, and why? */
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

static double processor_seconds(pid_t pid) {
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) { return 0; }
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* How long the grader waits for one transfer. */
struct wait {
    double began, deadline, next_watch;
    double used;               /* processor time of the child before it */
    struct simt_progress seen; /* launches of the child before it, and blocks that have ended so far */
    double moved;              /* when the last of these did */
};

static struct simt_progress progress_of(const struct child *child) {
    struct simt_progress now = {0, 0};
    if (!child->progress) { return now; }
    now.launches = __atomic_load_n(&child->progress->launches, __ATOMIC_RELAXED);
    now.blocks = __atomic_load_n(&child->progress->blocks, __ATOMIC_RELAXED);
    return now;
}

/* Blocks of a kernel go on ending: the call is slow, and not known to be endless. An endless launcher launches without end. */
static bool goes_on(const struct child *child, struct wait *wait, double now) {
    enum { MOST_LAUNCHES = 4096 };
    struct simt_progress progress = progress_of(child);
    if (progress.blocks != wait->seen.blocks) {
        wait->seen.blocks = progress.blocks;
        wait->moved = now;
    }
    bool is_recent = wait->moved > wait->began && now - wait->moved < 0.3 * child->limits.call_seconds;
    return is_recent && progress.launches - wait->seen.launches < MOST_LAUNCHES;
}

/* On a machine that is busy with other work a child takes longer. It gets its time as processor time, unless it sleeps. */
static bool starves(const struct child *child, const struct wait *wait, double now) {
    double limit = child->limits.call_seconds, used = processor_seconds(child->pid) - wait->used;
    return used < 0.9 * limit && used > 0.05 * (now - wait->began);
}

static enum child_status stop_slow(struct child *child, double seconds, bool slow) {
    if (slow) {
        return child_kill(child, CHILD_TOO_SLOW,
                          "gave no answer within %.0f s and was stopped, while blocks of its kernel were still ending",
                          seconds);
    }
    return child_kill(
        child, CHILD_TIMED_OUT,
        "gave no answer within %g s and was stopped: is there an endless loop, or a thread that waits forever?",
        child->limits.call_seconds);
}

/* Waits until the socket is ready for `events`; any other status: the child was killed. */
static enum child_status wait_ready(struct child *child, short events, struct wait *wait) {
    enum { LONGEST = 6 };
    double now = child_now();
    bool slow = goes_on(child, wait, now);
    if (now >= wait->deadline) {
        bool may_go_on = slow || starves(child, wait, now);
        if (!may_go_on || now >= wait->deadline + (LONGEST - 1) * child->limits.call_seconds) {
            return stop_slow(child, now - wait->began, slow);
        }
    }
    if (now >= wait->next_watch) {
        wait->next_watch = now + watch_seconds;
        if (child->limits.resident_bytes && resident_bytes(child->pid) > child->limits.resident_bytes) {
            return child_kill(child, CHILD_MEMORY, "used more than %.1f GiB of memory and was stopped",
                              (double)child->limits.resident_bytes / (double)(1 << 30));
        }
    }
    double left = wait->deadline - now, seconds = left > 0 && left < watch_seconds ? left : watch_seconds;
    struct pollfd ready[2] = {{child->socket, events, 0}, {child->output_pipe, POLLIN, 0}};
    if (child->limits.waiting) { child->limits.waiting(); }
    if (poll(ready, 2, (int)(seconds * 1000) + 1) > 0 && ready[1].revents) { drain(child); }
    if (child->limits.output_bytes && child->output_total > child->limits.output_bytes) {
        return child_kill(child, CHILD_FLOODED,
                          "printed more than %.0f MiB and was stopped: is a printf left in a kernel?",
                          (double)child->limits.output_bytes / (1 << 20));
    }
    return CHILD_OK;
}

static enum child_status transfer(struct child *child, char *data, size_t bytes, bool sending, double deadline) {
    if (child->pid <= 0) { return child->status == CHILD_OK ? CHILD_CLOSED : child->status; }
    double now = child_now();
    struct wait wait = {now, deadline, now + watch_seconds, processor_seconds(child->pid), progress_of(child), 0.0};
    for (size_t done = 0; done < bytes;) {
        ssize_t n = sending ? send(child->socket, data + done, bytes - done, MSG_NOSIGNAL)
                            : recv(child->socket, data + done, bytes - done, 0);
        if (n > 0) {
            done += (size_t)n;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && errno == EAGAIN) {
            enum child_status status = wait_ready(child, sending ? POLLOUT : POLLIN, &wait);
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
