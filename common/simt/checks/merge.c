/* merge.c — merges the traces of a warp's lanes into warp requests.
 *
 * The rule: the lanes at the lowest place of the program execute first, together; the others wait. Places are compared
 * frame by frame from the outermost call, then by pc. The code is compiled so that its basic blocks lie in source order.
 * So lanes that skip a branch wait behind it. Backward jumps are entries of their own: they hold lanes that start the
 * next iteration until the others have finished theirs. A lane that waits at a collective keeps its place in the order.
 * If a lane has filled its buffer, its next place is unknown, and the merge stops there.
 */
#include "merge.h"
#include "counters.h"

#if SIMT_CHECKED

#include <string.h>

#include "engine/lanes.h"
#include "races.h"

enum { KEY_STEP = TRACE_ROW_BYTES / sizeof(uint64_t), AHEAD = 6 };
#define NO_ENTRY UINT64_MAX

static inline uint32_t key_pc(uint64_t key) {
    return (uint32_t)(key >> 32);
}
static inline uint32_t key_path(uint64_t key) {
    return (uint32_t)key >> 8;
}
static inline enum trace_kind key_kind(uint64_t key) {
    return (enum trace_kind)((unsigned)key >> 5 & 7);
}

struct merge {
    struct simt_warp *warp;
    uint64_t key[WARP_SIZE] __attribute__((aligned(32))); /* next entry of each lane, or its collective, or NO_ENTRY */
    uint32_t present;                                     /* lanes that have an entry */
    uint32_t waiting;                                     /* lanes at a collective, all entries merged */
    uint32_t alive;                                       /* lanes that have not exited, or have entries left */
    bool open;                                            /* a lane with a full buffer has no entry left */
    bool keep_order;                                      /* if not, no lane waits for another */
};

/* A mask without holes: adding its lowest bit carries past its highest. */
static inline bool is_contiguous(uint32_t mask) {
    uint32_t carried = mask + (mask & -mask);
    return (carried & mask) == 0 && (carried & (carried - 1)) == 0;
}

static void find_stride(struct request *request) {
    const uint64_t *address = request->address;
    unsigned first = request->first;
    request->strided = false;
    if (request->lanes == 1) {
        request->strided = true;
        request->stride = 0;
        return;
    }
    uint64_t stride = address[first + 1] - address[first];
    if (request->mask == UINT32_MAX) {
        request->strided = all_strided(address, stride);
    } else if (is_contiguous(request->mask)) {
        uint64_t differs = 0;
        for (unsigned l = first; l < first + request->lanes - 1; l++) differs |= (address[l + 1] - address[l]) ^ stride;
        request->strided = differs == 0;
    }
    request->stride = (int64_t)stride;
}

static void emit(struct merge *merge, uint64_t key, uint32_t mask, const uint64_t *address, const uint16_t *value) {
    struct simt_warp *warp = merge->warp;
    switch ((int)key_kind(key)) {
        case TRACE_JUMP: return;
        case TRACE_FENCE:
            races_close_runs();
            races_fence(warp, mask);
            return;
    }
    struct request request = {
        .warp = warp,
        .key = key,
        .pc = key_pc(key),
        .kind = key_kind(key),
        .space = key >> 3 & 3,
        .size_log2 = key & 7,
        .mask = mask,
        .lanes = mask == UINT32_MAX ? WARP_SIZE : (unsigned)__builtin_popcount(mask),
        .first = (unsigned)__builtin_ctz(mask),
        .address = address,
        .value = value,
    };
    find_stride(&request);
    warp->block->effects += request.kind == TRACE_WRITE || request.kind == TRACE_VOLATILE_WRITE;
    if (request.space == TRACE_GLOBAL) warp->trace->global_requests++;
    counters_request(&request, merge->alive);
    races_request(&request);
}

static inline void load(struct merge *merge, unsigned lane) {
    const struct lane_trace *trace = &merge->warp->trace->lane[lane];
    const struct simt_thread *thread = &merge->warp->thread[lane];
    uint32_t bit = 1u << lane;
    if (trace->first != trace->next) {
        merge->key[lane] = *trace->first;
        return;
    }
    merge->present &= ~bit;
    merge->key[lane] = NO_ENTRY;
    if (lane_is(thread, THREAD_TRACE_FULL)) {
        merge->open = true;
    } else if (lane_is(thread, THREAD_COLLECTIVE)) {
        if (!merge->keep_order) return;
        merge->waiting |= bit;
        merge->key[lane] = (uint64_t)thread->blocked_pc << 32 | trace->path_key | 0xff;
    } else if (lane_is(thread, THREAD_EXITED)) {
        merge->alive &= ~bit;
    }
}

static uint32_t lanes_at(const struct merge *merge, uint64_t key) {
    if (all_equal(merge->key)) return UINT32_MAX;
    uint32_t lanes = 0;
    for (unsigned l = 0; l < WARP_SIZE; l++) lanes |= (uint32_t)(merge->key[l] == key) << l;
    return lanes;
}

/* The lowest key, by place. With one path everywhere, which is the usual case, keys compare as numbers. */
static uint64_t lowest_key(const struct merge *merge, uint32_t candidates) {
    uint64_t lowest = NO_ENTRY, differs = 0;
    uint64_t path = merge->key[__builtin_ctz(candidates)] & 0xffffff00u;
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        uint64_t key = merge->key[l];
        uint64_t has = key == NO_ENTRY ? 0 : UINT64_MAX;
        differs |= ((key & 0xffffff00u) ^ path) & has;
        lowest = key < lowest ? key : lowest;
    }
    if (differs == 0) return lowest;
    lowest = merge->key[__builtin_ctz(candidates)];
    for (uint32_t rest = candidates & (candidates - 1); rest; rest &= rest - 1) {
        uint64_t key = merge->key[__builtin_ctz(rest)];
        if (key_path(key) == key_path(lowest)
                ? key < lowest
                : path_before(key_path(key), key_pc(key), key_path(lowest), key_pc(lowest)))
            lowest = key;
    }
    return lowest;
}

/* Lanes in lockstep, entry i of each in row i: no gathering. False at the first row where they diverge. */
static bool merge_lockstep(struct merge *merge) {
    struct warp_trace *trace = merge->warp->trace;
    uint64_t *front = trace->row[0].key, *row = front, *end = (uint64_t *)trace->summary.any_end;
    for (; row != end; row += KEY_STEP) {
        if (!all_equal(row)) break;
        if (key_kind(row[0]) == TRACE_JUMP) continue;
        const uint64_t *address = row + WARP_SIZE, *ahead = row + AHEAD * KEY_STEP;
        const uint16_t *value = (const uint16_t *)(address + WARP_SIZE);
        if (races_repeat(row[0], address, value)) continue;
        if (ahead < end && key_kind(*ahead) <= TRACE_ATOMIC) races_prefetch(ahead[WARP_SIZE]);
        emit(merge, row[0], UINT32_MAX, address, value);
    }
    if (row == end)
        for (unsigned l = 0; l < WARP_SIZE; l++) trace->lane[l].next = front + l;
    else
        for (unsigned l = 0; l < WARP_SIZE; l++) trace->lane[l].first = row + l;
    return row == end;
}

static inline void take(struct merge *merge, uint64_t key, uint32_t group) {
    struct lane_trace *lanes = merge->warp->trace->lane;
    uint64_t address[WARP_SIZE] __attribute__((aligned(32)));
    uint16_t value[WARP_SIZE];
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        unsigned l = (unsigned)__builtin_ctz(rest);
        uint64_t *entry = lanes[l].first;
        address[l] = entry[WARP_SIZE];
        value[l] = *trace_value(entry, l);
        lanes[l].first = entry + KEY_STEP;
    }
    emit(merge, key, group, address, value);
    for (uint32_t rest = group; rest; rest &= rest - 1) load(merge, (unsigned)__builtin_ctz(rest));
}

/* Moves the entries to the front of the buffer, so that a lane that filled it can continue. */
static void make_room(struct simt_warp *warp) {
    struct lane_trace *lanes = warp->trace->lane;
    for (unsigned l = 0; l < warp->lanes; l++) {
        uint64_t *front = &warp->trace->row[0].key[l];
        uint64_t *entry = lanes[l].first;
        if (entry == front) {
            warp->trace->summary.mixed |= lanes[l].next != front;
            continue;
        }
        uint64_t *to = front;
        for (; entry != lanes[l].next; entry += KEY_STEP, to += KEY_STEP) {
            to[0] = entry[0];
            to[WARP_SIZE] = entry[WARP_SIZE];
            *trace_value(to, l) = *trace_value(entry, l);
        }
        lanes[l].first = front;
        lanes[l].next = to;
        warp->trace->summary.mixed |= to != front;
    }
}

/* Entry by entry, for lanes that diverged; only the entries of `lanes`. */
static void merge_apart(struct merge *merge, uint32_t lanes, bool keep_order) {
    struct simt_warp *warp = merge->warp;
    merge->alive = merge->present = warp->lanes == WARP_SIZE ? UINT32_MAX : (1u << warp->lanes) - 1;
    merge->waiting = 0;
    merge->open = false;
    merge->keep_order = keep_order;
    for (unsigned l = warp->lanes; l < WARP_SIZE; l++) merge->key[l] = NO_ENTRY;
    for (unsigned l = 0; l < warp->lanes; l++) load(merge, l);
    for (uint32_t rest = merge->present & ~lanes; rest; rest &= rest - 1) merge->key[__builtin_ctz(rest)] = NO_ENTRY;
    merge->present &= lanes;
    while (merge->present && (!merge->open || !keep_order)) {
        uint64_t key = lowest_key(merge, merge->present | merge->waiting);
        uint32_t group = lanes_at(merge, key) & merge->present;
        if (group == 0) break; /* a lane that waits at a collective comes first */
        take(merge, key, group);
    }
    make_room(warp);
}

static void merge_lanes(struct simt_warp *warp, uint32_t lanes, bool keep_order) {
    struct trace_summary *summary = &warp->trace->summary;
    bool nothing = summary->lanes == 0 || summary->any_end == (uintptr_t)warp->trace->row[0].key;
    bool mixed = summary->mixed || (summary->lanes && summary->any_end != summary->all_end);
    struct merge merge;
    merge.warp = warp;
    merge.alive = UINT32_MAX;
    bool done = !mixed && (nothing || (summary->lanes == UINT32_MAX && merge_lockstep(&merge)));
    trace_summary_clear(summary);
    if (nothing && done) return;
    if (!done) merge_apart(&merge, lanes, keep_order);
    races_close_runs();
}

void trace_merge(struct simt_warp *warp) {
    merge_lanes(warp, UINT32_MAX, true);
}

void trace_flush(struct simt_warp *warp, unsigned lanes) {
    merge_lanes(warp, lanes, false);
}

#else
typedef int merge_is_empty_in_the_fast_build;
#endif
