/* internal.h — the backend's own structures: a launch runs blocks, a block has warps, a warp has threads.
 *
 * The lanes of a warp run one after another, each until it exits or blocks: at a collective, at a barrier, or with a full
 * trace (scheduler.c). When no lane can run, trace_merge() merges the lanes' traces into warp requests, which the
 * counters and the race detector consume (../checks). Then the complete collectives are resolved.
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

#ifndef SIMT_CHECKED
#define SIMT_CHECKED 1
#endif

enum { WARP_SIZE = 32, MAX_THREADS_PER_BLOCK = 1024, MAX_WARPS_PER_BLOCK = 32 };

struct dim {
    unsigned x, y, z;
};

/* The cudaError_t values that the engine itself raises. */
enum {
    SIMT_ERROR_INVALID_VALUE = 1,
    SIMT_ERROR_INVALID_CONFIGURATION = 9,
    SIMT_ERROR_ILLEGAL_ADDRESS = 700,
    SIMT_ERROR_LAUNCH_TIMEOUT = 702,
    SIMT_ERROR_ASSERT = 710,
    SIMT_ERROR_STACK = 714,
    SIMT_ERROR_MISALIGNED = 716,
    SIMT_ERROR_LAUNCH_FAILURE = 719,
    SIMT_ERROR_COOPERATIVE_TOO_LARGE = 720,
};

enum thread_state {
    THREAD_READY,      /* can run */
    THREAD_COLLECTIVE, /* waits at a warp collective (shuffle, vote, syncwarp, ...) */
    THREAD_BARRIER,    /* waits at a block barrier */
    THREAD_GRID,       /* waits at a grid barrier */
    THREAD_TRACE_FULL, /* its trace is full; it continues after a merge */
    THREAD_YIELDED,    /* spinning: lets other warps and blocks run */
    THREAD_EXITED,
    THREAD_STATES
};

struct simt_block;
struct simt_launch;
struct lane_trace;  /* trace.h: the accesses of one lane since the last merge */
struct warp_trace;  /* trace.h: merge state of one warp */
struct block_races; /* races.h: the race detector's state of one block */

struct simt_warp;
struct worker;
struct launch_order;

/* The members that a switch accesses lie in the first 64 bytes. 128 bytes in all: a shift finds the thread of a lane. */
struct simt_thread {
    void *stack_pointer; /* saved at a switch */
    uintptr_t stack_low; /* 0 while the thread has no stack: before its start and after its end */
    struct lane_trace *trace;
    struct simt_warp *warp;
    struct simt_block *block;
    struct dim index; /* threadIdx */
    uint16_t linear;  /* in the block: x + y * dim.x + z * dim.x * dim.y */
    uint8_t lane;
    uintptr_t blocked_pc; /* return address of the collective or barrier call in the learner's code */

    uintptr_t stack_high;
    int predicate;
    unsigned polls;   /* how often consecutively it polled */
    uintptr_t polled; /* the last address that it polled, where, and the value there */
    uintptr_t polled_pc;
    uint64_t polled_value;
    uint64_t state, state_changes; /* polling.c: a remembered state, and the changes of memory until then */
    uint16_t ticks, clock_reads;   /* how often it was preempted, and read the clock */
    bool spins;                    /* it polls until another thread changes memory, or has polled for long */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct simt_thread) == 128, "two cache lines");

/* A collective call of one lane. Lanes meet when both words are equal (collective.c has the exceptions). */
struct lane_call {
    uint32_t what; /* LANE_CALL(kind, mode, width, source) */
    uint32_t mask;
};
#define LANE_CALL(kind, mode, width, source) \
    ((uint32_t)(kind) | (uint32_t)(mode) << 4 | (uint32_t)(width) << 8 | (uint32_t)((source)&31) << 16)

struct simt_warp {
    struct simt_block *block;
    unsigned index, lanes;            /* in the block; lanes that exist */
    bool shuffled;                    /* as the launch: the last lane runs first */
    unsigned exited;                  /* mask */
    unsigned in_state[THREAD_STATES]; /* masks; the running lane is in none */
    unsigned polls, waits;            /* masks: blocked because it polls; waits for another thread (polling.c) */
    bool passes;                      /* a lane waits for the clock, or has had its share: other warps run next */
    uintptr_t ticket;                 /* the counter of the last ticket (atomic.c), */
    unsigned had_ticket;              /* and the lanes that have taken one */
    struct simt_thread *thread;       /* thread[lane] */
    struct warp_trace *trace;
    struct lane_call call[WARP_SIZE] __attribute__((aligned(16))); /* of the lanes in THREAD_COLLECTIVE */
    uint64_t value[WARP_SIZE];                                     /* operands, then results */
} __attribute__((aligned(64)));

struct simt_block {
    struct simt_launch *launch;
    struct dim index; /* blockIdx */
    uint64_t linear;
    uint64_t rank; /* its place in the order of the launch; = linear unless the order is shuffled */
    unsigned threads, warps;
    struct simt_thread *thread;
    struct simt_warp *warp;
    char *shared;       /* the block's shared arena; dynamic part, then static variables, red zones between */
    size_t shared_size; /* of the slot */
    size_t shared_used; /* laid out so far */
    uint64_t serial;    /* unique over all launches */
    struct simt_counters counters; /* added to the launch's when the block ends */
    struct block_races *races;

    /* scheduler.c and workers.c */
    struct simt_thread *suspended;      /* interrupted thread; it continues first */
    struct simt_block *previous, *next; /* live blocks of the launch, by rank */
    struct worker *worker;
    int status; /* enum block_status */
    bool ordered, prepared;
    bool parked;     /* waits at the grid barrier: the turn skips it */
    bool diverged;   /* its threads have met at different barriers */
    unsigned cursor; /* warp that runs */
    unsigned exited, at_barrier, at_grid;
    int barrier_count, barrier_and; /* of the predicates at the last barrier */
    bool shares;                    /* a warp has had its share of a queue: other blocks run next */
    unsigned rounds;                /* of its warps, since a block of the launch has shared */
    bool progressed;                /* since it was last suspended: did more than poll */
    unsigned threads_room;
    uint64_t launch_serial;      /* launch for which thread[] and warp[] are laid out */
    unsigned shared_ready;       /* static variables that are laid out in this block */
    uint64_t steps;              /* since a thread of it ended; for the watchdog */
    struct block_copies *copies; /* asynchronous copies that have not completed (checks/async_copy.c); or NULL */
    /* Counts whatever may change what a waiting thread reads: stores, atomics with an effect, threads that continue. */
    uint64_t effects, effects_settled;
};

struct simt_launch {
    const char *kernel; /* pretty name */
    struct dim grid, block;
    uint64_t blocks;  /* that run: grid.x * grid.y * grid.z, less those that settings.most_blocks skips */
    uint64_t skipped; /* in the middle, or between those that run, which are spread */
    size_t dynamic_shared;
    bool cooperative;
    bool shuffled, spread;
    uint64_t serial; /* counts from 1 */
    uint64_t first_block_serial;
    void (*entry)(const void *closure);
    const void *closure;
    struct simt_counters counters;
    int error; /* cudaError_t, of the failed block with the lowest rank */
    bool error_sticky;
    struct launch_order *order; /* scheduler.h */
};

static inline bool lane_is(const struct simt_thread *thread, enum thread_state state) {
    return thread->warp->in_state[state] >> thread->lane & 1;
}

/* The thread that runs on this OS thread; NULL on the host side. */
extern __thread struct simt_thread *simt_self;

/* The built-in variables of the running thread, set at every switch. The headers declare them as const uint3 / dim3. */
extern __thread struct dim threadIdx, blockIdx, blockDim, gridDim;

/* The settings of simt.h as the backend reads them (settings.c). */
extern struct simt_settings simt_settings;

/* ---- the boundary between headers (include/simt) and the runtime; pc = the caller's return address ---- */

/* A launch, as the translated kernel stub makes it. `entry(closure)` runs the kernel body for one thread. */
void simt_launch_kernel(const char *kernel, void (*entry)(const void *), const void *closure);
/* k<<<grid, block, shared, stream>>> stores its configuration; the stub consumes it. pc: of the launch. */
void simt_configure(struct dim grid, struct dim block, size_t shared, void *stream, uintptr_t pc);
/* As simt_configure, for cudaLaunchCooperativeKernel: the kernel may call grid.sync(). */
void simt_configure_cooperative(struct dim grid, struct dim block, size_t shared, void *stream, uintptr_t pc);
bool simt_on_device(void);

/* A kernel is identified by its entry. */
/* cudaFuncAttributeMaxDynamicSharedMemorySize: bytes of dynamic memory, which with the static variables may be
 * simt_shared_optin(). Returns a cudaError_t. */
int simt_allow_shared(void (*entry)(const void *), size_t bytes);
/* Bytes of dynamic memory that a launch may have. Unless opted in: with the static variables, 48 KB. */
size_t simt_shared_allowed(void (*entry)(const void *));
size_t simt_shared_static(void (*entry)(const void *)); /* bytes of static variables in the launches so far */
size_t simt_shared_optin(void);                         /* maximum that this compute capability can opt in to */

/* Static and dynamic shared memory of the running block. `site` is the address of a static object of that declaration. */
void *simt_shared_variable(const void *site, const char *name, size_t size, size_t align);
void *simt_dynamic_shared(void);

/* Barriers and collectives. Values are passed in the low bytes of a uint64_t. */
int simt_barrier(int mode, int predicate);                        /* mode: SIMT_BARRIER_*; returns and/or/count */
uint64_t simt_meet(uint32_t call, uint32_t mask, uint64_t value); /* call: LANE_CALL(...) */
unsigned simt_activemask(void);
/* An instruction of a whole warp that exchanges more than a word per lane (matrix.c). `compute` runs once, when all 32
 * lanes have arrived, with the operands of each. Instructions with the same name meet. */
struct simt_together {
    const char *name;
    void (*compute)(struct simt_together *const *lanes);
};
void simt_together(struct simt_together *operands, uintptr_t pc);
void simt_grid_barrier(void);
void simt_fence(int scope); /* 0 block, 1 device, 2 system */
void simt_yield(void);      /* __nanosleep */
/* The running thread ends, as asm("exit;") or a return from the kernel does. */
void simt_exit(void) __attribute__((noreturn));

enum { SIMT_BARRIER_PLAIN, SIMT_BARRIER_AND, SIMT_BARRIER_OR, SIMT_BARRIER_COUNT };
enum collective_kind {
    COLLECTIVE_SHUFFLE,
    COLLECTIVE_VOTE,
    COLLECTIVE_MATCH,
    COLLECTIVE_REDUCE,
    COLLECTIVE_SYNCWARP,
    COLLECTIVE_ACTIVEMASK,
    COLLECTIVE_TOGETHER,
};
enum { SHUFFLE_INDEX, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR };
enum { VOTE_ANY, VOTE_ALL, VOTE_BALLOT, VOTE_UNI };
enum { MATCH_ANY, MATCH_ALL };
enum { REDUCE_ADD, REDUCE_MIN_S, REDUCE_MAX_S, REDUCE_MIN_U, REDUCE_MAX_U, REDUCE_AND, REDUCE_OR, REDUCE_XOR };

/* Atomic read-modify-write on 2, 4 or 8 bytes in global or shared memory; returns the old value's bits. */
enum simt_atomic_op {
    ATOMIC_ADD,
    ATOMIC_EXCH,
    ATOMIC_CAS,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_INC,
    ATOMIC_DEC,
};
enum simt_type {
    TYPE_I32,
    TYPE_U32,
    TYPE_I64,
    TYPE_U64,
    TYPE_F32,
    TYPE_F64,
    TYPE_F16,
    TYPE_BF16,
    TYPE_F16X2,
    TYPE_BF16X2,
    TYPE_B16,
};
uint64_t simt_atomic(enum simt_atomic_op op, enum simt_type type, void *address, uint64_t operand, uint64_t compare);

/* Inline PTX (api/ptx.c). */
void *simt_shared_at(uint64_t address);
uint64_t simt_nanoseconds(void);         /* %globaltimer */
void simt_whole_block(unsigned threads); /* bar.sync a, threads: fails the launch unless these are all, or 0 */

/* Asynchronous copies to shared memory (checks/async_copy.c): the bytes beyond `from_bytes` become 0. A copy completes when
 * its thread waits; `pending`: how many of the latest groups may be left. */
void simt_async_copy(void *to, const void *from, unsigned bytes, unsigned from_bytes);
/* The same; it completes when its thread arrives at the barrier, and is in no group. */
void simt_async_copy_to_barrier(void *to, const void *from, unsigned bytes, const void *barrier);
void simt_async_commit(void);
void simt_async_wait(unsigned pending);
void simt_async_wait_all(void); /* also copies that are in no group yet */

/* cuda::barrier (split_barrier.c). The phase that arrive returns is passed to wait and test. */
void simt_barrier_init(uint64_t *barrier, unsigned expected);
uint64_t simt_barrier_arrive(uint64_t *barrier, unsigned arrivals, bool drop);
void simt_barrier_wait(uint64_t *barrier, uint64_t phase);
bool simt_barrier_test(uint64_t *barrier, uint64_t phase);
uint64_t simt_barrier_phase(const uint64_t *barrier);

/* memcpy, memset and memmove in kernels: checked and traced as a loop of accesses. */
void *simt_memcpy(void *to, const void *from, size_t bytes);
void *simt_memmove(void *to, const void *from, size_t bytes);
void *simt_memset(void *to, int value, size_t bytes);

/* Device memory (arena.c), used by the runtime API. Pointers from it are device pointers. */
void *arena_alloc(size_t bytes);                           /* 256-byte aligned; NULL when over the device's memory */
bool arena_free(void *pointer);                            /* false: not the start of a live allocation */
bool arena_is_device(const void *pointer);                 /* inside the device arena's address range */
bool arena_range_valid(const void *pointer, size_t bytes); /* lies in one live allocation or device variable */
void arena_mark_written(void *pointer, size_t bytes);      /* by the host: memcpy, memset */
void arena_copy_written(void *to, const void *from,
                        size_t bytes); /* device to device: copies the initialised bits too */
void arena_register_variable(void *pointer, size_t bytes, const char *name); /* __device__ */
void arena_register_constant(void *pointer, size_t bytes, const char *name); /* __constant__ */
size_t arena_used(void);
size_t arena_total(void);

/* One live allocation or device variable. `id` counts up from 0 and is never reused. The ids of __constant__ variables have
 * the highest bit set: constant memory is neither counted nor checked for races. */
#define ARENA_CONSTANT (UINT64_C(1) << 63)
struct arena_allocation {
    uintptr_t start;
    size_t bytes;
    uint64_t id;
    const char *name; /* device variables only */
};
/* The live allocation or variable that contains the address, into *out; false if none does. */
bool arena_find(uintptr_t address, struct arena_allocation *out);

/* Reports the live allocations with ids from `first` on, at the lines that made them (pc of arena_alloc_at). Called by
 * cudaDeviceReset, at the end of the process when SIMT_LEAKS is 1, and at the end of a watch. */
void *arena_alloc_at(size_t bytes, uintptr_t pc);
void arena_report_leaks(uint64_t first);
uint64_t arena_next_id(void);

/* Findings (checks/findings.c). pc 0: no source line. printf-style; the first line of the text is the summary. */
void simt_report(enum simt_finding_kind kind, bool is_error, uintptr_t pc, const struct simt_thread *thread,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The next finding of this OS thread takes the place of the block's one of that kind on the line of `pc`. */
void report_replace(enum simt_finding_kind kind, uintptr_t pc, uint64_t rank);

/* The place of a return address in the learner's code, through inlined header functions. The strings are never freed. */
struct source_place {
    const char *file;     /* "" when unknown */
    const char *function; /* "" when unknown */
    int line;             /* 0 when unknown */
    uint64_t stack;       /* hash of all inlined frames: equal for copies of one call, different for two calls */
    const char *caller;   /* of a function that the kernel calls: the file ... */
    int caller_line;      /* ... and line of the call in the kernel; 0 when unknown */
    bool is_complete;     /* the kernel's body is reached */
};
struct source_place simt_source_place(uintptr_t pc);

/* The running thread ends, and its launch fails with `error` (a cudaError_t). Does not return. */
void simt_fail_launch(int error) __attribute__((noreturn));

/* The running lane blocks in `state` until the scheduler runs it again; `pc` is its place in the learner's code. */
void simt_lane_block(enum thread_state state, uintptr_t pc);

/* Memory that host and device can both access: pinned and managed memory (inside the arena), registered host memory
 * (outside). The slow paths of the hooks call it before they report a wrong pointer. api/host_memory.c */
bool simt_host_and_device(uintptr_t address, size_t bytes);

/* api/confine.c: host code that is not trusted runs. May it access this memory, and may the runtime call this function for it?
 * confine_check does not return if not. simt_indirect_target: an indirect call or jump, from code or from a kernel. */
extern bool simt_confined;
bool confine_allows(const void *pointer, size_t bytes, bool write);
void confine_check(uintptr_t pc, const void *pointer, size_t bytes, bool write);
bool confine_may_call(const void *target);
/* Is it code of the course that is linked around the learner's? confine.c */
bool confine_is_around(uintptr_t pc);
/* Memory that instrumented code of the submission fills for the backend, such as a copy of a kernel's arguments. */
void *confine_allocate(size_t alignment, size_t bytes);
void confine_release(void *memory);
void simt_indirect_target(const void *target, uintptr_t pc);

/* The host has waited for the launches so far. checks/race_host.c */
void simt_host_waits(void);

/* Runtime error state (api): the last error and the sticky one. */
void simt_set_error(int error, bool sticky);

#ifdef __cplusplus
}
#endif
#endif
