/* simt.h — the CPU backend's interface beyond CUDA's own API: counters of the launches, findings of the checks, settings.
 *
 * libsimt_checked.a has checks and counters. In libsimt_fast.a every counter is 0, and only faults are findings.
 */
#ifndef SIMT_H
#define SIMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Warp-level traffic of one memory space. A request is one instruction of one warp; a sector is 32 bytes. */
struct simt_traffic {
    uint64_t load_requests, store_requests, atomic_requests;
    uint64_t load_sectors, store_sectors,
        atomic_sectors;                             /* global only: distinct 32-byte sectors, summed over requests */
    uint64_t load_bytes, store_bytes, atomic_bytes; /* bytes that the active lanes requested */
};

struct simt_counters {
    uint64_t launches, blocks, warps, threads;
    struct simt_traffic global, shared;
    uint64_t bank_conflicts;           /* extra shared-memory wavefronts, over all requests */
    uint64_t barriers;                 /* __syncthreads and its forms, per warp that arrives */
    uint64_t warp_syncs;               /* __syncwarp, per warp instruction */
    uint64_t shuffles, votes, reduces; /* per warp instruction (vote: any/all/ballot/match) */
    uint64_t divergent_requests;       /* memory requests made by fewer lanes than the warp has alive */
    uint64_t longest_chain;            /* longest chain: most global memory requests of one warp */
    uint64_t largest_grid_warps;       /* most warps in one launch */
    uint64_t bytes_to_host;            /* by cudaMemcpy and its variants */
    uint64_t bytes_to_device;
    uint64_t bytes_on_device; /* read and written by copies from device to device and by cudaMemset */
};

/* Counters since the start or the last reset. */
void simt_counters_get(struct simt_counters *out);
void simt_counters_reset(void);

/* Traffic of the allocation that contains `pointer`, since it was made or since the last simt_counters_reset. False if no
 * live allocation contains it. */
bool simt_allocation_traffic(const void *pointer, struct simt_traffic *out);

/* Records of the launches, for tools that draw them. A launch reports what it did to each allocation that it accessed. A
 * request is one instruction of one warp that accesses global memory; of requests that repeat in a loop, some may be counted
 * without a record. `launched` is called on the thread that launches, `requested` on the thread that runs the block: set
 * SIMT_THREADS=1 for an order that repeats. The pointers hold during the call. A null function is not called, and NULL ends the
 * records. Without checks there are none. */
struct simt_array {
    const void *start;
    size_t bytes;
    struct simt_traffic traffic;
};
struct simt_launched {
    const char *kernel; /* "softmax_kernel1(float *, const float *, int, int)" */
    unsigned grid[3], block[3];
    bool failed;
    const struct simt_counters *counters;
    const struct simt_array *array;
    size_t arrays;
};
struct simt_requested {
    const char *kernel;
    uint64_t block; /* linear */
    unsigned warp;  /* in the block */
    enum { SIMT_LOAD, SIMT_STORE, SIMT_ATOMIC } kind;
    unsigned bytes;          /* of one lane */
    uint32_t mask;           /* lanes that access memory */
    const uint64_t *address; /* [lane] */
    uintptr_t pc;            /* for simt_source_line */
};
struct simt_recorder {
    void (*launched)(const struct simt_launched *launched, void *data);
    void (*requested)(const struct simt_requested *requested, void *data);
    void *data;
};
void simt_record(const struct simt_recorder *recorder);

/* What the launches have done so far, for a process that watches this one. */
struct simt_progress {
    uint64_t launches; /* that have begun */
    uint64_t blocks;   /* of all launches, that have ended */
};

/* From now on these are counted there, which may be shared memory. */
void simt_progress_set(struct simt_progress *progress);

enum simt_finding_kind {
    SIMT_OUT_OF_BOUNDS,
    SIMT_MISALIGNED,
    SIMT_UNINITIALISED,
    SIMT_HOST_POINTER,
    SIMT_INVALID_POINTER, /* null, or to no memory of this thread */
    SIMT_DEVICE_POINTER,
    SIMT_RACE,
    SIMT_RACE_SAME_VALUE,
    SIMT_BARRIER_DIVERGENT,
    SIMT_BARRIER_EXITED,
    SIMT_DEADLOCK,
    SIMT_ABSENT_LANE,
    SIMT_STACK_OVERFLOW,
    SIMT_LEAK,
    SIMT_ENDLESS,
    SIMT_ASSERT,
    SIMT_LAUNCH,
    SIMT_ARITHMETIC,
    SIMT_STREAM,
    SIMT_WAIT,
    SIMT_FOREIGN, /* code that is confined accessed or called what is not its own */
    SIMT_FINDING_KINDS
};

/* One finding. The text has several lines, each ended by '\n', in the wording of compute-sanitizer. Errors fail a launch or
 * invalidate its result; notes (same-value race, exited barrier) do not. */
struct simt_finding {
    enum simt_finding_kind kind;
    bool is_error;
    const char *kernel; /* "softmax_kernel1(float *, const float *, int, int)" */
    const char *file;   /* the learner's file, or "" */
    int line;           /* or 0 */
    const char *text;
};

/* Findings since the start or the last clear. They stay valid until the next clear. At most one per (line, kind). */
size_t simt_finding_count(void);
const struct simt_finding *simt_finding_at(size_t i);
void simt_findings_clear(void);

/* Settings, also read from the environment at start: SIMT_THREADS (OS threads, default: cores), SIMT_CC (compute
 * capability such as 75 or 90, default 90), SIMT_ORDER (canonical | shuffled), SIMT_WATCHDOG (steps of a block without the
 * end of one of its threads), SIMT_QUIET (1: findings are kept but not printed on stderr). SIMT_LEAKS=1 reports memory
 * that is still allocated at the end of the program; outside a watch cudaDeviceReset always does. SIMT_REPORT=json:FILE writes
 * all findings and the counters of each kernel to a file (docs/simt-cc.md). */
struct simt_settings {
    int os_threads;
    int compute_capability;
    bool shuffled_order;
    uint64_t watchdog;
    bool quiet;
    bool
        small_device; /* 2 multiprocessors, 48 KiB of shared memory for a block: code for small devices runs at small sizes */
    uint64_t most_blocks; /* of a launch that is not cooperative, run only its first and last: so many; 0: all */
    bool spread_blocks;   /* or its first, its last, and others at equal distances between them */
};
void simt_settings_get(struct simt_settings *out);
void simt_settings_set(const struct simt_settings *settings);

/* Checks of host code, such as a launcher that a grader calls.
 *   stream           the cudaStream_t that the host code was given, or NULL. It is an error (SIMT_STREAM) if events and waits
 *                    of the host do not order work on another stream after the work that was given to this one before, and
 *                    before the work that this one is given next; and if memory is used or freed on a stream that is not
 *                    ordered with the one that allocated or used it.
 *   must_free        Device memory that the host code allocates and does not free is an error (SIMT_LEAK).
 *   must_not_wait    A call that waits for the device is an error (SIMT_WAIT), and a copy or memset without a stream is work
 *                    on the default stream. Code that is linked around the learner's may wait.
 *   refuse_launches  Every launch fails with cudaErrorLaunchOutOfResources, as it may on another GPU.
 * In every watch cudaDeviceReset, which frees the caller's memory too, is an error (SIMT_WAIT). */
struct simt_watch {
    const void *stream;
    bool must_free, must_not_wait, refuse_launches;
};
void simt_watch_begin(const struct simt_watch *watch);
void simt_watch_end(void);

/* Runs function(data), host code that is not trusted. Code of simt-cc --learner may access only its own memory meanwhile
 * (api/confine.c). Another access is a finding, and function does not continue: false. */
bool simt_confine(void (*function)(void *data), void *data);

/* The innermost source line outside the backend's headers whose code ends at `pc`, such as a return address. `file` is
 * valid until the next call. False: there is none. */
bool simt_source_line(uintptr_t pc, const char **file, int *line);

/* The address of the function whose code ends at `pc`; 0: it is unknown. */
uintptr_t simt_source_function(uintptr_t pc);

/* True when this is the checked build. */
bool simt_is_checked(void);

#ifdef __cplusplus
}
#endif
#endif
