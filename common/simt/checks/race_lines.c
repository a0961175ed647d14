/* race_lines.c — what an access does to a line, and when the line must be expanded into cells. See race_lines.h. */
#include "race_lines.h"

#if SIMT_CHECKED

#include <sched.h>
#include <string.h>

void line_wait(struct race_line *line) {
    while (__atomic_exchange_n(&line->lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

static inline void line_set(const struct watcher *self, struct race_line *line, const struct piece *piece, bool store) {
    line->read = store ? 0 : piece->bytes;
    line->written = store ? piece->bytes : 0;
    line->block = self->block;
    line->owner = (uint16_t)piece->owner;
    line->read_clock = line->write_clock = piece->clock;
    line->read_pc = line->write_pc = piece->pc;
    line->warps = line->blocks = 0;
}

/* The owner again: what it did before comes before. False: its accesses have too many different clocks. */
static inline bool line_by_owner(const struct watcher *self, struct race_line *line, const struct piece *piece,
                                 bool store) {
    if (store) {
        if ((line->warps | line->blocks) != 0) return false;
        line->read &= ~piece->bytes;
        if (line->write_clock == piece->clock)
            line->written |= piece->bytes;
        else if ((line->written & ~piece->bytes) == 0)
            line->written = piece->bytes;
        else
            return false;
        line->write_clock = piece->clock;
        line->write_pc = piece->pc;
        return true;
    }
    if (line->read_clock == piece->clock) {
        line->read |= piece->bytes;
    } else if ((line->read & ~piece->bytes) == 0) {
        line->read = piece->bytes;
        if (line->read_clock <= self->barrier) line->warps = 0;
    } else {
        return false;
    }
    line->read_clock = piece->clock;
    line->read_pc = piece->pc;
    return true;
}

static inline bool line_is_old(const struct watcher *self, const struct race_line *line) {
    return (line->read == 0 || line->read_clock <= self->barrier) &&
           (line->written == 0 || line->write_clock <= self->barrier);
}

/* Somebody else. False: the line must be expanded. */
static bool line_by_other(const struct watcher *self, struct race_line *line, const struct piece *piece, bool store) {
    bool shared = self->request->space == TRACE_SHARED;
    bool same_block = line->block == self->block;
    bool old = same_block && line_is_old(self, line);
    /* What a barrier has made past may be forgotten when nobody else can race with it: other blocks can, with global
     * memory, unless this access takes its place. */
    if (old && (shared || (((line->read | line->written) & ~piece->bytes) == 0 && (store || line->written == 0) &&
                           line->blocks == 0))) {
        line_set(self, line, piece, store);
        return true;
    }
    if (store || line->written || (piece->bytes & ~line->read) || piece->words == 0) return false;
    if ((piece->words & ~line->blocks) == 0) return true; /* read by several blocks: one more says nothing new */
    if (!same_block) {
        line->blocks |= piece->words;
        return true;
    }
    if (old || owner_warp(line->owner) == self->warp) return false;
    line->warps |= piece->words;
    return true;
}

bool line_access(const struct watcher *self, struct race_line *line, uint64_t address, const struct piece *piece,
                 bool store) {
    if (is_past(self, line->block)) {
        line_set(self, line, piece, store);
        return true;
    }
    if (line->block == self->block && line->owner == piece->owner) {
        if (line_by_owner(self, line, piece, store)) return true;
    } else if (owner_form(line->owner) == OWNER_EXPANDED) {
        if (self->request->space == TRACE_SHARED) {
            if (line->read_clock <= self->barrier) {
                line_set(self, line, piece, store);
                return true;
            }
            if (line->read_clock < piece->clock) line->read_clock = piece->clock;
        }
        return false;
    } else if (line_by_other(self, line, piece, store)) {
        return true;
    }
    line_expand(line, address, piece->clock);
    return false;
}

/* ---- expanding ---- */

static unsigned lane_of(uint32_t owner, unsigned byte) {
    return owner_form(owner) == OWNER_WARP ? ((byte >> owner_unit(owner)) + owner_lane(owner)) & 31 : owner_lane(owner);
}

static void cell_fill(struct race_cell *cell, const struct race_line *line, unsigned byte, uint16_t value) {
    unsigned lane = lane_of(line->owner, byte), warp = owner_warp(line->owner), word = byte / 4;
    bool read = line->read >> byte & 1, written = line->written >> byte & 1;
    memset(cell, 0, sizeof *cell);
    if (written) {
        cell->writer = (struct race_access){line->block, who_make(line->write_clock, warp, lane), line->write_pc};
        cell->value = value;
    }
    if (!read) return;
    cell->group = (struct race_access){line->block, who_make(line->read_clock, warp, lane), line->read_pc};
    cell->lanes = owner_form(line->owner) == OWNER_BROADCAST ? UINT32_MAX : 1u << lane;
    cell->flags = (uint16_t)(GROUP_READS | (line->warps >> word & 1 ? GROUP_WARPS : 0) |
                             (line->blocks >> word & 1 ? GROUP_BLOCKS : 0));
}

void line_expand(struct race_line *line, uint64_t address, uint32_t clock) {
    uint64_t start = address & ~(uint64_t)(LINE_BYTES - 1);
    const uint16_t *value = race_values_of(start);
    for (unsigned byte = 0; byte < LINE_BYTES; byte += 4) {
        unsigned read = line->read >> byte & 15, written = line->written >> byte & 15;
        if ((read | written) == 0) continue;
        struct race_cell *word = race_cell_of(start + byte, false);
        bool whole = (read == 0 || read == 15) && (written == 0 || written == 15) &&
                     !(owner_form(line->owner) == OWNER_WARP && owner_unit(line->owner) < 2);
        if (whole && !(word->flags & CELL_SPLIT)) {
            cell_fill(word, line, byte, value[byte / 4]);
            continue;
        }
        struct race_cell *bytes = race_cell_of(start + byte, true);
        for (unsigned b = 0; b < 4; b++) cell_fill(&bytes[b], line, byte + b, value[byte / 4]);
        word->flags |= CELL_SPLIT;
    }
    line->owner = (uint16_t)owner_make(OWNER_EXPANDED, 0, 0, 0);
    line->read_clock = clock > line->read_clock ? clock : line->read_clock;
    line->read_clock = line->write_clock > line->read_clock ? line->write_clock : line->read_clock;
}

#else
typedef int race_lines_is_empty_in_the_fast_build;
#endif
