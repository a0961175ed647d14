/* split_barrier.c — cuda::barrier: a barrier whose threads arrive, work on, and wait later.
 *
 * It is one word of 8 bytes in shared or global memory: arrivals that are missing (bits 0-19), expected arrivals (20-39), and
 * the number of the phase (40-63). Every arrival is a fence and an atomic on that word; a wait is one read of it,
 * however long it lasts. So the race detector orders what came before the arrivals before what follows the wait.
 * A thread that waits lets the others run at least once. So the lanes of a warp leave the wait together.
 */
#include "checks/access.h"
#include "checks/async_copy.h"
#include "scheduler.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))

enum { COUNT_BITS = 20, COUNT_MASK = (1 << COUNT_BITS) - 1, PHASE_SHIFT = 2 * COUNT_BITS };

static uint64_t word_of(uint64_t missing, uint64_t expected, uint64_t phase) {
    return missing | expected << COUNT_BITS | phase << PHASE_SHIFT;
}

static void hook(uintptr_t pc, enum trace_kind kind, const uint64_t *barrier) {
#if SIMT_CHECKED
    access_hook(pc, kind, (uintptr_t)barrier, 3);
#else
    (void)pc, (void)kind, (void)barrier;
#endif
}

/* Who arrives does not know what others did before their arrivals: that comes with the wait. */
static void arrival_hook(uintptr_t pc, const uint64_t *barrier) {
#if SIMT_CHECKED
    bool traced;
    uintptr_t address = (uintptr_t)barrier;
    if (address - simt_self->stack_low < STACK_BYTES) return;
    enum trace_space space = access_check(simt_self, pc, TRACE_ATOMIC, address, sizeof *barrier, &traced);
    if (traced) trace_release(simt_self, pc, 3, space, address);
#else
    (void)pc, (void)barrier;
#endif
}

void simt_barrier_init(uint64_t *barrier, unsigned expected) {
    hook(CALLER, TRACE_WRITE, barrier);
    *barrier = word_of(expected, expected, 0);
}

static void report_too_many(const struct simt_thread *self, uintptr_t pc, uint64_t missing, unsigned arrivals) {
    simt_report(SIMT_DEADLOCK, true, pc, self,
                "Invalid arrival at a cuda::barrier: %u arrivals, but the phase lacks only %llu\n"
                "Each phase takes the number of arrivals that the barrier was initialised with",
                arrivals, (unsigned long long)missing);
    simt_fail_launch(SIMT_ERROR_LAUNCH_FAILURE);
}

uint64_t simt_barrier_arrive(uint64_t *barrier, unsigned arrivals, bool drop) {
    struct simt_thread *self = simt_self;
    uintptr_t pc = CALLER;
    if (self == NULL) return 0;
    async_copies_arrive(barrier);
    trace_fence(self, pc, !in_shared((uintptr_t)barrier)); /* block scope, or device scope */
    if (!self->block->ordered && !in_shared((uintptr_t)barrier)) order_enter(self->block);
    arrival_hook(pc, barrier);
    uint64_t old = __atomic_load_n(barrier, __ATOMIC_SEQ_CST), next;
    do {
        uint64_t missing = old & COUNT_MASK, expected = old >> COUNT_BITS & COUNT_MASK, phase = old >> PHASE_SHIFT;
        if (missing < arrivals) report_too_many(self, pc, missing, arrivals);
        if (drop) expected--;
        missing -= arrivals;
        next = missing ? word_of(missing, expected, phase) : word_of(expected, expected, phase + 1);
    } while (!__atomic_compare_exchange_n(barrier, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old >> PHASE_SHIFT;
}

static bool has_passed(const uint64_t *barrier, uint64_t phase) {
    return __atomic_load_n(barrier, __ATOMIC_SEQ_CST) >> PHASE_SHIFT != phase;
}

void simt_barrier_wait(uint64_t *barrier, uint64_t phase) {
    uintptr_t pc = CALLER;
    if (simt_self == NULL) return;
    do simt_lane_block(THREAD_YIELDED, pc);
    while (!has_passed(barrier, phase));
    hook(pc, TRACE_VOLATILE_READ, barrier);
}

bool simt_barrier_test(uint64_t *barrier, uint64_t phase) {
    uintptr_t pc = CALLER;
    if (simt_self == NULL) return true;
    simt_lane_block(THREAD_YIELDED, pc);
    hook(pc, TRACE_VOLATILE_READ, barrier);
    return has_passed(barrier, phase);
}

uint64_t simt_barrier_phase(const uint64_t *barrier) {
    return __atomic_load_n(barrier, __ATOMIC_SEQ_CST) >> PHASE_SHIFT;
}
