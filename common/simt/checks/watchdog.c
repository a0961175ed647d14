/* watchdog.c — what happens when a loop does not end. */
#include "watchdog.h"

#include "engine/scheduler.h"
#include "source.h"

/* The lane whose place is reported: one that runs without end rather than one that waits for it. */
static const struct simt_thread *culprit(const struct simt_warp *warp) {
    unsigned lanes = warp->in_state[THREAD_YIELDED];
    if (lanes == 0) lanes = warp->in_state[THREAD_TRACE_FULL];
    if (lanes == 0) lanes = warp->in_state[THREAD_COLLECTIVE];
    return lanes ? &warp->thread[__builtin_ctz(lanes)] : &warp->thread[0];
}

void watchdog_bite(struct simt_warp *warp) {
    const struct simt_thread *thread = culprit(warp);
    struct simt_block *block = warp->block;
    simt_report(SIMT_ENDLESS, true, thread->blocked_pc, thread,
                "Endless loop: %llu steps and no thread of the block has ended\n"
                "%s\nA longer kernel is allowed by SIMT_WATCHDOG=<steps>",
                (unsigned long long)block->steps,
                warp->in_state[THREAD_YIELDED] ? "The thread polls a value that no thread changes"
                                               : "The loop's condition never becomes false");
    launch_fail(block->launch, block->rank, SIMT_ERROR_LAUNCH_TIMEOUT, true);
    block->status = BLOCK_FAILED;
}

void simt_stack_overflow(uintptr_t pc) {
    struct simt_thread *self = simt_self;
    simt_report(SIMT_STACK_OVERFLOW, true, source_next_line(pc), self,
                "Stack overflow\nThe thread's local variables and calls need more than %d KB",
                (STACK_BYTES - STACK_RESERVE) / 1024);
    simt_fail_launch(SIMT_ERROR_STACK);
}
