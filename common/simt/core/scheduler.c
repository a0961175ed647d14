/* scheduler.c — runs the lanes of a warp, the warps of a block. See scheduler.h for the whole picture. */
#include "scheduler.h"

#include "settings.h"
#include "trace.h"
#include "watchdog.h"

__thread struct simt_thread *simt_self;
__thread struct dim threadIdx, blockIdx, blockDim, gridDim;
__thread struct worker *this_worker;

/* A warp that only fills its traces lets the next warp run after a while: it may be waiting for it. */
enum { VISIT_BUDGET = 1024, MERGE_COST = 16 };

/* Where -fsplit-stack code finds the end of its stack: a word of the thread control block that glibc keeps for it. */
static inline void set_stack_limit(uintptr_t limit)
{
    __asm__ volatile("movq %0, %%fs:0x70" : : "r"(limit));
}

static inline void lane_enter(struct simt_thread *thread)
{
    simt_self = thread;
    threadIdx = thread->index;
    set_stack_limit(thread->stack_low + STACK_RESERVE);
}

static void lane_main(void);

/* Picks the next lane that can run and takes it off the ready mask; NULL if there is none. */
static inline struct simt_thread *warp_pick(struct simt_warp *warp)
{
    unsigned ready = warp->in_state[THREAD_READY];
    if (ready == 0)
        return NULL;
    unsigned lane = warp->block->launch->shuffled ? 31 - (unsigned)__builtin_clz(ready) : (unsigned)__builtin_ctz(ready);
    warp->in_state[THREAD_READY] = ready & ~(1u << lane);
    struct simt_thread *thread = &warp->thread[lane];
    if (__builtin_expect(thread->stack_low == 0, 0)) {
        thread->stack_pointer = NULL;
        thread->stack_low = stack_take(&this_worker->stacks);
        thread->stack_high = thread->stack_low + STACK_BYTES;
    }
    return thread;
}

/* Saves the running context in *save and runs `thread`. */
static inline void lane_switch(void **save, struct simt_thread *thread)
{
    lane_enter(thread);
    if (thread->stack_pointer)
        fiber_switch(save, thread->stack_pointer);
    else
        fiber_start(save, (void *)thread->stack_high, lane_main);
}

static inline void leave_device(void)
{
    simt_self = NULL;
    set_stack_limit(0);
}

static inline void switch_away(struct simt_thread *self)
{
    struct simt_thread *next = warp_pick(self->warp);
    if (next) {
        lane_switch(&self->stack_pointer, next);
    } else {
        leave_device();
        fiber_switch(&self->stack_pointer, this_worker->stack_pointer);
    }
}

void simt_lane_block(enum thread_state state, uintptr_t pc)
{
    struct simt_thread *self = simt_self;
    self->state = state;
    self->blocked_pc = pc;
    self->warp->in_state[state] |= 1u << self->lane;
    if ((uintptr_t)__builtin_frame_address(0) < self->stack_low + STACK_RESERVE / 2)
        simt_stack_overflow(pc);
    trace_pause(self);
    switch_away(self);
}

void block_suspend(struct simt_thread *self)
{
    trace_pause(self);
    self->block->suspended = self;
    leave_device();
    fiber_switch(&self->stack_pointer, this_worker->stack_pointer);
}

/* The stack goes back to the pool while the thread still stands on it: nothing else runs before the jump, and a
 * successor that takes the same stack starts at its top. */
void simt_exit(void)
{
    struct simt_thread *self = simt_self;
    struct simt_warp *warp = self->warp;
    trace_pause(self);
    self->state = THREAD_EXITED;
    warp->exited |= 1u << self->lane;
    warp->in_state[THREAD_EXITED] = warp->exited;
    warp->block->exited++;
    warp->block->steps = 0;
    stack_give(&this_worker->stacks, self->stack_low);
    self->stack_low = self->stack_high = 0;
    struct simt_thread *next = warp_pick(warp);
    if (next) {
        lane_enter(next);
        if (next->stack_pointer)
            fiber_leave(next->stack_pointer);
        fiber_restart((void *)next->stack_high, lane_main);
    }
    leave_device();
    fiber_leave(this_worker->stack_pointer);
}

static void lane_main(void)
{
    const struct simt_launch *launch = simt_self->block->launch;
    launch->entry(launch->closure);
    simt_exit();
}

void warp_wake(struct simt_warp *warp, unsigned lanes, enum thread_state from)
{
    warp->in_state[from] &= ~lanes;
    warp->in_state[THREAD_READY] |= lanes;
    for (; lanes; lanes &= lanes - 1)
        warp->thread[__builtin_ctz(lanes)].state = THREAD_READY;
}

/* The merge stops at the first lane that has nothing more to merge, so some traces may still be full. */
static void wake_lanes_with_room(struct simt_warp *warp)
{
    for (unsigned rest = warp->in_state[THREAD_TRACE_FULL]; rest; rest &= rest - 1)
        if (trace_has_room(&warp->thread[__builtin_ctz(rest)]))
            warp_wake(warp, rest & -rest, THREAD_TRACE_FULL);
}

/* Runs the warp until all its lanes wait for something outside it. True if it did more than poll. */
static bool warp_run(struct simt_warp *warp)
{
    struct simt_block *block = warp->block;
    bool progress = false;
    for (int budget = VISIT_BUDGET; budget > 0; budget--) {
        unsigned ran = warp->in_state[THREAD_READY];
        struct simt_thread *thread = block->suspended;
        block->suspended = NULL;
        if (thread == NULL)
            thread = warp_pick(warp);
        if (thread == NULL)
            return progress;
        ran |= 1u << thread->lane;
        lane_switch(&this_worker->stack_pointer, thread);
        if (block->status != BLOCK_RUNS)
            return progress;
        trace_merge(warp);
        watchdog_count(warp);
        progress |= (ran & ~warp->in_state[THREAD_YIELDED]) != 0;
        if (warp->in_state[THREAD_TRACE_FULL]) {
            wake_lanes_with_room(warp);
            budget -= MERGE_COST;
        }
        if (warp->in_state[THREAD_COLLECTIVE])
            warp_resolve_collectives(warp);
        if (block->status != BLOCK_RUNS)
            return progress;
    }
    return true;
}

static bool wake_spinning(struct simt_block *block)
{
    bool any = false;
    for (unsigned i = 0; i < block->warps; i++) {
        any |= block->warp[i].in_state[THREAD_YIELDED] != 0;
        warp_wake(&block->warp[i], block->warp[i].in_state[THREAD_YIELDED], THREAD_YIELDED);
    }
    return any;
}

static bool any_ready(const struct simt_block *block)
{
    for (unsigned i = 0; i < block->warps; i++)
        if (block->warp[i].in_state[THREAD_READY])
            return true;
    return false;
}

void block_run(struct simt_block *block)
{
    bool progress = false;
    blockIdx = block->index;
    while (block->status == BLOCK_RUNS) {
        for (; block->cursor < block->warps; block->cursor++) {
            unsigned i = block->launch->shuffled ? block->warps - 1 - block->cursor : block->cursor;
            progress |= warp_run(&block->warp[i]);
            block->progressed |= progress;
            if (block->status != BLOCK_RUNS)
                return;
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
            if (!progress)
                block->status = BLOCK_SPINS;
            progress = false;
        } else {
            block_report_deadlock(block);
        }
    }
}

void block_abandon(struct simt_block *block)
{
    for (unsigned i = 0; i < block->threads; i++) {
        struct simt_thread *thread = &block->thread[i];
        if (thread->stack_low) {
            stack_give(&this_worker->stacks, thread->stack_low);
            thread->stack_low = thread->stack_high = 0;
        }
    }
}
