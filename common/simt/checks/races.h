/* races.h — the race detector: a race is a pair of unordered accesses to the same bytes, at least one of them a store.
 *
 * Accesses are ordered by
 *   - the program order of a thread;
 *   - __syncthreads: all threads of the block;
 *   - __syncwarp: the lanes of its mask (shuffles and votes order nothing);
 *   - the grid barrier, and the end of a launch;
 *   - release and acquire: a fence and an atomic or volatile store in one thread, then an atomic or volatile load of the
 *     same place in another (acquire_release.c).
 *
 * Clocks. Every lane counts its synchronisations. For each other lane of its warp, a lane knows the clock up to which it
 * comes after that lane. While every __syncwarp has the full mask this is one number for all lanes, `base`. A second
 * number, `barrier`, holds for the whole block. Barriers set all clocks of a block to the same value, so clocks of
 * different warps are compared with it.
 *
 * Every 4 bytes of shared and global memory have a cell: the last store, and the reads (or atomics) since. Bytes and
 * halves have cells of their own once a word is accessed by parts. Cells are never cleared: block numbers are not reused,
 * and accesses of an earlier launch have a number below the launch's first.
 */
#ifndef SIMT_RACES_H
#define SIMT_RACES_H

#include "merge.h"

#if SIMT_CHECKED

enum { CLOCK_BITS = 22, CLOCK_LIMIT = (1 << CLOCK_BITS) - 2 };

/* who: clock (22) | warp (5) | lane (5). */
struct race_access {
    uint32_t block; /* number, unique over launches; 0: none */
    uint32_t who;
    uint32_t pc;
};
static inline uint32_t who_make(uint32_t clock, unsigned warp, unsigned lane) {
    return clock << 10 | warp << 5 | lane;
}
static inline uint32_t who_clock(uint32_t who) {
    return who >> 10;
}
static inline unsigned who_warp(uint32_t who) {
    return who >> 5 & 31;
}
static inline unsigned who_lane(uint32_t who) {
    return who & 31;
}

/* `group` stands for accesses that do not conflict with each other: by `lanes` of its warp at its clock. Of accesses by other
 * warps and blocks only the flags are kept: whichever thread writes next, one of them is in another warp or block. */
struct race_cell {
    struct race_access writer, group;
    uint32_t lanes;
    uint16_t value; /* hash of the stored value */
    uint16_t flags;
};
enum {
    GROUP_READS = 0,
    GROUP_ATOMICS = 1,
    GROUP_VOLATILE_READS = 2,
    GROUP_KIND = 3,
    GROUP_WARPS = 4,   /* it contains other warps of the same block */
    GROUP_BLOCKS = 8,  /* it contains other blocks */
    GROUP_CLOCKS = 16, /* its lanes have different clocks: see group_clocks */
    WRITER_VOLATILE = 32,
    CELL_SPLIT = 64, /* the cells of the single bytes apply instead */
};

struct warp_clock {
    uint32_t tick;  /* clock of all lanes, unless uneven */
    uint32_t base;  /* all lanes come after all accesses of their warp up to here */
    bool uneven;    /* lane[] holds the clocks */
    bool partial;   /* known[to][from] applies besides base */
    bool fenced[2]; /* since the last sync: some lane, at block or device scope */
    uint32_t
        fenced_base[2]; /* accesses of the warp up to here were fenced, then synchronised: any lane may release them */
    uint32_t lane[WARP_SIZE];
    uint32_t (*known)[WARP_SIZE];
};

struct block_races {
    bool off;         /* too many synchronisations for the clock: this block is no longer checked */
    uint32_t barrier; /* all threads come after all accesses of the block up to here */
    bool fenced[2];
    uint32_t fenced_barrier[2];
    struct warp_clock warp[MAX_WARPS_PER_BLOCK];
    struct block_races *next_free;
};

extern uint32_t races_first_block; /* number of block 0 since the launch began or the grid last met */
extern uint32_t races_next_block;  /* of block 0 of the next launch */

extern bool races_concurrent; /* the launch's blocks run on several OS threads */

void races_launch_begin(struct simt_launch *launch, int os_threads);
void races_launch_end(struct simt_launch *launch);
void races_block_begin(struct simt_block *block);
void races_block_end(struct simt_block *block);
void races_request(const struct request *request);
/* All lanes repeat an earlier request, each one unit further on: notes the request, which needs no races_request() and no
 * counters_request(). */
bool races_repeat(uint64_t key, const uint64_t *address, const uint16_t *value);
void races_prefetch(uint64_t address); /* before an access to the address */
/* race_host.c: an access of host code. */
void races_by_host(uintptr_t pc, enum trace_kind kind, uint64_t address, unsigned bytes);
void races_close_runs(void); /* before a merge ends or a clock advances: processes delayed accesses */

/* A fence: in the order of the merge; and when the lane executes it. */
void races_fence(struct simt_warp *warp, uint32_t mask);
void races_fence_called(struct simt_thread *thread, int scope);

static inline uint32_t race_block_number(const struct simt_block *block) {
    return races_first_block + (uint32_t)block->linear;
}

static inline uint32_t lane_clock(const struct warp_clock *clock, unsigned lane) {
    return clock->uneven ? clock->lane[lane] : clock->tick;
}

/* Does `lane`, now, come after the accesses of lane `from` of its warp at `when`? */
static inline bool warp_ordered(const struct warp_clock *clock, unsigned from, uint32_t when, unsigned lane) {
    return from == lane || when <= clock->base || (clock->partial && when <= clock->known[lane][from]);
}

/* The clock of a running lane, which may be ahead of the merge. */
static inline uint32_t running_clock(const struct simt_thread *thread) {
    uint32_t tick = thread->block->races->warp[thread->warp->index].tick;
    return thread->trace->clock > tick ? thread->trace->clock : tick;
}

/* race_clocks.c: the clocks of the lanes advance, after a fence or an acquire. */
void clock_advance(const struct simt_warp *warp, uint32_t mask);

/* race_clocks.c: the clocks of a cell's group, lane by lane, where lanes that synchronise by parts of the warp have read
 * one word at different clocks. One table per OS thread: only the warp that the group belongs to reads it. */
uint32_t *group_clocks(const struct race_cell *cell); /* added when missing */
void group_clocks_clear(void);                        /* when a block ends */

/* acquire_release.c. Does a chain of releases and acquires lead from the access to the current access of `lane` of the warp,
 * or from the current access to the other one (which then was merged too early)? */
bool synchronised(const struct race_access *access, const struct simt_warp *warp, unsigned lane);
/* Has the warp's block acquired anything from other threads? */
bool acquired_anything(const struct simt_warp *warp);
/* Has this lane acquired at the place that it accesses now? Then the last block may reset the ticket. */
bool acquired_at(const struct request *request, unsigned lane);
void acquire_release_launch_end(void);

/* race_reports.c: a pair of accesses that nothing orders. */
struct race {
    const struct request *request;
    unsigned lane;
    const struct race_access *other;
    enum trace_kind other_kind;
    bool other_warp, other_block; /* `other` stands for one in another warp, another block */
    bool same_value;
};
bool race_known(const struct race *race); /* reported already, in this launch */
void race_report(const struct race *race);
void race_reports_clear(void);

/* race_cells.c */
struct race_cell *race_cell_of(uint64_t address, bool byte);
void race_cells_clear(void);

#endif
#endif
