/* trace.c — the writing side of the traces: buffers, call paths, and the slow parts of trace.h's inline functions. */
#include "trace.h"

#if SIMT_CHECKED

#include <stdlib.h>
#include <string.h>

/* The buffers of one block, taken from a pool of its OS thread, so that a block costs no allocation. */
struct warp_trace {
    struct trace_row row[TRACE_ROWS];
    struct lane_trace lane[WARP_SIZE];
    struct warp_trace *next_free;
};

static __thread struct warp_trace *free_traces;

static struct warp_trace *take_trace(void)
{
    struct warp_trace *trace = free_traces;
    if (trace != NULL) {
        free_traces = trace->next_free;
        return trace;
    }
    trace = aligned_alloc(64, (sizeof *trace + 63) / 64 * 64);
    if (trace == NULL)
        abort();
    memset(trace->lane, 0, sizeof trace->lane);
    return trace;
}

void trace_launch_begin(struct simt_launch *launch, int os_threads)
{
    (void)launch, (void)os_threads;
}

void trace_launch_end(struct simt_launch *launch)
{
    (void)launch;
}

void trace_block_begin(struct simt_block *block)
{
    for (unsigned w = 0; w < block->warps; w++) {
        struct simt_warp *warp = &block->warp[w];
        warp->trace = take_trace();
        for (unsigned l = 0; l < warp->lanes; l++) {
            struct lane_trace *trace = &warp->trace->lane[l];
            trace->first = trace->next = &warp->trace->row[0].key[l];
            trace->end = &warp->trace->row[0].key[l] + TRACE_ROWS * (TRACE_ROW_BYTES / sizeof(uint64_t));
            trace->path_key = trace->last_pc = trace->depth = trace->pending_size = 0;
            warp->thread[l].trace = trace;
        }
    }
}

void trace_block_end(struct simt_block *block)
{
    for (unsigned w = 0; w < block->warps; w++) {
        struct warp_trace *trace = block->warp[w].trace;
        trace->next_free = free_traces;
        free_traces = trace;
        block->warp[w].trace = NULL;
    }
}

void trace_merge(struct simt_warp *warp)
{
    for (unsigned l = 0; l < warp->lanes; l++)
        warp->trace->lane[l].next = warp->trace->lane[l].first;
}

void trace_collective(struct simt_warp *warp, unsigned mask, int kind, int mode)
{
    (void)warp, (void)mask, (void)kind, (void)mode;
}

void trace_syncwarp(struct simt_warp *warp, unsigned mask)
{
    (void)warp, (void)mask;
}

void trace_barrier(struct simt_block *block)
{
    (void)block;
}

void trace_grid_barrier(struct simt_launch *launch)
{
    (void)launch;
}

void trace_fence(struct simt_thread *thread, uintptr_t pc, int scope)
{
    (void)thread, (void)pc, (void)scope;
}

void trace_make_room(struct simt_thread *thread)
{
    trace_pause(thread);
    simt_lane_block(THREAD_TRACE_FULL, 0);
}

void trace_settle(struct lane_trace *trace)
{
    trace->pending_size = 0;
}

void trace_note_sync(struct simt_thread *thread, unsigned meta, uintptr_t address)
{
    (void)thread, (void)meta, (void)address;
}

void trace_log_jump(struct simt_thread *thread)
{
    (void)thread;
}

void trace_push(struct lane_trace *trace, uintptr_t call_pc)
{
    (void)call_pc;
    if (trace->depth == trace->frame_room) {
        trace->frame_room = trace->frame_room ? trace->frame_room * 2 : 16;
        trace->frame = realloc(trace->frame, trace->frame_room * sizeof *trace->frame);
        if (trace->frame == NULL)
            abort();
    }
    trace->frame[trace->depth++] = (struct trace_frame){trace->path_key, (uint32_t)call_pc};
    trace->last_pc = 0;
}

#else
typedef int trace_is_empty_in_the_fast_build;
#endif
