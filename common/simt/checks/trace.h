/* trace.h — the accesses of the lanes of a warp since the last merge, and the functions by which hooks and scheduler record
 * them.
 *
 * Each lane writes its own trace: accesses, fences and backward jumps, each with its pc and call path. When no lane of
 * the warp can run, trace_merge() merges the traces into warp requests (merge.c), which the counters (counters.c) and
 * the race detector (races.h) consume.
 *
 * Functions and their calls:
 *   trace_launch_begin / _end   once per launch, before the first and after the last block; one OS thread
 *   trace_block_begin / _end    on the block's OS thread, once block->thread[] and block->warp[] are filled in, and
 *                               after the last merge. They set thread->trace, warp->trace and block->races.
 *   trace_access                a checked access of a running lane, BEFORE a store is made (AFTER the checks)
 *   trace_sync_access           the same for atomics and volatile accesses, which can release and acquire
 *   trace_read_late             after a volatile load: other lanes may have run since its trace_sync_access
 *   trace_enter / trace_leave   __tsan_func_entry(call_pc) / __tsan_func_exit
 *   trace_block                 __sanitizer_cov_trace_pc
 *   trace_fence                 simt_fence
 *   trace_pause                 whenever a lane stops running (blocks, yields, exits), before any other lane runs;
 *                               trace_blocks before it where the lane waits in the scheduler's masks
 *   trace_merge                 no lane of the warp can run; afterwards the scheduler wakes the lanes that are
 *                               THREAD_TRACE_FULL and for which trace_has_room(). THREAD_YIELDED lanes do not block it.
 *   trace_flush                 merges all entries of these lanes, regardless of order: of all lanes, when full ones
 *                               wait behind a lane that waits for them, and when the block ends; of the lanes of a
 *                               collective that is to be resolved, when no lane can run that comes before them
 *   trace_collective            a warp instruction other than __syncwarp is resolved for the lanes in `mask`
 *   trace_syncwarp              a __syncwarp is resolved for the lanes in `mask` (also tile.sync())
 *   trace_barrier               a block barrier opens: all warps are merged, every thread waits there or has exited
 *   trace_grid_barrier          a grid barrier opens: all blocks wait there (one OS thread calls, the others are idle)
 */
#ifndef SIMT_TRACE_H
#define SIMT_TRACE_H

#include <string.h>

#include "engine/internal.h"

enum trace_kind {
    TRACE_READ,
    TRACE_WRITE,
    TRACE_ATOMIC,         /* read-modify-write */
    TRACE_VOLATILE_READ,  /* and atomic loads */
    TRACE_VOLATILE_WRITE, /* and atomic stores */
    TRACE_FENCE,          /* below: not an access */
    TRACE_JUMP,           /* the same: backwards, as at the end of a loop */
};

enum trace_space {
    TRACE_GLOBAL,
    TRACE_SHARED,
    TRACE_CONSTANT, /* __constant__: neither counted nor watched for races */
};

#if SIMT_CHECKED

/* A trace entry: key = pc (32) | path (24) | meta (8); the address; for a store a hash of the value, for an atomic whether
 * it acquired. Entry i of all lanes lies in one row, so that lanes in lockstep are read as vectors. */
enum { TRACE_ROWS = 192, TRACE_ROW_BYTES = (8 + 8 + 2) * WARP_SIZE };
struct trace_row {
    uint64_t key[WARP_SIZE] __attribute__((aligned(64)));
    uint64_t address[WARP_SIZE];
    uint16_t value[WARP_SIZE];
};

#define TRACE_META(kind, size_log2, space) ((unsigned)(kind) << 5 | (unsigned)(space) << 3 | (unsigned)(size_log2))

struct trace_frame {
    uint64_t path_key;
    uint32_t last_pc;
};

/* The accesses that a fence ordered: of this lane, of its warp, of its block, up to these clocks (races.h). 0: none. */
struct fence_reach {
    uint32_t lane, warp, block;
};

struct lane_trace {
    uint64_t *next, *end;      /* where the next key goes; its address lies WARP_SIZE words on */
    uint64_t path_key;         /* path << 8 */
    uint32_t last_pc;          /* of the running frame: the latest of block start, access and return from a call */
    uint32_t clock;            /* counts fences and acquires while the lane runs; the warp's clock if that is later */
    uint64_t *pending;         /* the key of a store that has not been executed yet, so its value is unknown; or NULL */
    ptrdiff_t to_value;        /* bytes from an entry's key to its value */
    uint64_t *first;           /* oldest entry that is not merged */
    struct trace_frame *frame; /* callers' frames */
    uint32_t depth, frame_room;
    struct fence_reach fence[2]; /* block scope, device scope */
};

/* Summary of the entries of a warp since the last merge, updated as lanes stop. The warp's trace begins with it. */
struct trace_summary {
    uintptr_t any_end,
        all_end; /* OR and AND of the addresses of the rows behind their last entries: one row if equal */
    uint32_t lanes;
    bool mixed; /* entries are left from the previous merge */
};
static inline void trace_summary_clear(struct trace_summary *summary) {
    *summary = (struct trace_summary){.all_end = UINTPTR_MAX};
}

void trace_launch_begin(struct simt_launch *launch, int os_threads);
void trace_launch_end(struct simt_launch *launch);
void trace_block_begin(struct simt_block *block);
void trace_block_end(struct simt_block *block);

void trace_merge(struct simt_warp *warp);
void trace_flush(struct simt_warp *warp, unsigned lanes);
void trace_collective(struct simt_warp *warp, unsigned mask, int kind, int mode);
void trace_syncwarp(struct simt_warp *warp, unsigned mask);
void trace_barrier(struct simt_block *block);
void trace_grid_barrier(struct simt_launch *launch);
void trace_fence(struct simt_thread *thread, uintptr_t pc, int scope);

/* The trace of the lane that runs on this OS thread; on the host side `no_trace`, which is always full. */
extern __thread struct lane_trace *running_trace;
extern struct lane_trace no_trace;

/* Slow parts of the inline functions. */
extern bool trace_fence_met; /* a fence was executed in this launch: atomics may release from now on */
void trace_make_room(struct simt_thread *thread); /* blocks the lane until a merge has made room */
void trace_settle(struct simt_thread *thread);
void trace_note_sync(struct simt_thread *thread, uint64_t *entry);
void trace_note_release(struct simt_thread *thread, const uint64_t *entry);
void trace_note_late_read(struct simt_thread *thread, uintptr_t pc, uintptr_t address);
void trace_log_jump(uintptr_t pc);
void trace_push(struct lane_trace *trace, uintptr_t call_pc);

/* The thread runs from now on; NULL: the host side. */
static inline void trace_switch(const struct simt_thread *thread) {
    running_trace = thread ? thread->trace : &no_trace;
}

static inline bool trace_has_room(const struct simt_thread *thread) {
    return thread->trace->next < thread->trace->end;
}

/* Has the last merge left entries of these lanes? */
static inline bool trace_holds(const struct simt_warp *warp, unsigned lanes) {
    if (!((const struct trace_summary *)warp->trace)->mixed) return false;
    for (; lanes; lanes &= lanes - 1) {
        const struct lane_trace *trace = warp->thread[__builtin_ctz(lanes)].trace;
        if (trace->first != trace->next) return true;
    }
    return false;
}

/* Do two blocked lanes wait at the same place of the program? */
static inline bool trace_same_place(const struct simt_thread *a, const struct simt_thread *b) {
    return a->blocked_pc == b->blocked_pc && a->trace->path_key == b->trace->path_key;
}

/* Different values mostly have different hashes: small numbers always, others except for one in 65,536. */
static inline uint16_t trace_hash(uint64_t value) {
    return (uint16_t)(value ^ value >> 16 ^ value >> 32 ^ value >> 47);
}

static inline uint64_t stored_value(uintptr_t address, unsigned size_log2) {
    uint64_t word[2];
    switch (size_log2) {
        case 0: return *(const uint8_t *)address;
        case 1: return *(const uint16_t *)address;
        case 2: return *(const uint32_t *)address;
        case 3: return *(const uint64_t *)address;
        default: memcpy(word, (const void *)address, sizeof word); return word[0] ^ word[1] * 0x9e3779b97f4a7c15u;
    }
}

/* The value of the entry whose key is at `entry`. */
static inline uint16_t *trace_value(uint64_t *entry, unsigned lane) {
    return (uint16_t *)(entry - lane + 2 * WARP_SIZE) + lane;
}

/* A jump has no address. */
static inline uint64_t *trace_put_place(struct lane_trace *trace, uintptr_t pc, unsigned meta) {
    uint64_t *entry = trace->next;
    entry[0] = (uint64_t)pc << 32 | trace->path_key | meta;
    trace->next = entry + TRACE_ROW_BYTES / sizeof *entry;
    return entry;
}

static inline uint64_t *trace_put(struct lane_trace *trace, uintptr_t pc, unsigned meta, uintptr_t address) {
    uint64_t *entry = trace_put_place(trace, pc, meta);
    entry[WARP_SIZE] = address;
    return entry;
}

static inline uint64_t *trace_append(struct simt_thread *thread, uintptr_t pc, unsigned meta, uintptr_t address) {
    if (__builtin_expect(thread->trace->next == thread->trace->end, 0)) trace_make_room(thread);
    return trace_put(thread->trace, pc, meta, address);
}

/* Plain accesses of 1, 2, 4, 8 or 16 bytes, aligned, within one allocation. The _fast form does nothing and returns false
 * when a call would be needed: a hook whose only call is its last instruction need not save registers. */
static inline bool trace_access_fast(struct lane_trace *trace, uintptr_t pc, enum trace_kind kind, unsigned size_log2,
                                     enum trace_space space, uintptr_t address) {
    if (__builtin_expect(trace->next == trace->end, 0)) return false;
    if (kind == TRACE_WRITE && trace->pending) {
        /* The previous store has been executed by now. */
        uint64_t *entry = trace->pending;
        if (__builtin_expect((entry[0] & 7) != size_log2, 0)) return false;
        *(uint16_t *)((char *)entry + trace->to_value) = trace_hash(stored_value(entry[WARP_SIZE], size_log2));
    }
    uint64_t *entry = trace_put(trace, pc, TRACE_META(kind, size_log2, space), address);
    trace->last_pc = (uint32_t)pc;
    if (kind == TRACE_WRITE) trace->pending = entry;
    return true;
}

static inline void trace_access(struct simt_thread *thread, uintptr_t pc, enum trace_kind kind, unsigned size_log2,
                                enum trace_space space, uintptr_t address) {
    struct lane_trace *trace = thread->trace;
    if (kind == TRACE_WRITE && trace->pending) trace_settle(thread);
    uint64_t *entry = trace_append(thread, pc, TRACE_META(kind, size_log2, space), address);
    trace->last_pc = (uint32_t)pc;
    if (kind == TRACE_WRITE) trace->pending = entry;
}

/* TRACE_ATOMIC, TRACE_VOLATILE_READ and TRACE_VOLATILE_WRITE. */
static inline void trace_sync_access(struct simt_thread *thread, uintptr_t pc, enum trace_kind kind, unsigned size_log2,
                                     enum trace_space space, uintptr_t address) {
    struct lane_trace *trace = thread->trace;
    if (trace->pending) trace_settle(thread);
    uint64_t *entry = trace_append(thread, pc, TRACE_META(kind, size_log2, space), address);
    trace->last_pc = (uint32_t)pc;
    *trace_value(entry, thread->lane) = 0;
    if (trace_fence_met) trace_note_sync(thread, entry);
}

/* An atomic that releases and does not acquire: an arrival at a cuda::barrier. */
static inline void trace_release(struct simt_thread *thread, uintptr_t pc, unsigned size_log2, enum trace_space space,
                                 uintptr_t address) {
    struct lane_trace *trace = thread->trace;
    if (trace->pending) trace_settle(thread);
    uint64_t *entry = trace_append(thread, pc, TRACE_META(TRACE_ATOMIC, size_log2, space), address);
    trace->last_pc = (uint32_t)pc;
    *trace_value(entry, thread->lane) = 0;
    if (trace_fence_met) trace_note_release(thread, entry);
}

static inline void trace_read_late(struct simt_thread *thread, uintptr_t pc, uintptr_t address) {
    if (trace_fence_met) trace_note_late_read(thread, pc, address);
}

static inline void trace_enter(struct simt_thread *thread, uintptr_t call_pc) {
    trace_push(thread->trace, call_pc);
}

static inline void trace_leave(struct simt_thread *thread) {
    struct lane_trace *trace = thread->trace;
    if (trace->depth == 0) return;
    struct trace_frame *frame = &trace->frame[--trace->depth];
    trace->path_key = frame->path_key;
    trace->last_pc = frame->last_pc;
}

static inline void trace_pause(struct simt_thread *thread) {
    struct lane_trace *trace = thread->trace;
    struct trace_summary *summary = (struct trace_summary *)thread->warp->trace;
    if (trace->pending) trace_settle(thread);
    uintptr_t end = (uintptr_t)(trace->next - thread->lane);
    summary->any_end |= end;
    summary->all_end &= end;
    summary->lanes |= 1u << thread->lane;
}

/* The lane blocks at this place. */
static inline void trace_blocks(struct simt_thread *thread, uintptr_t pc) {
    thread->trace->last_pc = (uint32_t)pc;
}

/* A backward jump is ordered after the last entry of its block, and before everything behind the loop. */
static inline void trace_block(struct lane_trace *trace, uintptr_t pc) {
    uint32_t last = trace->last_pc;
    if ((uint32_t)pc < last) {
        if (__builtin_expect(trace->next == trace->end, 0)) {
            trace_log_jump(pc);
            return;
        }
        trace_put_place(trace, (uintptr_t)last + 1, TRACE_META(TRACE_JUMP, 0, 0));
    }
    trace->last_pc = (uint32_t)pc;
}

#else /* the fast build: nothing is traced */

static inline void trace_launch_begin(struct simt_launch *launch, int os_threads) {
    (void)launch, (void)os_threads;
}
static inline void trace_launch_end(struct simt_launch *launch) {
    (void)launch;
}
static inline void trace_block_begin(struct simt_block *block) {
    (void)block;
}
static inline void trace_block_end(struct simt_block *block) {
    (void)block;
}
static inline void trace_merge(struct simt_warp *warp) {
    (void)warp;
}
static inline void trace_flush(struct simt_warp *warp, unsigned lanes) {
    (void)warp, (void)lanes;
}
static inline void trace_collective(struct simt_warp *warp, unsigned mask, int kind, int mode) {
    (void)warp, (void)mask, (void)kind, (void)mode;
}
static inline void trace_syncwarp(struct simt_warp *warp, unsigned mask) {
    (void)warp, (void)mask;
}
static inline void trace_barrier(struct simt_block *block) {
    (void)block;
}
static inline void trace_grid_barrier(struct simt_launch *launch) {
    (void)launch;
}
static inline void trace_fence(struct simt_thread *thread, uintptr_t pc, int scope) {
    (void)thread, (void)pc, (void)scope;
}
static inline void trace_switch(const struct simt_thread *thread) {
    (void)thread;
}
static inline void trace_pause(struct simt_thread *thread) {
    (void)thread;
}
static inline void trace_blocks(struct simt_thread *thread, uintptr_t pc) {
    (void)thread, (void)pc;
}
static inline bool trace_has_room(const struct simt_thread *thread) {
    (void)thread;
    return true;
}
static inline bool trace_holds(const struct simt_warp *warp, unsigned lanes) {
    (void)warp, (void)lanes;
    return false;
}
static inline bool trace_same_place(const struct simt_thread *a, const struct simt_thread *b) {
    return a->blocked_pc == b->blocked_pc;
}

#endif
#endif
