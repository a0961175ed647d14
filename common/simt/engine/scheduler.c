/* scheduler.c — runs the lanes of a warp, the warps of a block. See scheduler.h for the whole picture. */
#include "scheduler.h"

#include "checks/faults.h"
#include "checks/trace.h"
#include "switch.h"

__thread struct simt_thread *simt_self;
__thread struct dim threadIdx, blockIdx, blockDim, gridDim;
__thread struct worker *this_worker;

/* A warp that only fills its traces yields to the next warp after some visits, because it may be waiting for that warp. In
 * the fast build only a preempted lane is THREAD_TRACE_FULL, so one visit is enough. */
enum { VISIT_BUDGET = 1024, MERGE_COST = SIMT_CHECKED ? 16 : VISIT_BUDGET };

void simt_lane_block(enum thread_state state, uintptr_t pc) {
    lane_block(simt_self, state, pc);
}

void block_suspend(struct simt_thread *self) {
    trace_pause(self);
    self->block->suspended = self;
    leave_device();
    fiber_switch(&self->stack_pointer, this_worker->stack_pointer);
}

/* The stack is returned to the pool while the thread still uses it. This is safe: nothing else runs before the jump, and a
 * successor that takes the same stack starts at its top. */
void simt_exit(void) {
    struct simt_thread *self = simt_self;
    struct simt_warp *warp = self->warp;
    trace_pause(self);
    warp->exited |= 1u << self->lane;
    warp->in_state[THREAD_EXITED] = warp->exited;
    warp->block->exited++;
    warp->block->steps = 0;
    stack_give(&this_worker->stacks, self->stack_low);
    self->stack_low = self->stack_high = 0;
    struct simt_thread *next = warp_pick(warp);
    if (next) {
        lane_enter(next);
        if (next->stack_pointer) fiber_leave(next->stack_pointer);
        fiber_restart((void *)next->stack_high, lane_main);
    }
    leave_device();
    fiber_leave(this_worker->stack_pointer);
}

void lane_main(void) {
    const struct simt_launch *launch = simt_self->block->launch;
    launch->entry(launch->closure);
    simt_exit();
}

void warp_wake(struct simt_warp *warp, unsigned lanes, enum thread_state from) {
    warp->in_state[from] &= ~lanes;
    warp->in_state[THREAD_READY] |= lanes;
}

/* The merge stops at the first lane that has nothing more to merge, so some traces may still be full. */
static void wake_lanes_with_room(struct simt_warp *warp) {
    for (unsigned rest = warp->in_state[THREAD_TRACE_FULL]; rest; rest &= rest - 1)
        if (trace_has_room(&warp->thread[__builtin_ctz(rest)])) warp_wake(warp, rest & -rest, THREAD_TRACE_FULL);
}

/* Records what the lanes that ran have done, for checks/polling.c: they only waited, only polled, or did more. */
static void note_progress(struct simt_warp *warp, unsigned ran) {
    unsigned yielded = warp->in_state[THREAD_YIELDED];
    for (unsigned rest = warp->waits; rest; rest &= rest - 1)
        if (warp->thread[__builtin_ctz(rest)].state_changes != changes_seen(warp->block))
            warp->waits &= ~(rest & -rest);
    if (ran & ~(yielded & warp->waits)) warp->block->progressed = true;
    if (ran & ~(yielded | warp->polls)) warp->block->effects++;
    warp->polls = 0;
}

/* Runs the warp until all its lanes wait for something outside it. True if it did more than poll. */
static bool warp_run(struct simt_warp *warp) {
    struct simt_block *block = warp->block;
    bool progress = false;
    for (int budget = VISIT_BUDGET; budget > 0; budget--) {
        unsigned ran = warp->in_state[THREAD_READY];
        struct simt_thread *thread = block->suspended;
        block->suspended = NULL;
        if (thread == NULL) thread = warp_pick(warp);
        if (thread == NULL) return progress;
        ran |= 1u << thread->lane;
        lane_run(thread);
        if (block->status != BLOCK_RUNS) return progress;
        trace_merge(warp);
        watchdog_count(warp);
        note_progress(warp, ran);
        progress |= (ran & ~warp->in_state[THREAD_YIELDED]) != 0;
        if (warp->in_state[THREAD_TRACE_FULL]) {
            wake_lanes_with_room(warp);
            budget -= warp->passes ? VISIT_BUDGET : MERGE_COST;
            warp->passes = false;
        }
        if (warp->in_state[THREAD_COLLECTIVE]) warp_resolve_collectives(warp);
        if (block->status != BLOCK_RUNS) return progress;
        if (warp->in_state[THREAD_READY] == 0 && warp->in_state[THREAD_TRACE_FULL]) {
            /* Lanes with full traces wait behind a lane at a collective, which waits for them: let them continue. */
            trace_flush(warp, ~0u);
            wake_lanes_with_room(warp);
        }
    }
    return true;
}

static bool wake_spinning(struct simt_block *block) {
    bool any = false;
    for (unsigned i = 0; i < block->warps; i++) {
        any |= block->warp[i].in_state[THREAD_YIELDED] != 0;
        warp_wake(&block->warp[i], block->warp[i].in_state[THREAD_YIELDED], THREAD_YIELDED);
    }
    return any;
}

static bool any_ready(const struct simt_block *block) {
    for (unsigned i = 0; i < block->warps; i++)
        if (block->warp[i].in_state[THREAD_READY]) return true;
    return false;
}

/* A block that has taken a ticket waits for its next turn; a block that waits for that one's work must not keep the turn. */
static void share(struct simt_block *block) {
    enum { SLICE = 64 };
    if (!block->ordered || block->status != BLOCK_RUNS) return;
    if (block->shares || (block->launch->order->is_shared && ++block->rounds % SLICE == 0)) order_share(block);
    block->shares = false;
}

void block_run(struct simt_block *block) {
    bool progress = false;
    blockIdx = block->index;
    for (; block->status == BLOCK_RUNS; share(block)) {
        for (; block->cursor < block->warps; block->cursor++) {
            unsigned i = block->launch->shuffled ? block->warps - 1 - block->cursor : block->cursor;
            progress |= warp_run(&block->warp[i]);
            if (block->status != BLOCK_RUNS) return;
            if (launch_gave_up(block->launch, block->rank)) {
                block->status = BLOCK_FAILED;
                return;
            }
        }
        block->cursor = 0;
        if (block->exited == block->threads) {
            block->status = BLOCK_DONE;
        } else if (block->at_barrier && block->at_barrier + block->exited == block->threads) {
            block_release_barrier(block);
            progress = true;
        } else if (block->at_grid && block->at_grid + block->exited == block->threads) {
            block->status = BLOCK_AT_GRID;
        } else if (any_ready(block)) {
            continue;
        } else if (wake_spinning(block)) {
            if (!progress) block->status = BLOCK_SPINS;
            progress = false;
        } else {
            block_report_deadlock(block);
        }
    }
}

void block_abandon(struct simt_block *block) {
    for (unsigned i = 0; i < block->threads; i++) {
        struct simt_thread *thread = &block->thread[i];
        if (thread->stack_low) {
            stack_give(&this_worker->stacks, thread->stack_low);
            thread->stack_low = thread->stack_high = 0;
        }
    }
}
