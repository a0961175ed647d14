/* switch.h — a lane blocks and the next one runs: the hottest path of the backend, inline in each place where it happens. */
#ifndef SIMT_SWITCH_H
#define SIMT_SWITCH_H

#include "arch_context.h"
#include "checks/faults.h"
#include "checks/trace.h"
#include "scheduler.h"

void lane_main(void) __attribute__((noreturn)); /* the first function on a thread's stack */

static inline void lane_enter(struct simt_thread *thread) {
    simt_self = thread;
    trace_switch(thread);
    threadIdx = thread->index;
    set_stack_limit(thread->stack_low + STACK_RESERVE);
}

static inline void leave_device(void) {
    simt_self = NULL;
    trace_switch(NULL);
    set_stack_limit(0);
}

/* Picks the next lane that can run and removes it from the ready mask; NULL if there is none. */
static inline struct simt_thread *warp_pick(struct simt_warp *warp) {
    unsigned ready = warp->in_state[THREAD_READY];
    if (ready == 0) return NULL;
    unsigned lane = warp->shuffled ? 31 - (unsigned)__builtin_clz(ready) : (unsigned)__builtin_ctz(ready);
    warp->in_state[THREAD_READY] = ready & ~(1u << lane);
    struct simt_thread *thread = &warp->thread[lane];
    if (__builtin_expect(thread->stack_low == 0, 0)) {
        thread->stack_pointer = NULL;
        thread->stack_low = stack_take(&this_worker->stacks);
        thread->stack_high = thread->stack_low + STACK_BYTES;
        thread->polled = 0;
        thread->polls = thread->ticks = thread->clock_reads = 0;
    }
    return thread;
}

/* Runs a lane from the worker's own context; returns when no lane of its warp can run. */
static inline void lane_run(struct simt_thread *thread) {
    lane_enter(thread);
    if (thread->stack_pointer)
        fiber_switch(&this_worker->stack_pointer, thread->stack_pointer);
    else
        fiber_start(&this_worker->stack_pointer, (void *)thread->stack_high, lane_main);
}

/* The running lane blocks; the next one runs, or the worker. Returns when the scheduler has woken it. */
static inline __attribute__((always_inline)) void lane_block(struct simt_thread *self, enum thread_state state,
                                                             uintptr_t pc) {
    struct simt_warp *warp = self->warp;
    self->blocked_pc = pc;
    warp->in_state[state] |= 1u << self->lane;
    if (__builtin_expect(stack_pointer_now() < self->stack_low + STACK_RESERVE / 2, 0)) simt_stack_overflow(pc);
    trace_blocks(self, pc);
    trace_pause(self);
    struct simt_thread *next = warp_pick(warp);
    if (next == NULL) {
        leave_device();
        context_switch(&self->stack_pointer, this_worker->stack_pointer);
        return;
    }
    lane_enter(next);
    if (__builtin_expect(next->stack_pointer != NULL, 1))
        context_switch(&self->stack_pointer, next->stack_pointer);
    else
        fiber_start(&self->stack_pointer, (void *)next->stack_high, lane_main);
}

#endif
