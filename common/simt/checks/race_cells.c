/* race_cells.c — updates the cells of the words that an access touches, and detects the races. See races.h.
 * Accesses that race_lines.c describes by whole lines do not reach the cells.
 *
 * Blocks run on several OS threads and access the same lines and cells: the caller holds the line's lock.
 */
#include "races.h"

#if SIMT_CHECKED

#include <string.h>

#include "race_lines.h"

static inline uint32_t who_of(const struct watcher *self, unsigned lane) {
    return (self->uneven ? who_make(self->clock->lane[lane], self->warp, 0) : self->who) | lane;
}

static inline bool ordered(const struct watcher *self, const struct race_access *access, unsigned lane) {
    if (is_past(self, access->block)) return true;
    if (access->block != self->block) return false;
    if (who_clock(access->who) <= self->barrier) return true;
    return who_warp(access->who) == self->warp &&
           warp_ordered(self->clock, who_lane(access->who), who_clock(access->who), lane);
}

/* ---- groups ---- */

static inline bool group_is_ordered_alike(const struct race_cell *cell) {
    return !(cell->flags & GROUP_CLOCKS);
}

/* The lanes of the group that `lane` of the same warp does not come after. */
static uint32_t group_unordered_lanes(const struct watcher *self, const struct race_cell *cell, unsigned lane) {
    uint32_t when = who_clock(cell->group.who), unordered = 0;
    const uint32_t *clocks = group_is_ordered_alike(cell) ? NULL : group_clocks(cell);
    for (uint32_t rest = cell->lanes; rest; rest &= rest - 1) {
        unsigned from = (unsigned)__builtin_ctz(rest);
        if (!warp_ordered(self->clock, from, clocks ? clocks[from] : when, lane)) unordered |= rest & -rest;
    }
    return unordered;
}

static inline void group_start(const struct watcher *self, struct race_cell *cell, unsigned lane, unsigned kind,
                               unsigned keep) {
    cell->group.block = self->block;
    cell->group.who = who_of(self, lane);
    cell->group.pc = self->request->pc;
    cell->lanes = 1u << lane;
    cell->flags = (uint16_t)((cell->flags & (CELL_SPLIT | WRITER_VOLATILE | keep)) | kind);
}

/* One more lane of the group's own warp, at another clock. Lanes that the new one comes after leave the group: an access
 * that comes after the new one comes after them too. */
static void group_join_later(const struct watcher *self, struct race_cell *cell, unsigned lane, unsigned kind) {
    uint32_t left = group_unordered_lanes(self, cell, lane);
    if (left == 0) {
        group_start(self, cell, lane, kind, GROUP_WARPS | GROUP_BLOCKS);
        return;
    }
    if (group_is_ordered_alike(cell)) {
        uint32_t when = who_clock(cell->group.who);
        uint32_t *clocks = group_clocks(cell);
        for (unsigned l = 0; l < WARP_SIZE; l++) clocks[l] = when;
        cell->flags |= GROUP_CLOCKS;
    }
    group_clocks(cell)[lane] = lane_clock(self->clock, lane);
    cell->lanes = left | 1u << lane;
}

static void group_join(const struct watcher *self, struct race_cell *cell, unsigned lane, unsigned kind) {
    if (is_past(self, cell->group.block)) {
        group_start(self, cell, lane, kind, 0);
    } else if ((cell->flags & GROUP_KIND) != kind) {
        /* The older kind comes before this access, or the pair has been reported. Only volatile reads may coexist with
         * other kinds; of the two the other kind is kept. */
        if (kind != GROUP_VOLATILE_READS || ordered(self, &cell->group, lane)) group_start(self, cell, lane, kind, 0);
    } else if (cell->group.block != self->block) {
        if (!(cell->flags & GROUP_BLOCKS)) cell->flags |= GROUP_BLOCKS;
    } else if (who_clock(cell->group.who) <= self->barrier) {
        group_start(self, cell, lane, kind, GROUP_BLOCKS);
    } else if (who_warp(cell->group.who) != self->warp) {
        cell->flags |= GROUP_WARPS;
    } else if (group_is_ordered_alike(cell) && (who_of(self, lane) ^ cell->group.who) >> 5 == 0) {
        cell->lanes |= 1u << lane;
    } else {
        group_join_later(self, cell, lane, kind);
    }
}

/* ---- pairs ---- */

static const enum trace_kind group_kind[] = {TRACE_READ, TRACE_ATOMIC, TRACE_VOLATILE_READ};

static void conflict(const struct watcher *self, unsigned lane, struct race *race) {
    race->request = self->request;
    race->lane = lane;
    if (race_known(race)) return;
    if (race->other_warp || race->other_block) {
        if (acquired_anything(self->request->warp))
            return; /* the other threads are unknown, so whether it acquired from them is unknown, too */
    } else if (synchronised(race->other, self->request->warp, lane)) {
        return;
    }
    race_report(race);
}

/* Volatile accesses and atomics do not race with each other, because release and acquire need them. An exception is volatile
 * shared memory within a warp: such code assumes that the lanes run in lockstep. */
static inline bool volatile_pair_is_fine(const struct watcher *self, const struct race_access *other) {
    return self->request->space != TRACE_SHARED || other->block != self->block || who_warp(other->who) != self->warp;
}

static __attribute__((noinline)) void against_writer(const struct watcher *self, const struct race_cell *cell,
                                                     unsigned lane) {
    enum trace_kind kind = self->request->kind;
    bool old_volatile = cell->flags & WRITER_VOLATILE;
    if (ordered(self, &cell->writer, lane)) return;
    if (old_volatile && (kind == TRACE_ATOMIC || ((kind == TRACE_VOLATILE_READ || kind == TRACE_VOLATILE_WRITE) &&
                                                  volatile_pair_is_fine(self, &cell->writer))))
        return;
    bool stores = kind == TRACE_WRITE || kind == TRACE_VOLATILE_WRITE;
    conflict(self, lane,
             &(struct race){.other = &cell->writer,
                            .other_kind = old_volatile ? TRACE_VOLATILE_WRITE : TRACE_WRITE,
                            .same_value = stores && self->request->value[lane] == cell->value});
}

/* Any access of the group represents it in the report: the others mostly belong to the same instruction. */
static __attribute__((noinline)) void against_group(const struct watcher *self, const struct race_cell *cell,
                                                    unsigned lane) {
    enum trace_kind kind = self->request->kind, old_kind = group_kind[cell->flags & GROUP_KIND];
    struct race_access other = cell->group;
    struct race race = {.other = &other, .other_kind = old_kind};
    if (old_kind == TRACE_VOLATILE_READ && kind != TRACE_WRITE &&
        (kind == TRACE_ATOMIC || volatile_pair_is_fine(self, &other)))
        return;
    if (old_kind == TRACE_ATOMIC && kind != TRACE_WRITE && kind != TRACE_READ) return;
    if (old_kind == TRACE_ATOMIC && acquired_at(self->request, lane)) return;
    if (other.block == self->block) {
        bool old = who_clock(other.who) <= self->barrier;
        bool same_warp = who_warp(other.who) == self->warp;
        uint32_t lanes = old || !same_warp ? 0 : group_unordered_lanes(self, cell, lane);
        if (lanes) {
            unsigned from = (unsigned)__builtin_ctz(lanes);
            uint32_t when = group_is_ordered_alike(cell) ? who_clock(other.who) : group_clocks(cell)[from];
            other.who = who_make(when, self->warp, from);
        } else if (cell->flags & GROUP_BLOCKS) {
            race.other_block = true;
        } else if (old) {
            return;
        } else if (same_warp) {
            if (!(cell->flags & GROUP_WARPS)) return;
            race.other_warp = true;
        }
    }
    conflict(self, lane, &race);
}

/* ---- accesses ---- */

static inline bool own_writer(const struct watcher *self, const struct race_cell *cell, unsigned lane) {
    return is_past(self, cell->writer.block) ||
           (cell->writer.block == self->block && who_clock(cell->writer.who) <= self->barrier) ||
           (cell->writer.block == self->block && (cell->writer.who & 1023) == (self->warp << 5 | lane));
}

static inline void on_read(const struct watcher *self, struct race_cell *cell, unsigned lane, unsigned kind) {
    if (!own_writer(self, cell, lane)) against_writer(self, cell, lane);
    if (!is_past(self, cell->group.block) && (cell->flags & GROUP_KIND) == GROUP_ATOMICS && kind == GROUP_READS &&
        !(cell->group.block == self->block && who_clock(cell->group.who) <= self->barrier))
        against_group(self, cell, lane);
    if (cell->group.block == self->block && (who_of(self, lane) ^ cell->group.who) >> 5 == 0 &&
        (cell->flags & (GROUP_KIND | GROUP_CLOCKS)) == kind)
        cell->lanes |= 1u << lane;
    else
        group_join(self, cell, lane, kind);
}

static inline void on_atomic(const struct watcher *self, struct race_cell *cell, unsigned lane) {
    if (!own_writer(self, cell, lane)) against_writer(self, cell, lane);
    if (!is_past(self, cell->group.block) && (cell->flags & GROUP_KIND) != GROUP_ATOMICS)
        against_group(self, cell, lane);
    group_join(self, cell, lane, GROUP_ATOMICS);
}

static inline void on_write(const struct watcher *self, struct race_cell *cell, unsigned lane, bool is_volatile) {
    if (!own_writer(self, cell, lane)) against_writer(self, cell, lane);
    if (!is_past(self, cell->group.block)) against_group(self, cell, lane);
    cell->writer.block = self->block;
    cell->writer.who = who_of(self, lane);
    cell->writer.pc = self->request->pc;
    cell->group.block = 0;
    cell->value = self->request->value[lane];
    cell->flags = (uint16_t)((cell->flags & CELL_SPLIT) | (is_volatile ? WRITER_VOLATILE : 0));
}

static inline __attribute__((always_inline)) void on_access(const struct watcher *self, struct race_cell *cell,
                                                            unsigned lane, enum trace_kind kind) {
    switch (kind) {
        case TRACE_READ: on_read(self, cell, lane, GROUP_READS); break;
        case TRACE_VOLATILE_READ: on_read(self, cell, lane, GROUP_VOLATILE_READS); break;
        case TRACE_ATOMIC: on_atomic(self, cell, lane); break;
        default: on_write(self, cell, lane, kind == TRACE_VOLATILE_WRITE); break;
    }
}

/* From now on the bytes of this word have cells of their own. */
static void split(const struct watcher *self, struct race_cell *word, struct race_cell *byte) {
    bool fresh = is_past(self, word->writer.block) && is_past(self, word->group.block);
    for (unsigned b = 0; b < 4; b++) {
        if (fresh)
            memset(&byte[b], 0, sizeof byte[b]);
        else
            byte[b] = *word;
        if (!fresh && word->flags & GROUP_CLOCKS)
            memcpy(group_clocks(&byte[b]), group_clocks(word), WARP_SIZE * sizeof(uint32_t));
    }
    word->flags |= CELL_SPLIT;
}

static __attribute__((noinline)) void on_bytes(const struct watcher *self, uint64_t address, unsigned bytes,
                                               unsigned lane) {
    struct race_cell *word = race_cell_of(address, false);
    struct race_cell *byte = race_cell_of(address & ~UINT64_C(3), true);
    if (!(word->flags & CELL_SPLIT)) split(self, word, byte);
    for (unsigned b = address & 3, i = 0; i < bytes; b++, i++) on_access(self, &byte[b], lane, self->request->kind);
}

void cells_access(const struct watcher *self, unsigned lane) {
    const struct request *request = self->request;
    uint64_t address = request->address[lane];
    if (request->size_log2 < 2) {
        on_bytes(self, address, 1u << request->size_log2, lane);
        return;
    }
    struct race_cell *cell = race_cell_of(address, false);
    for (unsigned w = 0; w < 1u << (request->size_log2 - 2); w++) {
        if (cell[w].flags & CELL_SPLIT)
            on_bytes(self, address + 4 * w, 4, lane);
        else
            on_access(self, &cell[w], lane, request->kind);
    }
}

uint32_t cells_read(const struct watcher *self, struct race_cell *cell, uint32_t lanes) {
    unsigned first = (unsigned)__builtin_ctz(lanes);
    if (self->uneven || self->request->size_log2 != 2 || cell->flags & CELL_SPLIT) {
        cells_access(self, first);
        return 1u << first;
    }
    bool writer_ordered = is_past(self, cell->writer.block) ||
                          (cell->writer.block == self->block && who_clock(cell->writer.who) <= self->barrier);
    on_read(self, cell, first, GROUP_READS);
    if (!writer_ordered || (cell->flags & (GROUP_KIND | GROUP_CLOCKS)) != GROUP_READS ||
        cell->group.block != self->block || (cell->group.who ^ self->who) >> 5 != 0)
        return 1u << first;
    cell->lanes |= lanes;
    return lanes;
}

#else
typedef int race_cells_is_empty_in_the_fast_build;
#endif
