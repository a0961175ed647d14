/* faults.h — kernels that cannot continue: endless loops, stack overflows, signals. */
#ifndef SIMT_FAULTS_H
#define SIMT_FAULTS_H

#include "engine/internal.h"

/* Steps (accesses and loop iterations) that one blocking of a lane counts for. */
enum { STEPS_OF_FULL_TRACE = 256, STEPS_OF_POLLING = 8 };

/* Reports an endless loop in the warp; its launch fails. */
void watchdog_report(struct simt_warp *warp);

/* After the lanes of a warp have run until they blocked. */
static inline void watchdog_count(struct simt_warp *warp) {
    struct simt_block *block = warp->block;
    unsigned polling = warp->in_state[THREAD_YIELDED] | warp->polls;
    unsigned full = warp->in_state[THREAD_TRACE_FULL] & ~polling;
    block->steps++;
    if (full) block->steps += STEPS_OF_FULL_TRACE * (unsigned)__builtin_popcount(full);
    if (polling) block->steps += STEPS_OF_POLLING * (unsigned)__builtin_popcount(polling);
    if (__builtin_expect(block->steps > simt_settings.watchdog, 0)) watchdog_report(warp);
}

/* Reports a stack overflow of the running thread; its launch fails. */
void simt_stack_overflow(uintptr_t pc) __attribute__((noreturn));

/* Signals that kernels raise become findings. */
void fault_catch(void);
void fault_prepare_thread(void);

#endif
