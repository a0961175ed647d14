/* race_lines.h — the fast path of the race detector. Nearly all memory is accessed 128 bytes at a time by one warp, lane
 * after lane, or word after word by one thread. Such a line is described once, not word by word.
 *
 * A line has one owner: a thread; a warp whose lanes access it in order; or a warp whose lanes all read the same place.
 * The line records the bytes that the owner has read and written, and the words that other threads have read. Any other
 * access expands the line into cells (races.h), which describe each word and detect the races. A line is whole again in
 * the next launch; in shared memory in the next block, or behind a barrier.
 */
#ifndef SIMT_RACE_LINES_H
#define SIMT_RACE_LINES_H

#include "races.h"

#if SIMT_CHECKED

__extension__ typedef unsigned __int128 byte_mask;

enum { LINE_SHIFT = 7, LINE_BYTES = 1 << LINE_SHIFT };

enum owner_form {
    OWNER_THREAD,    /* every byte: one lane */
    OWNER_WARP,      /* unit u of the line: lane (u + lane) % 32 */
    OWNER_BROADCAST, /* every byte: all lanes; reads only */
    OWNER_EXPANDED,  /* see the cells; read_clock is that of the latest access */
};

/* form | log2 of the unit | warp | lane */
static inline uint32_t owner_make(enum owner_form form, unsigned unit, unsigned warp, unsigned lane) {
    return (uint32_t)form << 13 | unit << 10 | warp << 5 | lane;
}
static inline enum owner_form owner_form(uint32_t owner) {
    return (enum owner_form)(owner >> 13);
}
static inline unsigned owner_unit(uint32_t owner) {
    return owner >> 10 & 7;
}
static inline unsigned owner_warp(uint32_t owner) {
    return owner >> 5 & 31;
}
static inline unsigned owner_lane(uint32_t owner) {
    return owner & 31;
}

struct race_line {
    byte_mask read, written; /* by the owner; read: since it was written */
    uint32_t block;
    uint16_t owner;
    uint8_t lock; /* of the line and its cells */
    uint32_t read_clock, read_pc, write_clock, write_pc;
    uint32_t warps, blocks; /* words that other warps of the block, other blocks have read; then no byte is written */
};

struct race_line *race_line_of(uint64_t address);
uint16_t *race_values_of(uint64_t address); /* hashes of the last stores, word by word, along the line */

/* The warp that makes a request, and its clocks. */
struct watcher {
    const struct request *request;
    const struct warp_clock *clock;
    uint32_t block, barrier;
    uint32_t first_block, blocks; /* that can race with it: of the launch; of shared memory, its own */
    uint32_t who;                 /* of lane 0; the clock is that of all lanes unless uneven */
    unsigned warp;
    bool uneven;
    bool locks; /* blocks on other OS threads may touch the same lines: global memory */
};

static inline bool is_past(const struct watcher *self, uint32_t block) {
    return block - self->first_block >= self->blocks;
}

/* race_cells.c: access by cells, of one lane; and a read of one place, whose cell is given, by several lanes. The first lane
 * reads, and stands for all if the last store comes before all of them. Returns the lanes that have read. */
void cells_access(const struct watcher *self, unsigned lane);
uint32_t cells_read(const struct watcher *self, struct race_cell *cell, uint32_t lanes);

#endif
#endif
