/* trace.h — what the lanes of a warp did since the last merge, and the calls by which hooks and scheduler say so.
 *
 * Each lane writes its own trace: accesses, fences and backward jumps, each with its pc and call path. When no lane of
 * the warp can run, trace_merge() zips the traces into warp requests (merge.c), which the counters (counters.c) and
 * the race detector (races.c) consume.
 *
 * Who calls what, and when:
 *   trace_launch_begin / _end   once per launch, before the first and after the last block; one OS thread
 *   trace_block_begin / _end    on the block's OS thread, once block->thread[] and block->warp[] are filled in, and
 *                               after the last merge. They set thread->trace, warp->trace and block->races.
 *   trace_access                a checked access of a running lane, BEFORE a store is made (AFTER the checks)
 *   trace_sync_access           the same for atomics and volatile accesses, which can hand data over
 *   trace_enter / trace_leave   __tsan_func_entry(call_pc) / __tsan_func_exit
 *   trace_block                 __sanitizer_cov_trace_pc
 *   trace_fence                 simt_fence
 *   trace_pause                 whenever a lane stops running (blocks, yields, exits), before any other lane runs
 *   trace_merge                 no lane of the warp can run; then wake the lanes that are THREAD_TRACE_FULL and for
 *                               which trace_has_room(). A lane that is THREAD_YIELDED holds nobody up.
 *   trace_collective            a warp instruction other than __syncwarp is resolved for the lanes in `mask`
 *   trace_syncwarp              a __syncwarp is resolved for the lanes in `mask` (also tile.sync())
 *   trace_barrier               a block barrier opens: all warps are merged, every thread waits there or has exited
 *   trace_grid_barrier          a grid barrier opens: all blocks wait there (one OS thread calls, the others stand)
 */
#ifndef SIMT_TRACE_H
#define SIMT_TRACE_H

#include "internal.h"

enum trace_kind {
    TRACE_READ,
    TRACE_WRITE,
    TRACE_ATOMIC,         /* read-modify-write */
    TRACE_VOLATILE_READ,  /* and atomic loads */
    TRACE_VOLATILE_WRITE, /* and atomic stores */
    TRACE_FENCE,          /* below: not an access */
    TRACE_JUMP,
};

enum trace_space {
    TRACE_GLOBAL,
    TRACE_SHARED,
    TRACE_CONSTANT, /* __constant__: neither counted nor watched for races */
};

#if SIMT_CHECKED

/* A trace entry is two words: key = pc (32) | path (24) | meta (8) and address = value hash (16) | address (48).
 * Entry i of all lanes lies in one row, so that lanes in lockstep are read as vectors. Rows are padded against cache
 * set conflicts. */
enum { TRACE_ROWS = 128, TRACE_ROW_BYTES = 2 * 8 * WARP_SIZE + 64 };
struct trace_row {
    uint64_t key[WARP_SIZE];
    uint64_t address[WARP_SIZE];
    char padding[64];
};

#define TRACE_META(kind, size_log2, space) ((unsigned)(kind) << 5 | (unsigned)(space) << 3 | (unsigned)(size_log2))
#define TRACE_ADDRESS_MASK 0xffffffffffffu

struct trace_frame {
    uint64_t path_key;
    uint32_t last_pc;
};

struct sync_note;

struct lane_trace {
    uint64_t *next, *end;       /* where the next key goes; its address lies WARP_SIZE words on */
    uint64_t path_key;          /* path << 8 */
    uint32_t last_pc;           /* of the running frame: block start, access, return from a call, whatever was last */
    uint32_t pending_size;      /* log2 + 1 of a store whose value is not known yet; 0: none */
    uint64_t *pending;          /* its address word */
    uint64_t *first;            /* oldest entry that is not merged */
    struct trace_frame *frame;  /* callers' frames */
    uint32_t depth, frame_room;
    uint32_t clock;             /* counts this lane's own fences and hand-overs as it runs (races.c) */
    uint32_t fence_clock[2];    /* clock at its last fence: block scope, device scope; 0: none */
    uint32_t notes, notes_done, notes_room;
    struct sync_note *note;     /* hand-overs seen since the last merge, in program order */
};

void trace_launch_begin(struct simt_launch *launch, int os_threads);
void trace_launch_end(struct simt_launch *launch);
void trace_block_begin(struct simt_block *block);
void trace_block_end(struct simt_block *block);

void trace_merge(struct simt_warp *warp);
void trace_collective(struct simt_warp *warp, unsigned mask, int kind, int mode);
void trace_syncwarp(struct simt_warp *warp, unsigned mask);
void trace_barrier(struct simt_block *block);
void trace_grid_barrier(struct simt_launch *launch);
void trace_fence(struct simt_thread *thread, uintptr_t pc, int scope);

/* Slow parts of the inline functions. */
void trace_make_room(struct simt_thread *thread); /* blocks the lane until a merge has made room */
void trace_settle(struct lane_trace *trace);
void trace_note_sync(struct simt_thread *thread, unsigned meta, uintptr_t address);
void trace_log_jump(struct simt_thread *thread);
void trace_push(struct lane_trace *trace, uintptr_t call_pc);

static inline bool trace_has_room(const struct simt_thread *thread)
{
    return thread->trace->next < thread->trace->end;
}

/* Do two blocked lanes wait at the same place of the program? */
static inline bool trace_same_place(const struct simt_thread *a, const struct simt_thread *b)
{
    return a->blocked_pc == b->blocked_pc && a->trace->path_key == b->trace->path_key;
}

static inline uint64_t *trace_append(struct simt_thread *thread, uintptr_t pc, unsigned meta, uintptr_t address)
{
    struct lane_trace *trace = thread->trace;
    if (__builtin_expect(trace->next == trace->end, 0))
        trace_make_room(thread);
    uint64_t *entry = trace->next;
    entry[0] = (uint64_t)pc << 32 | trace->path_key | meta;
    entry[WARP_SIZE] = address;
    trace->next = entry + TRACE_ROW_BYTES / sizeof *entry;
    return entry;
}

/* Plain accesses of 1, 2, 4, 8 or 16 bytes, aligned, within one allocation. */
static inline void trace_access(struct simt_thread *thread, uintptr_t pc, enum trace_kind kind, unsigned size_log2,
                                enum trace_space space, uintptr_t address)
{
    struct lane_trace *trace = thread->trace;
    if (kind == TRACE_WRITE && trace->pending_size)
        trace_settle(trace);
    uint64_t *entry = trace_append(thread, pc, TRACE_META(kind, size_log2, space), address);
    trace->last_pc = (uint32_t)pc;
    if (kind == TRACE_WRITE) {
        trace->pending = entry + WARP_SIZE;
        trace->pending_size = size_log2 + 1;
    }
}

/* TRACE_ATOMIC, TRACE_VOLATILE_READ and TRACE_VOLATILE_WRITE. */
static inline void trace_sync_access(struct simt_thread *thread, uintptr_t pc, enum trace_kind kind,
                                     unsigned size_log2, enum trace_space space, uintptr_t address)
{
    struct lane_trace *trace = thread->trace;
    if (trace->pending_size)
        trace_settle(trace);
    trace_append(thread, pc, TRACE_META(kind, size_log2, space), address);
    trace->last_pc = (uint32_t)pc;
    if (space != TRACE_CONSTANT)
        trace_note_sync(thread, TRACE_META(kind, size_log2, space), address);
}

static inline void trace_enter(struct simt_thread *thread, uintptr_t call_pc)
{
    trace_push(thread->trace, call_pc);
}

static inline void trace_leave(struct simt_thread *thread)
{
    struct lane_trace *trace = thread->trace;
    if (trace->depth == 0)
        return;
    struct trace_frame *frame = &trace->frame[--trace->depth];
    trace->path_key = frame->path_key;
    trace->last_pc = frame->last_pc;
}

static inline void trace_block(struct simt_thread *thread, uintptr_t pc)
{
    struct lane_trace *trace = thread->trace;
    if ((uint32_t)pc < trace->last_pc)
        trace_log_jump(thread);
    trace->last_pc = (uint32_t)pc;
}

static inline void trace_pause(struct simt_thread *thread)
{
    if (thread->trace->pending_size)
        trace_settle(thread->trace);
}

/* The running lane calls a collective or a barrier at `pc`. */
static inline void trace_at(struct simt_thread *thread, uintptr_t pc)
{
    thread->trace->last_pc = (uint32_t)pc;
}

#else /* the fast build: nothing is traced */

static inline void trace_launch_begin(struct simt_launch *launch, int os_threads) { (void)launch, (void)os_threads; }
static inline void trace_launch_end(struct simt_launch *launch) { (void)launch; }
static inline void trace_block_begin(struct simt_block *block) { (void)block; }
static inline void trace_block_end(struct simt_block *block) { (void)block; }
static inline void trace_merge(struct simt_warp *warp) { (void)warp; }
static inline void trace_collective(struct simt_warp *warp, unsigned mask, int kind, int mode)
{
    (void)warp, (void)mask, (void)kind, (void)mode;
}
static inline void trace_syncwarp(struct simt_warp *warp, unsigned mask) { (void)warp, (void)mask; }
static inline void trace_barrier(struct simt_block *block) { (void)block; }
static inline void trace_grid_barrier(struct simt_launch *launch) { (void)launch; }
static inline void trace_fence(struct simt_thread *thread, uintptr_t pc, int scope)
{
    (void)thread, (void)pc, (void)scope;
}
static inline void trace_pause(struct simt_thread *thread) { (void)thread; }
static inline void trace_at(struct simt_thread *thread, uintptr_t pc) { (void)thread, (void)pc; }
static inline bool trace_has_room(const struct simt_thread *thread) { (void)thread; return true; }
static inline bool trace_same_place(const struct simt_thread *a, const struct simt_thread *b)
{
    return a->blocked_pc == b->blocked_pc;
}

#endif
#endif
