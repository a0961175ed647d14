/* collective.c — warp collectives: lanes meet, exchange values, and continue.
 *
 * A lane that calls a collective blocks. When no lane of the warp can run, a group of lanes is complete if it made the
 * same call (kind, mode, mask) and contains all lanes of the mask that have not exited. Shuffles do not order memory.
 */
#include <string.h>

#include "lanes.h"
#include "switch.h"

uint64_t simt_meet(uint32_t call, uint32_t mask, uint64_t value) {
    struct simt_thread *self = simt_self;
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    if (self == NULL) return value;
    struct simt_warp *warp = self->warp;
    unsigned lane = self->lane;
    warp->call[lane] = (struct lane_call){call, mask};
    warp->value[lane] = value;
    lane_block(self, THREAD_COLLECTIVE, pc);
    return warp->value[lane];
}

/* All lanes that reach this place together. Whether more lanes will come is unknown, so the call completes only when no
 * other collective can, and the call that is earliest in the program completes first. */
unsigned simt_activemask(void) {
    struct simt_thread *self = simt_self;
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    if (self == NULL) return 1;
    self->warp->call[self->lane] = (struct lane_call){LANE_CALL(COLLECTIVE_ACTIVEMASK, 0, 32, 0), ~0u};
    lane_block(self, THREAD_COLLECTIVE, pc);
    return (unsigned)self->warp->value[self->lane];
}

void simt_together(struct simt_together *operands, uintptr_t pc) {
    struct simt_thread *self = simt_self;
    if (self == NULL) return;
    self->warp->call[self->lane] = (struct lane_call){LANE_CALL(COLLECTIVE_TOGETHER, 0, 32, 0), ~0u};
    self->warp->value[self->lane] = (uintptr_t)operands;
    lane_block(self, THREAD_COLLECTIVE, pc);
}

static struct simt_together *together_of(const struct simt_warp *warp, unsigned lane) {
    return (struct simt_together *)(uintptr_t)warp->value[lane];
}

static int kind_of(struct lane_call call) {
    return call.what & 15;
}
static int mode_of(struct lane_call call) {
    return call.what >> 4 & 15;
}
static int width_of(struct lane_call call) {
    return call.what >> 8 & 255;
}
static int source_of(struct lane_call call) {
    return call.what >> 16 & 31;
}

static const char *shuffle_name(int mode) {
    static const char *const names[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"};
    return names[mode];
}

const char *collective_name(const struct simt_thread *thread) {
    static const char *const votes[] = {"__any_sync", "__all_sync", "__ballot_sync", "__uni_sync"};
    static const char *const matches[] = {"__match_any_sync", "__match_all_sync"};
    static const char *const reduces[] = {"__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync",
                                          "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync",
                                          "__reduce_or_sync",  "__reduce_xor_sync"};
    int mode = mode_of(call_of(thread));
    switch (kind_of(call_of(thread))) {
        case COLLECTIVE_SHUFFLE: return shuffle_name(mode);
        case COLLECTIVE_VOTE: return votes[mode];
        case COLLECTIVE_MATCH: return matches[mode];
        case COLLECTIVE_REDUCE: return reduces[mode];
        case COLLECTIVE_SYNCWARP: return "__syncwarp";
        case COLLECTIVE_TOGETHER: return together_of(thread->warp, thread->lane)->name;
        default: return "__activemask";
    }
}

/* The lane that a shuffle reads, as PTX's shfl computes it; the lane itself when that lies outside its segment. */
static inline unsigned shuffle_source(int lane, struct lane_call call) {
    int width = width_of(call), low = lane & ~(width - 1), high = low + width - 1;
    int operand = source_of(call), source;
    switch (mode_of(call)) {
        case SHUFFLE_INDEX: return (unsigned)(low | (operand & (width - 1)));
        case SHUFFLE_UP: source = lane - operand; return (unsigned)(source >= low ? source : lane);
        case SHUFFLE_DOWN: source = lane + operand; break;
        default: source = lane ^ operand;
    }
    return (unsigned)(source <= high ? source : lane);
}

static void report_absent(const struct simt_thread *thread, unsigned source) {
    const struct simt_warp *warp = thread->warp;
    const char *why;
    if ((call_of(thread).mask >> source & 1) == 0)
        why = "is not in the mask";
    else if (source >= warp->lanes)
        why = "does not exist: the block's last warp is not full";
    else
        why = warp->exited >> source & 1 ? "has exited" : "waits elsewhere";
    simt_report(SIMT_ABSENT_LANE, true, thread->blocked_pc, thread,
                "Invalid %s: lane %u reads lane %u, which %s\nThe mask is 0x%08x; the value read is undefined",
                collective_name(thread), thread->lane, source, why, call_of(thread).mask);
}

/* The common shuffle: all 32 lanes, one operand, and every lane reads a lane of the warp. */
static void resolve_uniform_shuffle(struct simt_warp *warp, struct lane_call call) {
    uint64_t before[WARP_SIZE];
    memcpy(before, warp->value, sizeof before);
    int mode = mode_of(call), width = width_of(call), operand = source_of(call);
    if (mode == SHUFFLE_XOR && operand < width) {
        for (int lane = 0; lane < WARP_SIZE; lane++) warp->value[lane] = before[lane ^ operand];
    } else {
        for (int lane = 0; lane < WARP_SIZE; lane++) warp->value[lane] = before[shuffle_source(lane, call)];
    }
}

static void resolve_shuffle(struct simt_warp *warp, unsigned group) {
    uint64_t before[WARP_SIZE];
    memcpy(before, warp->value, sizeof before);
    for (unsigned rest = group; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest), source = shuffle_source((int)lane, warp->call[lane]);
        if (group >> source & 1)
            warp->value[lane] = before[source];
        else if (SIMT_CHECKED)
            report_absent(&warp->thread[lane], source);
    }
}

static void set_results(struct simt_warp *warp, unsigned group, uint64_t result) {
    for (; group; group &= group - 1) warp->value[__builtin_ctz(group)] = result;
}

static void resolve_vote(struct simt_warp *warp, unsigned group, int mode) {
    unsigned ballot = 0;
    for (unsigned rest = group; rest; rest &= rest - 1)
        if (warp->value[__builtin_ctz(rest)]) ballot |= rest & -rest;
    uint64_t result = mode == VOTE_ANY   ? ballot != 0
                      : mode == VOTE_ALL ? ballot == group
                      : mode == VOTE_UNI ? ballot == group || ballot == 0
                                         : ballot;
    set_results(warp, group, result);
}

/* MATCH_ALL's result carries the predicate in bit 32. */
static void resolve_match(struct simt_warp *warp, unsigned group, int mode) {
    uint64_t before[WARP_SIZE];
    memcpy(before, warp->value, sizeof before);
    for (unsigned rest = group; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest), same = 0;
        for (unsigned other = group; other; other &= other - 1)
            if (before[__builtin_ctz(other)] == before[lane]) same |= other & -other;
        if (mode == MATCH_ANY)
            warp->value[lane] = same;
        else
            warp->value[lane] = same == group ? UINT64_C(1) << 32 | group : 0;
    }
}

static uint32_t reduce(int mode, uint32_t a, uint32_t b) {
    switch (mode) {
        case REDUCE_ADD: return a + b;
        case REDUCE_MIN_S: return (int32_t)a < (int32_t)b ? a : b;
        case REDUCE_MAX_S: return (int32_t)a > (int32_t)b ? a : b;
        case REDUCE_MIN_U: return a < b ? a : b;
        case REDUCE_MAX_U: return a > b ? a : b;
        case REDUCE_AND: return a & b;
        case REDUCE_OR: return a | b;
        default: return a ^ b;
    }
}

static void resolve_reduce(struct simt_warp *warp, unsigned group, int mode) {
    uint32_t result = (uint32_t)warp->value[__builtin_ctz(group)];
    for (unsigned rest = group & (group - 1); rest; rest &= rest - 1)
        result = reduce(mode, result, (uint32_t)warp->value[__builtin_ctz(rest)]);
    set_results(warp, group, result);
}

/* Without all 32 lanes the result is undefined: the operands stay as they are. */
static void resolve_together(struct simt_warp *warp, unsigned group) {
    struct simt_together *lanes[WARP_SIZE];
    unsigned first = (unsigned)__builtin_ctz(group), absent = (unsigned)__builtin_ctz(~group | 1u << 31);
    if (group != ~0u) {
        if (SIMT_CHECKED)
            simt_report(SIMT_ABSENT_LANE, true, warp->thread[first].blocked_pc, &warp->thread[first],
                        "Invalid %s: lane %u %s\nAll 32 lanes of the warp must execute it; the result is undefined",
                        together_of(warp, first)->name, absent,
                        absent >= warp->lanes ? "does not exist: the block's last warp is not full" : "has exited");
        return;
    }
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) lanes[lane] = together_of(warp, lane);
    lanes[0]->compute(lanes);
}

static void resolve(struct simt_warp *warp, unsigned group, struct lane_call call) {
    int mode = mode_of(call);
    switch (kind_of(call)) {
        case COLLECTIVE_SHUFFLE: resolve_shuffle(warp, group); break;
        case COLLECTIVE_VOTE: resolve_vote(warp, group, mode); break;
        case COLLECTIVE_MATCH: resolve_match(warp, group, mode); break;
        case COLLECTIVE_REDUCE: resolve_reduce(warp, group, mode); break;
        case COLLECTIVE_SYNCWARP: trace_syncwarp(warp, group); return;
        case COLLECTIVE_TOGETHER: resolve_together(warp, group); return;
        default: break;
    }
    trace_collective(warp, group, kind_of(call), mode);
}

/* The lanes that wait in the same call as `leader`: same kind, mode and mask. Operands may differ from lane to lane;
 * for __activemask the place must be the same, too, and for instructions of a whole warp the name. */
static unsigned same_call(const struct simt_warp *warp, unsigned leader) {
    struct lane_call call = warp->call[leader];
    bool by_place = kind_of(call) == COLLECTIVE_ACTIVEMASK;
    unsigned group = 0;
    for (unsigned rest = warp->in_state[THREAD_COLLECTIVE]; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        bool same = ((warp->call[lane].what ^ call.what) & 255) == 0 && warp->call[lane].mask == call.mask;
        if (same && kind_of(call) == COLLECTIVE_TOGETHER)
            same = together_of(warp, lane)->name == together_of(warp, leader)->name;
        if (by_place) same = same && warp->thread[lane].blocked_pc == warp->thread[leader].blocked_pc;
        group |= (unsigned)same << lane;
    }
    return group;
}

static void report_outside_mask(const struct simt_thread *thread) {
    simt_report(SIMT_ABSENT_LANE, true, thread->blocked_pc, thread,
                "Invalid %s: lane %u calls it with mask 0x%08x, which does not contain the lane\n"
                "Its result is undefined",
                collective_name(thread), thread->lane, call_of(thread).mask);
}

/* Lanes outside their own mask do not wait, and their result is their own value. Returns the other lanes. */
static unsigned release_lanes_outside_mask(struct simt_warp *warp, unsigned group, unsigned mask) {
    for (unsigned rest = group & ~mask; SIMT_CHECKED && rest; rest &= rest - 1)
        report_outside_mask(&warp->thread[__builtin_ctz(rest)]);
    warp_wake(warp, group & ~mask, THREAD_COLLECTIVE);
    return group & mask;
}

/* Exited lanes of a mask are not waited for. */
static bool complete(const struct simt_warp *warp, unsigned group, unsigned mask) {
    unsigned living = ~0u >> (WARP_SIZE - warp->lanes) & ~warp->exited;
    return (mask & living & ~group) == 0;
}

/* Do all 32 lanes make one and the same call, for the whole warp? */
static bool is_uniform(const struct simt_warp *warp) {
    _Static_assert(sizeof warp->call[0] == sizeof(uint64_t), "a call is compared as one word");
    return warp->in_state[THREAD_COLLECTIVE] == ~0u && warp->call[0].mask == ~0u &&
           kind_of(warp->call[0]) < COLLECTIVE_ACTIVEMASK && all_equal((const uint64_t *)warp->call);
}

void warp_resolve_collectives(struct simt_warp *warp) {
    unsigned asking = 0;
    if (is_uniform(warp)) {
        trace_flush(warp, ~0u);
        if (kind_of(warp->call[0]) == COLLECTIVE_SHUFFLE) {
            resolve_uniform_shuffle(warp, warp->call[0]);
            trace_collective(warp, ~0u, COLLECTIVE_SHUFFLE, mode_of(warp->call[0]));
        } else {
            resolve(warp, ~0u, warp->call[0]);
        }
        warp_wake(warp, ~0u, THREAD_COLLECTIVE);
        return;
    }
    for (unsigned rest = warp->in_state[THREAD_COLLECTIVE]; rest;) {
        unsigned leader = (unsigned)__builtin_ctz(rest), group = same_call(warp, leader);
        struct lane_call call = warp->call[leader];
        rest &= ~group;
        if (kind_of(call) == COLLECTIVE_ACTIVEMASK) {
            if (asking == 0 || warp->thread[leader].blocked_pc < warp->thread[__builtin_ctz(asking)].blocked_pc)
                asking = group;
            continue;
        }
        if (group & ~call.mask) group = release_lanes_outside_mask(warp, group, call.mask);
        if (group && complete(warp, group, call.mask)) {
            if (trace_holds(warp, group)) {
                if (warp->in_state[THREAD_READY]) continue; /* lanes that come first in the merge */
                trace_flush(warp, group);
            }
            resolve(warp, group, call);
            warp_wake(warp, group, THREAD_COLLECTIVE);
        }
    }
    if (asking && warp->in_state[THREAD_READY] == 0) {
        set_results(warp, asking, asking);
        warp_wake(warp, asking, THREAD_COLLECTIVE);
    }
}
