/* barrier.c — block barriers, the grid barrier, and the report of a deadlock.
 *
 * A barrier opens when every thread of the block waits there or has exited: exited threads count as arrived, as in the
 * hardware. Threads that wait at different places also open it, because the hardware counts arrivals, not places.
 */
#include <stdio.h>

#include "switch.h"

int simt_barrier(int mode, int predicate) {
    struct simt_thread *self = simt_self;
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    if (self == NULL) return 0;
    struct simt_block *block = self->block;
    self->predicate = predicate;
    block->at_barrier++;
    lane_block(self, THREAD_BARRIER, pc);
    return mode == SIMT_BARRIER_AND  ? block->barrier_and
           : mode == SIMT_BARRIER_OR ? block->barrier_count != 0
                                     : block->barrier_count;
}

static bool same_site(const struct simt_thread *a, const struct simt_thread *b) {
    if (trace_same_place(a, b)) return true;
    /* The compiler may copy code; a copy has the same line in the same function. */
    struct source_place here = simt_source_place(a->blocked_pc), there = simt_source_place(b->blocked_pc);
    return a->blocked_pc != b->blocked_pc && here.line != 0 && here.stack == there.stack;
}

static void report_divergent(const struct simt_thread *a, const struct simt_thread *b) {
    struct source_place there = simt_source_place(b->blocked_pc);
    simt_report(SIMT_BARRIER_DIVERGENT, true, a->blocked_pc, a,
                "Barrier error detected. Divergent thread(s) in block\n"
                "This thread waits here; thread (%u,%u,%u) waits at another barrier, in %s:%d",
                b->index.x, b->index.y, b->index.z, there.file, there.line);
}

static void check_barrier(struct simt_block *block) {
    const struct simt_thread *first = NULL;
    for (unsigned i = 0; i < block->threads; i++) {
        const struct simt_thread *thread = &block->thread[i];
        if (!lane_is(thread, THREAD_BARRIER)) continue;
        if (first == NULL) {
            first = thread;
        } else if ((thread->blocked_pc != first->blocked_pc || !trace_same_place(first, thread)) &&
                   !same_site(first, thread)) {
            report_divergent(first, thread);
            block->diverged = true;
            break;
        }
    }
    if (block->exited && first && !block->diverged) /* after a divergence, threads end while others wait at a barrier */
        simt_report(SIMT_BARRIER_EXITED, false, first->blocked_pc, first,
                    "Barrier with exited threads: %u of %u threads of the block have returned and count as arrived\n"
                    "CUDA requires all threads of a block to reach __syncthreads(): guard the work, not the barrier",
                    block->exited, block->threads);
}

void block_release_barrier(struct simt_block *block) {
    if (SIMT_CHECKED) check_barrier(block);
    int count = 0, waiting = 0;
    for (unsigned i = 0; i < block->warps; i++) {
        struct simt_warp *warp = &block->warp[i];
        for (unsigned rest = warp->in_state[THREAD_BARRIER]; rest; rest &= rest - 1) {
            waiting++;
            count += warp->thread[__builtin_ctz(rest)].predicate != 0;
        }
    }
    block->barrier_count = count;
    block->barrier_and = count == waiting;
    trace_barrier(block);
    for (unsigned i = 0; i < block->warps; i++)
        warp_wake(&block->warp[i], block->warp[i].in_state[THREAD_BARRIER], THREAD_BARRIER);
    block->at_barrier = 0;
}

void simt_grid_barrier(void) {
    struct simt_thread *self = simt_self;
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    if (self == NULL) return;
    if (!self->block->launch->cooperative) {
        simt_report(SIMT_LAUNCH, true, pc, self,
                    "grid.sync() in a kernel that was not launched cooperatively\n"
                    "Launch it with cudaLaunchCooperativeKernel");
        simt_fail_launch(SIMT_ERROR_LAUNCH_FAILURE);
    }
    self->block->at_grid++;
    lane_block(self, THREAD_GRID, pc);
}

void block_release_grid(struct simt_block *block) {
    for (unsigned i = 0; i < block->warps; i++)
        warp_wake(&block->warp[i], block->warp[i].in_state[THREAD_GRID], THREAD_GRID);
    block->at_grid = 0;
    block->status = BLOCK_RUNS;
}

/* Writes the threads that wait at the same place as thread `first`: how many, the first and the last. */
static size_t describe_group(char *text, size_t room, const struct simt_block *block, unsigned first, bool *told) {
    const struct simt_thread *leader = &block->thread[first], *last = leader;
    enum thread_state state = lane_is(leader, THREAD_BARRIER) ? THREAD_BARRIER
                              : lane_is(leader, THREAD_GRID)  ? THREAD_GRID
                                                              : THREAD_COLLECTIVE;
    unsigned count = 0;
    for (unsigned i = first; i < block->threads; i++) {
        const struct simt_thread *thread = &block->thread[i];
        if (!lane_is(thread, state) || thread->blocked_pc != leader->blocked_pc ||
            (state == THREAD_COLLECTIVE &&
             (thread->warp != leader->warp || call_of(thread).mask != call_of(leader).mask)))
            continue;
        told[i] = true;
        last = thread;
        count++;
    }
    struct source_place place = simt_source_place(leader->blocked_pc);
    const char *what = state == THREAD_BARRIER ? "__syncthreads"
                       : state == THREAD_GRID  ? "grid.sync"
                                               : collective_name(leader);
    char mask[40] = "";
    if (state == THREAD_COLLECTIVE) snprintf(mask, sizeof mask, " with mask 0x%08x", call_of(leader).mask);
    int written = snprintf(text, room, "\n%u thread%s, (%u,%u,%u) to (%u,%u,%u), wait%s in %s%s, %s:%d", count,
                           count == 1 ? "" : "s", leader->index.x, leader->index.y, leader->index.z, last->index.x,
                           last->index.y, last->index.z, count == 1 ? "s" : "", what, mask, place.file, place.line);
    return written < 0 ? 0 : (size_t)written < room ? (size_t)written : room - 1;
}

void block_report_deadlock(struct simt_block *block) {
    bool told[MAX_THREADS_PER_BLOCK] = {false};
    const struct simt_thread *first = NULL;
    char text[2048] = "";
    size_t used = 0;
    unsigned groups = 0;
    for (unsigned i = 0; i < block->threads; i++) {
        if (told[i] || lane_is(&block->thread[i], THREAD_EXITED)) continue;
        if (first == NULL || (lane_is(first, THREAD_BARRIER) && lane_is(&block->thread[i], THREAD_COLLECTIVE)))
            first = &block->thread[i];
        size_t length = describe_group(text + used, sizeof text - used, block, i, told);
        if (groups++ < 12)
            used += length;
        else
            text[used] = '\0';
    }
    simt_report(SIMT_DEADLOCK, true, first ? first->blocked_pc : 0, first,
                "Deadlock: no thread of the block can continue%s%s", text,
                block->exited ? "\nThe other threads of the block have exited" : "");
    launch_fail(block->launch, block->rank, SIMT_ERROR_LAUNCH_TIMEOUT, true);
    block->status = BLOCK_FAILED;
}
