/* sandbox.h — layers of isolation around a runner process: each is used where the machine has it, and reported.
 *
 * sandbox_prepare() runs in the parent and opens descriptors; sandbox_enter() runs in the child between fork and
 * exec, allocates nothing, and returns the layers that are active. A missing layer is not an error: the report
 * names the active ones.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum sandbox_layer {
    SANDBOX_SESSION = 1 << 0,     /* own session and process group: one SIGKILL reaches every descendant */
    SANDBOX_RLIMITS = 1 << 1,     /* CPU time, file size, no core files, address space on the CPU backend */
    SANDBOX_DESCRIPTORS = 1 << 2, /* only stdin (/dev/null), stdout, stderr and the job socket are open */
    SANDBOX_USER = 1 << 3,        /* an unprivileged user of its own, when the grader runs as root */
    SANDBOX_LANDLOCK = 1 << 4,    /* the file system cannot be written */
    SANDBOX_SECCOMP = 1 << 5,     /* no network, no new processes, no signals or ptrace to others */
    SANDBOX_ALL = (1 << 6) - 1,
};

enum { SANDBOX_EXEC_DESCRIPTOR = 5 }; /* the program is started from this descriptor, the only exec allowed */

struct sandbox {
    bool same_user;       /* the child keeps the grader's user */
    bool gpu;             /* the child opens /dev/nvidia* and reserves much address space */
    int cpu_seconds;      /* RLIMIT_CPU for the child's whole life; 0: none */
    size_t file_bytes;    /* RLIMIT_FSIZE */
    size_t address_bytes; /* RLIMIT_AS; 0: none (always so with gpu) */
    /* filled by sandbox_prepare */
    int ruleset; /* Landlock rule set, or -1 */
    uid_t user;  /* 0: unchanged */
};

/* `executable`: an open descriptor of the program; its mode decides whether another user can run it. */
void sandbox_prepare(struct sandbox *sandbox, int executable);
void sandbox_release(struct sandbox *sandbox);

/* In the child. Bits of enum sandbox_layer; the caller has already called setsid and placed the descriptors. */
unsigned sandbox_enter(const struct sandbox *sandbox);

/* For a compiler of untrusted text, in a process group of its own: it reads and executes only below `reads`, writes only below
 * `writes`, and has no network; processor time, memory and the size of files are limited. Returns the active layers. */
unsigned sandbox_enter_compiler(const char *const reads[], const char *const writes[], int cpu_seconds,
                                size_t address_bytes, size_t file_bytes);

/* "own session, rlimits, closed descriptors, own user, Landlock, seccomp" into text; returns text. */
const char *sandbox_describe(unsigned layers, char *text, size_t size);

#endif
