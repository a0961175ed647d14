/* trace.c — the writing side of the traces: buffers, call paths, and the slow parts of trace.h's inline functions. */
#include "trace.h"

#if SIMT_CHECKED

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "merge.h"
#include "races.h"

static __thread struct warp_trace *free_traces;
__thread struct path_table call_paths;
struct lane_trace no_trace = {.last_pc =
                                  UINT32_MAX}; /* full, and every block looks like a jump, so nothing is written */
__thread struct lane_trace *running_trace = &no_trace;

enum { PATH_LIMIT = 1 << 24 };

static void *must(void *memory) {
    if (memory == NULL) {
        fputs("simt: out of memory for the traces of a launch\n", stderr);
        abort();
    }
    return memory;
}

static struct warp_trace *take_trace(void) {
    struct warp_trace *trace = free_traces;
    if (trace != NULL) {
        free_traces = trace->next_free;
        return trace;
    }
    trace = must(aligned_alloc(64, (sizeof *trace + 63) / 64 * 64));
    memset(trace->lane, 0, sizeof trace->lane);
    return trace;
}

void trace_launch_begin(struct simt_launch *launch, int os_threads) {
    trace_fence_met = false;
    counters_launch_begin(launch);
    races_launch_begin(launch, os_threads);
}

void trace_launch_end(struct simt_launch *launch) {
    counters_launch_end(launch);
    races_launch_end(launch);
}

void trace_block_begin(struct simt_block *block) {
    for (unsigned w = 0; w < block->warps; w++) {
        struct simt_warp *warp = &block->warp[w];
        struct warp_trace *trace = take_trace();
        trace->global_requests = 0;
        trace_summary_clear(&trace->summary);
        for (unsigned l = 0; l < warp->lanes; l++) {
            struct lane_trace *lane = &trace->lane[l];
            struct trace_frame *frame = lane->frame;
            uint32_t frame_room = lane->frame_room;
            memset(lane, 0, sizeof *lane);
            lane->frame = frame;
            lane->frame_room = frame_room;
            lane->first = lane->next = &trace->row[0].key[l];
            lane->to_value = (char *)trace_value(lane->first, l) - (char *)lane->first;
            lane->end = lane->next + TRACE_ROWS * (TRACE_ROW_BYTES / sizeof(uint64_t));
            warp->thread[l].trace = lane;
        }
        warp->trace = trace;
    }
    races_block_begin(block);
}

void trace_block_end(struct simt_block *block) {
    for (unsigned w = 0; w < block->warps; w++) trace_flush(&block->warp[w], ~0u);
    counters_block_end(block);
    races_block_end(block);
    for (unsigned w = 0; w < block->warps; w++) {
        struct warp_trace *trace = block->warp[w].trace;
        trace->next_free = free_traces;
        free_traces = trace;
        block->warp[w].trace = NULL;
    }
}

void trace_make_room(struct simt_thread *thread) {
    simt_lane_block(THREAD_TRACE_FULL, thread->trace->last_pc);
}

/* The store has been executed: stores the hash of its value, which distinguishes races between stores of one value. */
void trace_settle(struct simt_thread *thread) {
    struct lane_trace *trace = thread->trace;
    uint64_t *entry = trace->pending;
    trace->pending = NULL;
    *trace_value(entry, thread->lane) = trace_hash(stored_value(entry[WARP_SIZE], entry[0] & 7));
}

void trace_log_jump(uintptr_t pc) {
    struct simt_thread *self = simt_self;
    if (self == NULL) return;
    trace_make_room(self);
    trace_block(self->trace, pc);
}

void trace_fence(struct simt_thread *thread, uintptr_t pc, int scope) {
    trace_append(thread, pc, TRACE_META(TRACE_FENCE, 0, 0), 0);
    thread->trace->last_pc = (uint32_t)pc;
    trace_fence_met = true;
    races_fence_called(thread, scope);
}

static uint32_t path_hash(uint32_t parent, uint32_t call_pc) {
    uint64_t hash = ((uint64_t)parent << 32 | call_pc) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash >> 32);
}

static void paths_grow(struct path_table *table) {
    uint32_t slots = table->slots ? table->slots * 2 : 256;
    table->path = must(realloc(table->path, slots / 2 * sizeof *table->path));
    table->slot = must(realloc(table->slot, slots * sizeof *table->slot));
    table->slots = slots;
    memset(table->slot, 0, slots * sizeof *table->slot);
    if (table->count == 0) table->path[table->count++] = (struct path){0, 0, 0};
    for (uint32_t p = 1; p < table->count; p++) {
        uint32_t i = path_hash(table->path[p].parent, table->path[p].call_pc) & (slots - 1);
        while (table->slot[i]) i = (i + 1) & (slots - 1);
        table->slot[i] = p + 1;
    }
}

static uint32_t path_child(uint32_t parent, uint32_t call_pc) {
    struct path_table *table = &call_paths;
    if (table->count + 1 >= table->slots / 2) paths_grow(table);
    uint32_t i = path_hash(parent, call_pc) & (table->slots - 1);
    for (; table->slot[i]; i = (i + 1) & (table->slots - 1)) {
        uint32_t p = table->slot[i] - 1;
        if (table->path[p].parent == parent && table->path[p].call_pc == call_pc) return p;
    }
    if (table->count == PATH_LIMIT) return parent; /* an endless recursion: deeper frames are no longer distinguished */
    table->path[table->count] = (struct path){parent, call_pc, table->path[parent].depth + 1};
    table->slot[i] = table->count + 1;
    return table->count++;
}

bool path_before(uint32_t path_a, uint32_t pc_a, uint32_t path_b, uint32_t pc_b) {
    const struct path *path = call_paths.path;
    while (path[path_a].depth > path[path_b].depth) pc_a = path[path_a].call_pc, path_a = path[path_a].parent;
    while (path[path_b].depth > path[path_a].depth) pc_b = path[path_b].call_pc, path_b = path[path_b].parent;
    while (path_a != path_b) {
        pc_a = path[path_a].call_pc, path_a = path[path_a].parent;
        pc_b = path[path_b].call_pc, path_b = path[path_b].parent;
    }
    return pc_a < pc_b;
}

void trace_push(struct lane_trace *trace, uintptr_t call_pc) {
    if (trace->depth == trace->frame_room) {
        trace->frame_room = trace->frame_room ? trace->frame_room * 2 : 16;
        trace->frame = must(realloc(trace->frame, trace->frame_room * sizeof *trace->frame));
    }
    trace->frame[trace->depth++] = (struct trace_frame){trace->path_key, (uint32_t)call_pc};
    trace->path_key = (uint64_t)path_child((uint32_t)(trace->path_key >> 8), (uint32_t)call_pc) << 8;
    trace->last_pc = 0;
}

#else
typedef int trace_is_empty_in_the_fast_build;
#endif
