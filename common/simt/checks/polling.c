/* polling.c — threads that poll: a volatile read or an atomic returns the same value again and again, and changes nothing.
 *
 * A poll may be part of a finite loop (`for (…) atomicMax(most, a[i])` on a descending array) or of a loop that waits for
 * another thread. The two are distinguished by the state of the thread: its registers, and its stack. A finite loop never
 * repeats a state, because something in it must count. If a state recurs and no memory has changed in between, then the
 * thread repeats the same steps until another thread changes memory: it waits.
 *
 *   - A thread that only polls lets the other lanes of its warp run, and stays in the merge (merge.c).
 *   - A thread that waits leaves the merge, and other warps and blocks run. So does a thread that has polled POLLS_IN_ORDER
 *     times, because a loop that waits may also count.
 *   - A launch in which every thread waits never ends (workers.c).
 *
 * Whatever may change what a waiting thread reads counts as a change of memory: stores, atomics with an effect, collectives,
 * exits, a reading of the clock (engine/internal.h: effects). The host may change pinned and managed memory at any time, so
 * a thread that polls there is never taken to wait.
 */
#include "access.h"

enum { POLLS_BEFORE_YIELD = 8, POLLS_IN_ORDER = 65536 };

#if SIMT_CHECKED

#include <unwind.h>

#include "arch_context.h"
#include "engine/scheduler.h"

struct state {
    const struct simt_thread *self;
    uintptr_t pc;
    uint64_t hash;
};

static inline uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* At the frame of the learner's function that polls. */
static _Unwind_Reason_Code hash_frame(struct _Unwind_Context *context, void *data) {
    struct state *state = data;
    if (_Unwind_GetIP(context) != state->pc) return _URC_NO_REASON;
    uintptr_t stack = _Unwind_GetCFA(context);
    uint64_t hash = mix(state->pc, stack);
    for (unsigned i = 0; i < sizeof callee_saved / sizeof *callee_saved; i++)
        hash = mix(hash, _Unwind_GetGR(context, callee_saved[i]));
    for (; stack < state->self->stack_high; stack += 8) hash = mix(hash, *(const uint64_t *)stack);
    state->hash = hash | 1;

    return _URC_END_OF_STACK;
}

/* A hash of the thread's registers and stack, never 0; 0 if they cannot be found. */
static uint64_t state_of(const struct simt_thread *self, uintptr_t pc) {
    struct state state = {.self = self, .pc = pc};
    _Unwind_Backtrace(hash_frame, &state);
    return state.hash;
}

static bool has_stores(const struct lane_trace *trace) {
    for (const uint64_t *entry = trace->first; entry != trace->next; entry += TRACE_ROW_BYTES / sizeof *entry) {
        enum trace_kind kind = (enum trace_kind)(*entry >> 5 & 7);
        if (kind == TRACE_WRITE || kind == TRACE_VOLATILE_WRITE) return true;
    }
    return false;
}

/* Compares the state with a remembered one, which is replaced after 1, 2, 4, … comparisons: so every period is found. A
 * state costs as much as a few dozen polls, so only some yields compare: of the yields 2^k to 2^(k+1), an eighth. */
static bool state_recurs(struct simt_thread *self, uintptr_t pc, uint64_t changes) {
    unsigned yields = self->polls / POLLS_BEFORE_YIELD, power = 1u << (31 - __builtin_clz(yields)),
             past = yields - power;
    if (past >= 4 && past >= power / 8) return false;
    bool may_change = has_stores(self->trace) || simt_host_and_device(self->polled, 1);
    uint64_t state = may_change ? 0 : state_of(self, pc);
    bool same = state != 0 && state == self->state && changes == self->state_changes;
    if (!same && (state == 0 || changes != self->state_changes || (past & (past - 1)) == 0)) {
        self->state = state;
        self->state_changes = changes;
    }
    return same;
}

static void yield(struct simt_thread *self, uintptr_t pc) {
    struct simt_warp *warp = self->warp;
    uint32_t lane = 1u << self->lane;
    uint64_t changes = changes_seen(self->block);
    if (changes != self->state_changes) warp->waits &= ~lane;
    if (!(warp->waits & lane) && state_recurs(self, pc, changes)) {
        warp->waits |= lane;
        self->spins = true;
    }
    self->spins |= self->polls >= POLLS_IN_ORDER;
    warp->polls |= lane;
    self->polled_pc = pc;
    simt_lane_block(self->spins ? THREAD_YIELDED : THREAD_TRACE_FULL, pc);
}

#else

static void yield(struct simt_thread *self, uintptr_t pc) {
    (void)self;
    simt_lane_block(THREAD_YIELDED, pc);
}

#endif

/* A changed value or another place restarts the count. */
void access_poll(struct simt_thread *self, uintptr_t pc, uintptr_t address, uint64_t value) {
    if (self->polled == address && self->polled_value == value) {
        if (++self->polls % POLLS_BEFORE_YIELD == 0) yield(self, pc);
        return;
    }
    self->polled = address;
    self->polled_value = value;
    self->polls = 0;
    self->state = 0;
    self->spins = false;
    self->warp->waits &= ~(1u << self->lane);
}
