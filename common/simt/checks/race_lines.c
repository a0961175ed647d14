/* race_lines.c — splits requests into lines, updates the lines, and expands lines into cells. See race_lines.h.
 *
 * A thread that reads along its row accesses a line many times. Such requests, of all lanes side by side, are gathered
 * into runs. A run is processed at once, before the merge ends or a clock advances: in between, the order is irrelevant.
 */
#include "race_lines.h"

#if SIMT_CHECKED

#include <sched.h>
#include <string.h>

#include "counters.h"
#include "engine/lanes.h"
#include "shadow.h"

/* The bytes of one line that a request accesses. */
struct span {
    byte_mask bytes;
    uint32_t words; /* as words; 0 when words are accessed by parts */
    uint32_t owner, clock, pc;
};

static __attribute__((noinline)) void line_wait(struct race_line *line) {
    while (__atomic_exchange_n(&line->lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

/* Held around everything that a request does to one line and its cells. */
static inline void line_lock(const struct watcher *self, struct race_line *line) {
    if (self->locks && __atomic_exchange_n(&line->lock, 1, __ATOMIC_ACQUIRE)) line_wait(line);
}
static inline void line_unlock(const struct watcher *self, struct race_line *line) {
    if (self->locks) __atomic_store_n(&line->lock, 0, __ATOMIC_RELEASE);
}

/* ---- expansion into cells ---- */

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

/* From now on the cells of the line describe it. */
static __attribute__((noinline)) void line_expand(struct race_line *line, uint64_t address, uint32_t clock) {
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

/* ---- accesses of a line ---- */

static inline void line_set(const struct watcher *self, struct race_line *line, const struct span *span, bool store) {
    line->read = store ? 0 : span->bytes;
    line->written = store ? span->bytes : 0;
    line->block = self->block;
    line->owner = (uint16_t)span->owner;
    line->read_clock = line->write_clock = span->clock;
    line->read_pc = line->write_pc = span->pc;
    line->warps = line->blocks = 0;
}

/* An access of the owner, which comes after the owner's earlier accesses. False: too many different clocks. */
static inline bool line_by_owner(const struct watcher *self, struct race_line *line, const struct span *span,
                                 bool store) {
    if (store) {
        if ((line->warps | line->blocks) != 0) return false;
        line->read &= ~span->bytes;
        if (line->write_clock == span->clock)
            line->written |= span->bytes;
        else if ((line->written & ~span->bytes) == 0)
            line->written = span->bytes;
        else
            return false;
        line->write_clock = span->clock;
        line->write_pc = span->pc;
        return true;
    }
    if (line->read_clock == span->clock) {
        line->read |= span->bytes;
    } else if ((line->read & ~span->bytes) == 0) {
        line->read = span->bytes;
        if (line->read_clock <= self->barrier) line->warps = 0;
    } else {
        return false;
    }
    line->read_clock = span->clock;
    line->read_pc = span->pc;
    return true;
}

static inline bool line_is_old(const struct watcher *self, const struct race_line *line) {
    return (line->read == 0 || line->read_clock <= self->barrier) &&
           (line->written == 0 || line->write_clock <= self->barrier);
}

/* An access of another thread or warp. False: the line must be expanded. */
static bool line_by_other(const struct watcher *self, struct race_line *line, const struct span *span, bool store) {
    bool shared = self->request->space == TRACE_SHARED;
    bool same_block = line->block == self->block;
    bool old = same_block && line_is_old(self, line);
    /* Accesses before the last barrier may be dropped if no other thread can race with them. In global memory other blocks
     * can, unless this access replaces the earlier ones. */
    if (old && (shared || (((line->read | line->written) & ~span->bytes) == 0 && (store || line->written == 0) &&
                           line->blocks == 0))) {
        line_set(self, line, span, store);
        return true;
    }
    if (store || line->written || (span->bytes & ~line->read) || span->words == 0) return false;
    if ((span->words & ~line->blocks) == 0) return true; /* read by several blocks: one more changes nothing */
    if (!same_block) {
        line->blocks |= span->words;
        return true;
    }
    if (old || owner_warp(line->owner) == self->warp) return false;
    line->warps |= span->words;
    return true;
}

/* False: the access must be made by cells, lane by lane. */
static __attribute__((noinline)) bool line_access(const struct watcher *self, struct race_line *line, uint64_t address,
                                                  const struct span *span, bool store) {
    if (is_past(self, line->block)) {
        line_set(self, line, span, store);
        return true;
    }
    if (line->block == self->block && line->owner == span->owner) {
        if (line_by_owner(self, line, span, store)) return true;
    } else if (owner_form(line->owner) == OWNER_EXPANDED) {
        if (self->request->space == TRACE_SHARED) {
            if (line->read_clock <= self->barrier) {
                line_set(self, line, span, store);
                return true;
            }
            if (line->read_clock < span->clock) line->read_clock = span->clock;
        }
        return false;
    } else if (line_by_other(self, line, span, store)) {
        return true;
    }
    line_expand(line, address, span->clock);
    return false;
}

/* ---- requests ---- */

#define ALL_BYTES (~(byte_mask)0)

static inline byte_mask bytes_from(unsigned start, unsigned count) {
    return (count == LINE_BYTES ? ALL_BYTES : ((byte_mask)1 << count) - 1) << start;
}

static inline uint32_t words_from(unsigned start, unsigned count) {
    if ((start | count) & 3) return 0;
    return (count == LINE_BYTES ? UINT32_MAX : (1u << count / 4) - 1) << start / 4;
}

static void note_values(const struct request *request, unsigned lane, unsigned lanes) {
    uint64_t address = request->address[lane];
    uint16_t *value = race_values_of(address);
    if (request->size_log2 == 2) {
        memcpy(value, &request->value[lane], lanes * sizeof *value);
        return;
    }
    for (unsigned l = lane; l < lane + lanes; l++) {
        unsigned words = request->size_log2 > 2 ? 1u << (request->size_log2 - 2) : 1;
        for (unsigned w = 0; w < words; w++) race_values_of(request->address[l])[w] = request->value[l];
    }
}

/* Lanes that access consecutive memory in order. */
static void request_in_order(const struct watcher *self, bool store) {
    const struct request *request = self->request;
    unsigned unit = request->size_log2;
    unsigned lane = request->first, end = request->first + request->lanes;
    while (lane < end) {
        uint64_t address = request->address[lane];
        unsigned start = address & (LINE_BYTES - 1);
        unsigned lanes = (LINE_BYTES - start) >> unit;
        if (lanes > end - lane) lanes = end - lane;
        struct span span = {
            .bytes = bytes_from(start, lanes << unit),
            .words = words_from(start, lanes << unit),
            .owner = owner_make(OWNER_WARP, unit, self->warp, (lane - (start >> unit)) & 31),
            .clock = who_clock(self->who),
            .pc = request->pc,
        };
        struct race_line *line = race_line_of(address);
        line_lock(self, line);
        if (!line_access(self, line, address, &span, store))
            for (unsigned l = lane; l < lane + lanes; l++) cells_access(self, l);
        else if (store)
            note_values(request, lane, lanes);
        line_unlock(self, line);
        lane += lanes;
    }
}

static void request_broadcast(const struct watcher *self) {
    uint64_t address = self->request->address[0];
    unsigned start = address & (LINE_BYTES - 1), count = 1u << self->request->size_log2;
    struct span span = {
        .bytes = bytes_from(start, count),
        .words = words_from(start, count),
        .owner = owner_make(OWNER_BROADCAST, 0, self->warp, 0),
        .clock = who_clock(self->who),
        .pc = self->request->pc,
    };
    struct race_line *line = race_line_of(address);
    line_lock(self, line);
    if (!line_access(self, line, address, &span, false))
        for (uint32_t rest = UINT32_MAX; rest;) rest &= ~cells_read(self, race_cell_of(address, false), rest);
    line_unlock(self, line);
}

/* Lanes that access the same word as `lane`, which is the first of `rest`. Often the lanes of a warp form a few rows: `shape`
 * is the set that was found for an earlier lane, moved to lane 0, or 0. */
static uint32_t lanes_alike(const struct request *request, uint32_t rest, unsigned lane, uint32_t *shape) {
    uint32_t alike = 0;
    for (uint32_t lanes = *shape ? *shape << lane & rest : rest; lanes; lanes &= lanes - 1) {
        unsigned l = (unsigned)__builtin_ctz(lanes);
        alike |= (uint32_t)(request->address[l] == request->address[lane]) << l;
    }
    if (*shape == 0) *shape = alike >> lane;
    return alike;
}

/* The first lane of `rest` reads an expanded line, and so do the lanes behind it up to one at another line. Returns them. */
static uint32_t cells_read_line(const struct watcher *self, uint32_t rest, uint32_t *shape) {
    const uint64_t *address = self->request->address;
    unsigned first = (unsigned)__builtin_ctz(rest), lane = first;
    struct race_cell *cells = race_cell_of(address[first] & -(uint64_t)LINE_BYTES, false);
    uint32_t left = rest;
    do {
        struct race_cell *cell = &cells[address[lane] % LINE_BYTES / 4];
        left &= ~cells_read(self, cell, lanes_alike(self->request, left, lane, shape));
        lane = left ? (unsigned)__builtin_ctz(left) : first;
    } while (left && (address[lane] ^ address[first]) < LINE_BYTES);
    return rest & ~left;
}

static inline void request_scattered(const struct watcher *self, bool store) {
    const struct request *request = self->request;
    unsigned count = 1u << request->size_log2;
    uint32_t shape = 0, done;
    for (uint32_t rest = request->mask; rest; rest &= ~done) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        uint64_t address = request->address[lane];
        unsigned start = address & (LINE_BYTES - 1);
        struct span span = {
            .bytes = bytes_from(start, count),
            .words = words_from(start, count),
            .owner = owner_make(OWNER_THREAD, 0, self->warp, lane),
            .clock = self->uneven ? self->clock->lane[lane] : who_clock(self->who),
            .pc = request->pc,
        };
        struct race_line *line = race_line_of(address);
        done = 1u << lane;
        line_lock(self, line);
        if (!line_access(self, line, address, &span, store)) {
            if (store)
                cells_access(self, lane);
            else
                done = cells_read_line(self, rest, &shape);
        } else if (store) {
            note_values(request, lane, 1);
        }
        line_unlock(self, line);
    }
}

/* ---- runs ---- */

enum { RUNS = 16, RUN_LENGTH = 96, CACHE_LINE = 64 };
static __thread struct run {
    struct watcher self;
    struct request request; /* the first of the run, without values */
    uint64_t start[WARP_SIZE] __attribute__((aligned(16)));
    uint32_t length;  /* requests so far, each one unit further on; 0: none */
    uint32_t limit;   /* up to this length races_repeat() takes further requests; 0: none */
    uint32_t repeats; /* requests that it has taken: not counted yet */
    uint16_t value[RUN_LENGTH][WARP_SIZE];
} runs[RUNS];
static __thread uint32_t open_runs; /* mask */

/* The accesses of one lane to one line, one by one, for the cells. */
static void run_replay(const struct run *run, unsigned lane, uint64_t address, unsigned count) {
    struct request request = run->request;
    struct watcher self = run->self;
    uint64_t addresses[WARP_SIZE];
    uint16_t values[WARP_SIZE];
    self.request = &request;
    request.address = addresses;
    request.value = values;
    for (unsigned i = 0; i < count; i++, address += 1u << request.size_log2) {
        addresses[lane] = address;
        values[lane] = run->value[(address - run->start[lane]) >> request.size_log2][lane];
        cells_access(&self, lane);
    }
}

static void run_note_values(const struct run *run, unsigned lane, uint64_t address, unsigned count) {
    unsigned unit = run->request.size_log2, words = unit > 2 ? 1u << (unit - 2) : 1;
    unsigned i = (unsigned)((address - run->start[lane]) >> unit);
    uint16_t *value = race_values_of(address);
    uint64_t in_word = address & 3;
    if (unit == 2) {
        for (unsigned n = 0; n < count; n++) value[n] = run->value[i + n][lane];
        return;
    }
    for (unsigned n = 0; n < count; n++)
        for (unsigned w = 0; w < words; w++)
            value[unit < 2 ? (in_word + (n << unit)) >> 2 : n * words + w] = run->value[i + n][lane];
}

/* The lines of 32 rows are 32 cache misses. */
static void run_prefetch_lines(const struct run *run, uint64_t offset) {
    for (uint32_t rest = run->request.mask; rest; rest &= rest - 1)
        races_prefetch(run->start[__builtin_ctz(rest)] + offset);
}

/* The threads will probably access as much again, behind the run. */
static void run_prefetch_next(const struct run *run) {
    uint64_t bytes = (uint64_t)run->length << run->request.size_log2;
    for (uint32_t rest = run->request.mask; rest; rest &= rest - 1) {
        uint64_t end = run->start[__builtin_ctz(rest)] + bytes;
        for (uint64_t ahead = 0; ahead < bytes; ahead += CACHE_LINE)
            __builtin_prefetch((const void *)(end + ahead), 0, 2);
        __builtin_prefetch(shadow_of(end + bytes), 0, 2);
    }
}

static void run_count(struct run *run) {
    const struct request *request = &run->request;
    struct simt_warp *warp = request->warp;
    counters_repeat(request, run->repeats);
    if (request->kind == TRACE_WRITE) warp->block->effects += run->repeats;
    if (request->space == TRACE_GLOBAL) warp->trace->global_requests += run->repeats;
}

static void run_close(struct run *run) {
    const struct request *request = &run->request;
    bool store = request->kind == TRACE_WRITE;
    if (run->length > 1) {
        run_prefetch_lines(run, (uint64_t)(run->length - 1) << request->size_log2);
        run_prefetch_next(run);
    }
    if (run->repeats) run_count(run);
    for (uint32_t rest = request->mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest), count = run->length;
        uint64_t address = run->start[lane];
        while (count) {
            unsigned start = address & (LINE_BYTES - 1), here = (LINE_BYTES - start) >> request->size_log2;
            here = here < count ? here : count;
            struct span span = {
                .bytes = bytes_from(start, here << request->size_log2),
                .words = words_from(start, here << request->size_log2),
                .owner = owner_make(OWNER_THREAD, 0, run->self.warp, lane),
                .clock = who_clock(run->self.who),
                .pc = request->pc,
            };
            struct race_line *line = race_line_of(address);
            line_lock(&run->self, line);
            if (!line_access(&run->self, line, address, &span, store))
                run_replay(run, lane, address, here);
            else if (store)
                run_note_values(run, lane, address, here);
            line_unlock(&run->self, line);
            address += here << request->size_log2;
            count -= here;
        }
    }
    run->length = run->limit = 0;
}

void races_close_runs(void) {
    for (; open_runs; open_runs &= open_runs - 1) run_close(&runs[__builtin_ctz(open_runs)]);
}

static inline uint64_t run_bytes(const struct run *run) {
    return (uint64_t)run->length << run->request.size_log2;
}

static inline bool run_continues(const struct run *run, const struct request *request) {
    const struct request *first = &run->request;
    return run->length && first->key == request->key && first->mask == request->mask &&
           first->stride == request->stride && run->length < RUN_LENGTH &&
           request->address[request->first] == run->start[request->first] + run_bytes(run);
}

static inline void run_add(struct run *run, enum trace_kind kind, const uint16_t *value) {
    if (run_bytes(run) % LINE_BYTES == 0) run_prefetch_lines(run, run_bytes(run));
    if (kind == TRACE_WRITE) memcpy(run->value[run->length], value, sizeof run->value[0]);
    run->length++;
}

static inline struct run *run_of(uint64_t key) {
    return &runs[(key >> 32 ^ key >> 36) % RUNS];
}

static inline void run_start(struct run *run, const struct watcher *self) {
    if (run->length) run_close(run);
    run->self = *self;
    run->request = *self->request;
    run->self.request = &run->request;
    memcpy(run->start, self->request->address, sizeof run->start);
    run->request.address = run->start;
    run->limit = run->request.mask == UINT32_MAX ? 1 + counters_repeatable(&run->request) : 0;
    if (run->limit > RUN_LENGTH) run->limit = RUN_LENGTH;
    run->repeats = 0;
    open_runs |= 1u << (run - runs);
}

bool races_repeat(uint64_t key, const uint64_t *address, const uint16_t *value) {
    struct run *run = run_of(key);
    if (run->length >= run->limit || run->request.key != key || !all_moved(address, run->start, run_bytes(run)))
        return false;
    run_add(run, run->request.kind, value);
    run->repeats++;
    return true;
}

/* Atomics and volatile accesses use the cells. */
static void request_by_cells(const struct watcher *self) {
    const struct request *request = self->request;
    for (uint32_t rest = request->mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        struct race_line *line = race_line_of(request->address[lane]);
        uint32_t clock = self->uneven ? self->clock->lane[lane] : who_clock(self->who);
        line_lock(self, line);
        if (is_past(self, line->block)) {
            line->block = self->block;
            line->read = line->written = 0;
            line->read_clock = line->write_clock = 0;
        }
        if (owner_form(line->owner) != OWNER_EXPANDED)
            line_expand(line, request->address[lane], clock);
        else if (line->read_clock < clock)
            line->read_clock = clock;
        cells_access(self, lane);
        line_unlock(self, line);
    }
}

static inline struct watcher watcher_of(const struct request *request) {
    const struct simt_block *block = request->warp->block;
    const struct block_races *races = block->races;
    const struct warp_clock *clock = &races->warp[request->warp->index];
    bool shared = request->space == TRACE_SHARED;
    return (struct watcher){
        .request = request,
        .clock = clock,
        .block = race_block_number(block),
        .barrier = races->barrier,
        .first_block = shared ? race_block_number(block) : races_first_block,
        .blocks = shared ? 1 : (uint32_t)block->launch->blocks,
        .who = who_make(clock->tick, request->warp->index, 0),
        .warp = request->warp->index,
        .uneven = clock->uneven,
        .locks = !shared && races_concurrent,
    };
}

void races_request(const struct request *request) {
    const struct block_races *races = request->warp->block->races;
    if (request->space == TRACE_CONSTANT || races->off) return;
    bool store = request->kind == TRACE_WRITE, plain = request->kind <= TRACE_WRITE;
    bool in_step = plain && request->strided && request->lanes > 1 && !races->warp[request->warp->index].uneven;
    struct run *run = run_of(request->key);
    if (in_step && run_continues(run, request)) {
        run_add(run, request->kind, request->value);
        return;
    }
    struct watcher self = watcher_of(request);
    if (!plain) {
        races_close_runs();
        request_by_cells(&self);
        uint32_t noted = 0;
        for (uint32_t rest = request->mask; rest; rest &= rest - 1)
            if (request->value[__builtin_ctz(rest)]) noted |= rest & -rest;
        if (noted) clock_advance(request->warp, noted);
    } else if (in_step && request->stride == (int64_t)1 << request->size_log2) {
        request_in_order(&self, store);
    } else if (!store && in_step && request->mask == UINT32_MAX && request->stride == 0) {
        request_broadcast(&self);
    } else if (in_step && request->stride != 0) {
        run_start(run, &self);
        run_add(run, request->kind, request->value);
    } else if (store) {
        request_scattered(&self, true);
    } else {
        request_scattered(&self, false);
    }
}

#else
typedef int race_lines_is_empty_in_the_fast_build;
#endif
