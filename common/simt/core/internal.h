/* internal.h — the backend's own structures: a launch runs blocks, a block has warps, a warp has threads.
 *
 * Life of a warp: its lanes run one after another, each until it blocks at a collective, at a block barrier, with a
 * full trace, or exits (scheduler.c). When no lane can run, trace_merge() zips the lanes' traces into warp requests
 * (trace.c), which the counters and the race detector consume; then the collectives that are complete are resolved.
 */
#ifndef SIMT_INTERNAL_H
#define SIMT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simt.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WARP_SIZE = 32, MAX_THREADS_PER_BLOCK = 1024, MAX_WARPS_PER_BLOCK = 32 };

struct dim { unsigned x, y, z; };

enum thread_state {
    THREAD_READY,       /* can run */
    THREAD_COLLECTIVE,  /* waits at a warp collective (shuffle, vote, syncwarp, ...) */
    THREAD_BARRIER,     /* waits at a block barrier */
    THREAD_GRID,        /* waits at a grid barrier */
    THREAD_TRACE_FULL,  /* its trace is full; runs on after a merge */
    THREAD_YIELDED,     /* spinning: lets other warps and blocks run */
    THREAD_EXITED,
};

struct simt_block;
struct simt_launch;
struct lane_trace;      /* trace.h: the accesses of one lane since the last merge */
struct warp_trace;      /* trace.h: merge state of one warp */
struct block_races;     /* races.h: what the race detector knows of one block */

struct simt_warp;

struct simt_thread {
    void *stack_pointer;            /* saved at a switch */
    uintptr_t stack_low, stack_high;
    struct dim index;               /* threadIdx */
    unsigned linear;                /* in the block: x + y * dim.x + z * dim.x * dim.y */
    unsigned lane;
    enum thread_state state;
    uintptr_t blocked_pc;           /* return address of the collective or barrier call in the learner's code */
    struct {
        int kind;                   /* enum collective_kind, collectives.h */
        int mode;
        unsigned mask;
        int width;
        unsigned source;
        uint64_t value, result;
    } collective;
    struct simt_warp *warp;
    struct lane_trace *trace;
};

struct simt_warp {
    struct simt_block *block;
    unsigned index, lanes;          /* in the block; lanes that exist */
    unsigned exited;                /* mask */
    struct simt_thread *thread;     /* thread[lane] */
    struct warp_trace *trace;
};

struct simt_block {
    struct simt_launch *launch;
    struct dim index;               /* blockIdx */
    uint64_t linear;
    unsigned threads, warps;
    struct simt_thread *thread;
    struct simt_warp *warp;
    char *shared;                   /* the block's shared arena; static variables, then the dynamic part, red zones between */
    size_t shared_size;
    uint64_t serial;                /* unique over all launches */
    struct simt_counters counters;  /* added to the launch's when the block ends */
    struct block_races *races;
};

struct simt_launch {
    const char *kernel;             /* pretty name */
    struct dim grid, block;
    size_t dynamic_shared;
    bool cooperative;
    uint64_t serial;
    void (*entry)(const void *closure);
    const void *closure;
    struct simt_counters counters;
    int error;                      /* cudaError_t, first error */
};

/* The thread that runs on this OS thread; NULL on the host side. */
extern __thread struct simt_thread *simt_self;

/* ---- the boundary between headers (include/simt) and the runtime; pc = the caller's return address ---- */

/* A launch, as the translated kernel stub makes it. `entry(closure)` runs the kernel body for one thread. */
void simt_launch_kernel(const char *kernel, void (*entry)(const void *), const void *closure);
/* k<<<grid, block, shared, stream>>> leaves its configuration here; the stub takes it. */
void simt_configure(struct dim grid, struct dim block, size_t shared, void *stream);
bool simt_on_device(void);

/* Static and dynamic shared memory of the running block. `site` is the address of a static object of that declaration. */
void *simt_shared_variable(const void *site, const char *name, size_t size, size_t align);
void *simt_dynamic_shared(void);

/* Barriers and collectives. Values are passed in the low bytes of a uint64_t. */
int simt_barrier(int mode, int predicate);        /* mode: SIMT_BARRIER_*; returns and/or/count */
uint64_t simt_collective(int kind, int mode, unsigned mask, uint64_t value, unsigned source, int width);
unsigned simt_activemask(void);
void simt_grid_barrier(void);
void simt_fence(int scope);                       /* 0 block, 1 device, 2 system */
void simt_yield(void);                            /* __nanosleep */

enum { SIMT_BARRIER_PLAIN, SIMT_BARRIER_AND, SIMT_BARRIER_OR, SIMT_BARRIER_COUNT };
enum collective_kind {
    COLLECTIVE_SHUFFLE, COLLECTIVE_VOTE, COLLECTIVE_MATCH, COLLECTIVE_REDUCE, COLLECTIVE_SYNCWARP,
};
enum { SHUFFLE_INDEX, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR };
enum { VOTE_ANY, VOTE_ALL, VOTE_BALLOT, VOTE_UNI };
enum { MATCH_ANY, MATCH_ALL };
enum { REDUCE_ADD, REDUCE_MIN_S, REDUCE_MAX_S, REDUCE_MIN_U, REDUCE_MAX_U, REDUCE_AND, REDUCE_OR, REDUCE_XOR };

/* Atomic read-modify-write on 2, 4 or 8 bytes in global or shared memory; returns the old value's bits. */
enum simt_atomic_op {
    ATOMIC_ADD, ATOMIC_EXCH, ATOMIC_CAS, ATOMIC_MIN, ATOMIC_MAX, ATOMIC_AND, ATOMIC_OR, ATOMIC_XOR, ATOMIC_INC, ATOMIC_DEC,
};
enum simt_type { TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64, TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16, TYPE_F16X2, TYPE_BF16X2, TYPE_B16, };
uint64_t simt_atomic(enum simt_atomic_op op, enum simt_type type, void *address, uint64_t operand, uint64_t compare);

/* Device memory (arena.c), used by the runtime API. Pointers from it are device pointers. */
void *arena_alloc(size_t bytes);                  /* 256-byte aligned; NULL when over the configured device memory */
bool arena_free(void *pointer);                   /* false: not the start of a live allocation */
bool arena_is_device(const void *pointer);        /* inside the device arena's address range */
bool arena_range_valid(const void *pointer, size_t bytes); /* lies in one live allocation or device variable */
void arena_mark_written(void *pointer, size_t bytes);      /* by the host: memcpy, memset */
void arena_copy_written(void *to, const void *from, size_t bytes); /* device to device: initialised bits travel along */
void arena_register_variable(void *pointer, size_t bytes, const char *name); /* __device__ and __constant__ */
size_t arena_used(void);
size_t arena_total(void);

/* Findings (report.c). pc 0: no source line. printf-style; the text's first line says what happened. */
void simt_report(enum simt_finding_kind kind, bool is_error, uintptr_t pc, const struct simt_thread *thread, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The running thread gives up for good and its launch fails with `error` (a cudaError_t). Does not return. */
void simt_fail_launch(int error) __attribute__((noreturn));

/* Runtime error state (api): the last error and the sticky one. */
void simt_set_error(int error, bool sticky);

#ifdef __cplusplus
}
#endif
#endif
