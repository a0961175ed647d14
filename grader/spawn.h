/* spawn.h — start an untrusted program in the sandbox, exchange data with it over one socket, and make sure that it ends.
 *
 * The child gets an empty stdin, one pipe for stdout and stderr (the first SPAWN_OUTPUT_BYTES are kept for the report, the
 * rest is read and dropped), and a stream socket as descriptor 3. Every wait has a deadline. Nothing here exits or
 * prints: a failure is an enum child_status and a sentence in child.message.
 */
#ifndef SPAWN_H
#define SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/simt/simt.h"
#include "sandbox.h"

enum { SPAWN_OUTPUT_BYTES = 8192 };

enum child_status {
    CHILD_OK,
    CHILD_CANNOT_START, /* no such file, not executable, no descriptors left: a fault of the grader */
    CHILD_CRASHED,      /* killed by a signal that it caused */
    CHILD_EXITED,       /* ended before it answered */
    CHILD_TIMED_OUT,    /* no answer in time; killed */
    CHILD_CLOSED,       /* closed the socket but did not end; killed */
    CHILD_GARBAGE,      /* answered with something that is not a result; killed */
    CHILD_FORGED,       /* answered without the job's nonce; killed */
    CHILD_MEMORY,       /* took more memory than allowed; killed */
    CHILD_FLOODED,      /* printed more than allowed; killed */
    CHILD_TOO_SLOW,     /* no answer in six times the time, while blocks of a kernel were ending; killed */
};

struct limits {
    double call_seconds;   /* of one job, with the start of the process; up to six times as long while others have the
                            * processor, or blocks of a kernel go on ending */
    int cpu_seconds;       /* CPU time of the process's whole life; 0: none */
    size_t resident_bytes; /* resident memory of the process group, checked while waiting; 0: no limit */
    size_t address_bytes;  /* RLIMIT_AS; 0: none; ignored with gpu */
    size_t output_bytes;   /* stdout and stderr together */
    bool gpu;
    bool same_user;                 /* no user of its own: another one could not read what the program needs */
    const char *const *environment; /* "NAME=value" strings added to the cleared environment, NULL-ended; or NULL */
    void (*waiting)(void);          /* called again and again during a wait for the child; or NULL */
};

/* 10 s a call, 1 h CPU, 4 GiB resident, 16 MiB output. */
extern const struct limits limits_default;

struct child {
    pid_t pid; /* 0: none runs */
    int socket, output_pipe;
    const struct simt_progress *progress; /* shared with the child, which writes it; or NULL */
    unsigned layers;                      /* enum sandbox_layer bits that hold */
    struct limits limits;
    enum child_status status;
    char message[512];                   /* if status is not CHILD_OK: what happened, and the usual cause */
    char output[SPAWN_OUTPUT_BYTES + 1]; /* what it printed, NUL-ended, other NULs shown as '?' */
    size_t output_length;                /* kept in output */
    size_t output_total;                 /* printed in all */
    size_t output_reported;              /* for the caller: how much of output it has shown */
};

/* Starts `path` with the arguments (argv[0] included, NULL-ended; NULL: the path alone). */
enum child_status child_start(struct child *child, const char *path, const char *const argv[],
                              const struct limits *limits);

/* Sends or receives exactly `bytes` before `deadline` (a child_now() value), or, if the child waits for a processor, before
 * it has had call_seconds of processor time, or while blocks of its kernel go on ending; at most six times call_seconds in
 * all. The child's output is drained meanwhile.
 * On failure the child is dead and reaped, and status and message are set. */
enum child_status child_send(struct child *child, const void *data, size_t bytes, double deadline);
enum child_status child_receive(struct child *child, void *data, size_t bytes, double deadline);

/* Gives the child until `deadline` to end by itself, after its socket was closed; then kills it. */
void child_finish(struct child *child, double deadline);

/* Kills the whole group, reaps the child and sets its status and message (printf-style). Safe when none runs. */
enum child_status child_kill(struct child *child, enum child_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Seconds on the monotonic clock. */
double child_now(void);

/* "crashed", "timed out", ... */
const char *child_status_name(enum child_status status);

#endif
