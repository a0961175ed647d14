/* collective.c — warp collectives: lanes meet, exchange values, and go on.
 *
 * A lane that calls a collective blocks. When no lane of the warp can run, every group of lanes that made the same
 * call (kind, mode, mask) and holds all living lanes of its mask is complete. Shuffles do not order memory.
 */
#include "scheduler.h"
#include "trace.h"

uint64_t simt_collective(int kind, int mode, unsigned mask, uint64_t value, unsigned source, int width)
{
    struct simt_thread *self = simt_self;
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    if (self == NULL)
        return value;
    self->collective.kind = kind;
    self->collective.mode = mode;
    self->collective.mask = mask;
    self->collective.value = value;
    self->collective.source = source;
    self->collective.width = width;
    simt_lane_block(THREAD_COLLECTIVE, pc);
    return self->collective.result;
}

/* All lanes that reach this place together: nobody knows who else comes, so it completes when nothing else can. */
unsigned simt_activemask(void)
{
    struct simt_thread *self = simt_self;
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    if (self == NULL)
        return 1;
    self->collective.kind = COLLECTIVE_ACTIVEMASK;
    self->collective.mode = 0;
    self->collective.mask = ~0u;
    simt_lane_block(THREAD_COLLECTIVE, pc);
    return (unsigned)self->collective.result;
}

static const char *shuffle_name(int mode)
{
    static const char *const names[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"};
    return names[mode];
}

const char *collective_name(const struct simt_thread *thread)
{
    static const char *const votes[] = {"__any_sync", "__all_sync", "__ballot_sync", "__uni_sync"};
    static const char *const matches[] = {"__match_any_sync", "__match_all_sync"};
    static const char *const reduces[] = {"__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync",
                                          "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync",
                                          "__reduce_or_sync",  "__reduce_xor_sync"};
    int mode = thread->collective.mode;
    switch (thread->collective.kind) {
    case COLLECTIVE_SHUFFLE:
        return shuffle_name(mode);
    case COLLECTIVE_VOTE:
        return votes[mode];
    case COLLECTIVE_MATCH:
        return matches[mode];
    case COLLECTIVE_REDUCE:
        return reduces[mode];
    case COLLECTIVE_SYNCWARP:
        return "__syncwarp";
    default:
        return "__activemask";
    }
}

/* The lane that a shuffle reads, as PTX's shfl computes it; the lane itself when that lies outside its segment. */
static unsigned shuffle_source(const struct simt_thread *thread)
{
    int lane = (int)thread->lane, width = thread->collective.width;
    int low = lane & ~(width - 1), high = low + width - 1, source;
    int operand = (int)(thread->collective.source & 31);
    switch (thread->collective.mode) {
    case SHUFFLE_INDEX:
        return (unsigned)(low | (operand & (width - 1)));
    case SHUFFLE_UP:
        source = lane - operand;
        break;
    case SHUFFLE_DOWN:
        source = lane + operand;
        break;
    default:
        source = lane ^ operand;
    }
    bool inside = thread->collective.mode == SHUFFLE_UP ? source >= low : source <= high;
    return (unsigned)(inside ? source : lane);
}

static void report_absent(const struct simt_thread *thread, unsigned source, unsigned mask)
{
    const struct simt_warp *warp = thread->warp;
    const char *why;
    if (source >= warp->lanes)
        why = "does not exist: the block's last warp is not full";
    else if (warp->exited >> source & 1)
        why = "has exited";
    else
        why = "is not in the mask";
    simt_report(SIMT_ABSENT_LANE, true, thread->blocked_pc, thread,
                "Invalid %s: lane %u reads lane %u, which %s\nThe mask is 0x%08x, the value read is undefined",
                collective_name(thread), thread->lane, source, why, mask);
}

static void resolve_shuffle(struct simt_warp *warp, unsigned group, unsigned mask)
{
    for (unsigned rest = group; rest; rest &= rest - 1) {
        struct simt_thread *thread = &warp->thread[__builtin_ctz(rest)];
        unsigned source = shuffle_source(thread);
        if (group >> source & 1) {
            thread->collective.result = warp->thread[source].collective.value;
        } else {
            if (SIMT_CHECKED)
                report_absent(thread, source, mask);
            thread->collective.result = thread->collective.value;
        }
    }
}

static void set_results(struct simt_warp *warp, unsigned group, uint64_t result)
{
    for (; group; group &= group - 1)
        warp->thread[__builtin_ctz(group)].collective.result = result;
}

static void resolve_vote(struct simt_warp *warp, unsigned group, int mode)
{
    unsigned ballot = 0;
    for (unsigned rest = group; rest; rest &= rest - 1)
        if (warp->thread[__builtin_ctz(rest)].collective.value)
            ballot |= rest & -rest;
    uint64_t result = mode == VOTE_ANY   ? ballot != 0
                      : mode == VOTE_ALL ? ballot == group
                      : mode == VOTE_UNI ? ballot == group || ballot == 0
                                         : ballot;
    set_results(warp, group, result);
}

/* MATCH_ALL's result carries the predicate in bit 32. */
static void resolve_match(struct simt_warp *warp, unsigned group, int mode)
{
    for (unsigned rest = group; rest; rest &= rest - 1) {
        struct simt_thread *thread = &warp->thread[__builtin_ctz(rest)];
        unsigned same = 0;
        for (unsigned other = group; other; other &= other - 1)
            if (warp->thread[__builtin_ctz(other)].collective.value == thread->collective.value)
                same |= other & -other;
        if (mode == MATCH_ANY)
            thread->collective.result = same;
        else
            thread->collective.result = same == group ? UINT64_C(1) << 32 | group : 0;
    }
}

static void resolve_reduce(struct simt_warp *warp, unsigned group, int mode)
{
    unsigned lane = (unsigned)__builtin_ctz(group);
    uint32_t result = (uint32_t)warp->thread[lane].collective.value;
    for (unsigned rest = group & (group - 1); rest; rest &= rest - 1) {
        uint32_t value = (uint32_t)warp->thread[__builtin_ctz(rest)].collective.value;
        switch (mode) {
        case REDUCE_ADD:
            result += value;
            break;
        case REDUCE_MIN_S:
            result = (int32_t)value < (int32_t)result ? value : result;
            break;
        case REDUCE_MAX_S:
            result = (int32_t)value > (int32_t)result ? value : result;
            break;
        case REDUCE_MIN_U:
            result = value < result ? value : result;
            break;
        case REDUCE_MAX_U:
            result = value > result ? value : result;
            break;
        case REDUCE_AND:
            result &= value;
            break;
        case REDUCE_OR:
            result |= value;
            break;
        default:
            result ^= value;
        }
    }
    set_results(warp, group, result);
}

static void resolve(struct simt_warp *warp, unsigned group, const struct simt_thread *leader)
{
    int mode = leader->collective.mode;
    unsigned mask = leader->collective.mask;
    switch (leader->collective.kind) {
    case COLLECTIVE_SHUFFLE:
        resolve_shuffle(warp, group, mask);
        break;
    case COLLECTIVE_VOTE:
        resolve_vote(warp, group, mode);
        break;
    case COLLECTIVE_MATCH:
        resolve_match(warp, group, mode);
        break;
    case COLLECTIVE_REDUCE:
        resolve_reduce(warp, group, mode);
        break;
    case COLLECTIVE_SYNCWARP:
        trace_syncwarp(warp, group);
        return;
    default:
        break;
    }
    trace_collective(warp, group, leader->collective.kind, mode);
}

/* The lanes that wait in the same call as `leader`. */
static unsigned same_call(const struct simt_warp *warp, const struct simt_thread *leader)
{
    unsigned group = 0;
    for (unsigned rest = warp->in_state[THREAD_COLLECTIVE]; rest; rest &= rest - 1) {
        const struct simt_thread *thread = &warp->thread[__builtin_ctz(rest)];
        if (thread->collective.kind == leader->collective.kind && thread->collective.mode == leader->collective.mode &&
            thread->collective.mask == leader->collective.mask &&
            (thread->collective.kind != COLLECTIVE_ACTIVEMASK || thread->blocked_pc == leader->blocked_pc))
            group |= rest & -rest;
    }
    return group;
}

static void report_outside_mask(const struct simt_thread *thread)
{
    simt_report(SIMT_ABSENT_LANE, true, thread->blocked_pc, thread,
                "Invalid %s: lane %u calls it with mask 0x%08x, in which it is not itself\n"
                "Its result is undefined",
                collective_name(thread), thread->lane, thread->collective.mask);
}

static bool complete(const struct simt_warp *warp, unsigned group, unsigned mask)
{
    unsigned living = ~0u >> (WARP_SIZE - warp->lanes) & ~warp->exited;
    return (mask & living & ~group) == 0;
}

bool warp_resolve_collectives(struct simt_warp *warp)
{
    bool any = false;
    unsigned rest = warp->in_state[THREAD_COLLECTIVE], asking = 0;
    while (rest) {
        struct simt_thread *leader = &warp->thread[__builtin_ctz(rest)];
        unsigned group = same_call(warp, leader), mask = leader->collective.mask;
        rest &= ~group;
        if (leader->collective.kind == COLLECTIVE_ACTIVEMASK) {
            if (asking == 0)
                asking = group;
            continue;
        }
        for (unsigned strangers = group & ~mask; strangers; strangers &= strangers - 1) {
            struct simt_thread *stranger = &warp->thread[__builtin_ctz(strangers)];
            if (SIMT_CHECKED)
                report_outside_mask(stranger);
            stranger->collective.result = stranger->collective.value;
            warp_wake(warp, strangers & -strangers, THREAD_COLLECTIVE);
            any = true;
        }
        group &= mask;
        if (group && complete(warp, group, mask)) {
            resolve(warp, group, leader);
            warp_wake(warp, group, THREAD_COLLECTIVE);
            any = true;
        }
    }
    if (!any && asking && warp->in_state[THREAD_READY] == 0) {
        set_results(warp, asking, asking);
        warp_wake(warp, asking, THREAD_COLLECTIVE);
        any = true;
    }
    return any;
}
