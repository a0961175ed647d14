/* race_clocks.c — the clocks: which accesses of a block come after which others. See races.h. */
#include "counters.h"
#include "races.h"

#if SIMT_CHECKED

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t races_first_block = 1;
bool races_concurrent;
uint32_t races_next_block = 1;
static __thread struct block_races *free_races;

/* Numbers for all blocks of the grid, none of which was used before. */
static void number_blocks(const struct simt_launch *launch) {
    if (launch->blocks >= UINT32_MAX - races_next_block) {
        race_cells_clear();
        races_next_block = 1;
    }
    races_first_block = races_next_block;
    races_next_block += (uint32_t)launch->blocks;
}

void races_launch_begin(struct simt_launch *launch, int os_threads) {
    races_concurrent = os_threads > 1 && launch->blocks > 1;
    number_blocks(launch);
}

void races_launch_end(struct simt_launch *launch) {
    (void)launch;
    acquire_release_launch_end();
    race_reports_clear();
}

static struct block_races *take_races(void) {
    struct block_races *races = free_races;
    if (races) {
        free_races = races->next_free;
        return races;
    }
    races = calloc(1, sizeof *races);
    if (races == NULL) {
        fputs("simt: out of memory for the race detector\n", stderr);
        abort();
    }
    return races;
}

static void clock_set(struct warp_clock *clock, uint32_t base) {
    clock->base = base;
    clock->tick = base + 1;
    clock->uneven = clock->partial = false;
}

void races_block_begin(struct simt_block *block) {
    struct block_races *races = take_races();
    races->off = block->launch->blocks >= UINT32_MAX - 1;
    races->barrier = 0;
    for (int scope = 0; scope < 2; scope++) {
        races->fenced[scope] = false;
        races->fenced_barrier[scope] = 0;
    }
    for (unsigned w = 0; w < block->warps; w++) {
        struct warp_clock *clock = &races->warp[w];
        clock_set(clock, 0);
        for (int scope = 0; scope < 2; scope++) {
            clock->fenced[scope] = false;
            clock->fenced_base[scope] = 0;
        }
    }
    block->races = races;
}

void races_block_end(struct simt_block *block) {
    group_clocks_clear();
    block->races->next_free = free_races;
    free_races = block->races;
    block->races = NULL;
}

static uint32_t all_lanes(const struct simt_warp *warp) {
    return warp->lanes == WARP_SIZE ? UINT32_MAX : (1u << warp->lanes) - 1;
}

static uint32_t latest(const struct warp_clock *clock) {
    uint32_t most = clock->tick;
    if (clock->uneven)
        for (unsigned l = 0; l < WARP_SIZE; l++) most = clock->lane[l] > most ? clock->lane[l] : most;
    return most;
}

void trace_barrier(struct simt_block *block) {
    struct block_races *races = block->races;
    uint32_t most = 0;
    unsigned arrived = 0;
    for (unsigned w = 0; w < block->warps; w++) {
        uint32_t clock = latest(&races->warp[w]);
        most = clock > most ? clock : most;
        arrived += (unsigned)__builtin_popcount(block->warp[w].exited) != block->warp[w].lanes;
    }
    counters_barrier(arrived);
    races->barrier = most;
    races->off |= most >= CLOCK_LIMIT;
    for (unsigned w = 0; w < block->warps; w++) clock_set(&races->warp[w], most);
    for (int scope = 0; scope < 2; scope++) {
        if (races->fenced[scope]) races->fenced_barrier[scope] = most;
        races->fenced[scope] = false;
    }
}

/* From here on, earlier accesses count as those of an earlier launch. */
void trace_grid_barrier(struct simt_launch *launch) {
    number_blocks(launch);
}

static void uneven(struct warp_clock *clock) {
    if (clock->uneven) return;
    clock->uneven = true;
    for (unsigned l = 0; l < WARP_SIZE; l++) clock->lane[l] = clock->tick;
}

static void partial(struct warp_clock *clock) {
    if (clock->partial) return;
    clock->partial = true;
    if (clock->known == NULL) {
        clock->known = malloc(WARP_SIZE * sizeof *clock->known);
        if (clock->known == NULL) {
            fputs("simt: out of memory for the race detector\n", stderr);
            abort();
        }
    }
    for (unsigned to = 0; to < WARP_SIZE; to++)
        for (unsigned from = 0; from < WARP_SIZE; from++) clock->known[to][from] = clock->base;
}

/* Each lane of the mask then comes after everything that any of them came after, and after their own accesses. */
static void join(struct simt_warp *warp, struct warp_clock *clock, uint32_t mask) {
    uint32_t joined[WARP_SIZE] = {0};
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        unsigned l = (unsigned)__builtin_ctz(rest);
        for (unsigned from = 0; from < WARP_SIZE; from++)
            joined[from] = clock->known[l][from] > joined[from] ? clock->known[l][from] : joined[from];
        joined[l] = clock->lane[l] > joined[l] ? clock->lane[l] : joined[l];
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        unsigned l = (unsigned)__builtin_ctz(rest);
        memcpy(clock->known[l], joined, sizeof joined);
        warp->thread[l].trace->clock = ++clock->lane[l];
    }
}

void trace_syncwarp(struct simt_warp *warp, unsigned mask) {
    counters_syncwarp();
    struct block_races *races = warp->block->races;
    struct warp_clock *clock = &races->warp[warp->index];
    /* Exited lanes are not in the mask: unlike a block barrier, __syncwarp() orders only the lanes that call it. */
    uint32_t all = all_lanes(warp);
    uint32_t most = latest(clock);
    races->off |= most >= CLOCK_LIMIT;
    if ((mask & all) == all) {
        clock_set(clock, most);
    } else {
        uneven(clock);
        partial(clock);
        join(warp, clock, mask & all);
    }
    for (int scope = 0; scope < 2; scope++) {
        if (clock->fenced[scope]) clock->fenced_base[scope] = most;
        clock->fenced[scope] = false;
    }
}

void clock_advance(const struct simt_warp *warp, uint32_t mask) {
    struct warp_clock *clock = &warp->block->races->warp[warp->index];
    if (!clock->uneven && mask == all_lanes(warp)) {
        clock->tick++;
        return;
    }
    uneven(clock);
    for (uint32_t rest = mask; rest; rest &= rest - 1) clock->lane[__builtin_ctz(rest)]++;
}

void races_fence(struct simt_warp *warp, uint32_t mask) {
    clock_advance(warp, mask);
}

void races_fence_called(struct simt_thread *thread, int scope) {
    struct lane_trace *trace = thread->trace;
    struct block_races *races = thread->block->races;
    struct warp_clock *clock = &races->warp[thread->warp->index];
    struct fence_reach reach = {running_clock(thread), clock->base, races->barrier};
    if (clock->partial)
        for (unsigned from = 0; from < WARP_SIZE; from++)
            if (clock->known[thread->lane][from] > reach.warp) reach.warp = clock->known[thread->lane][from];
    trace->clock = reach.lane + 1;
    for (int s = 0; s <= (scope > 0); s++) {
        trace->fence[s] = reach;
        races->fenced[s] = clock->fenced[s] = true;
    }
}

/* ---- the clocks of a group, lane by lane: a hash table by cell ---- */

struct group {
    const struct race_cell *cell;
    uint32_t clock[WARP_SIZE];
};

static __thread struct group *groups;
static __thread size_t group_room, group_count;

static struct group *group_find(const struct race_cell *cell) {
    size_t i = (size_t)((uintptr_t)cell * 0x9e3779b97f4a7c15u >> 20) & (group_room - 1);
    while (groups[i].cell && groups[i].cell != cell) i = (i + 1) & (group_room - 1);
    return &groups[i];
}

static void groups_grow(void) {
    struct group *old = groups;
    size_t old_room = group_room;
    group_room = old_room ? old_room * 2 : 256;
    groups = calloc(group_room, sizeof *groups);
    if (groups == NULL) {
        fputs("simt: out of memory for the race detector\n", stderr);
        abort();
    }
    for (size_t i = 0; i < old_room; i++)
        if (old[i].cell) *group_find(old[i].cell) = old[i];
    free(old);
}

uint32_t *group_clocks(const struct race_cell *cell) {
    if ((group_count + 1) * 2 > group_room) groups_grow();
    struct group *group = group_find(cell);
    if (group->cell == NULL) {
        group->cell = cell;
        group_count++;
    }
    return group->clock;
}

void group_clocks_clear(void) {
    if (group_count) memset(groups, 0, group_room * sizeof *groups);
    group_count = 0;
}

#else
typedef int race_clocks_is_empty_in_the_fast_build;
#endif
