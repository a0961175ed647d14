/* race_requests.c — takes requests apart into lines, and lines that the cells know into lanes.
 *
 * A thread that walks along its row touches a line many times. Such walks, of all lanes side by side, are gathered into
 * runs and told to the lines at once, before the merge ends or a clock moves on: in between, the order does not matter.
 */
#include "race_lines.h"

#if SIMT_CHECKED

#include <string.h>

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

/* Lanes in order along memory. */
static void request_in_order(const struct watcher *self, bool store) {
    const struct request *request = self->request;
    unsigned unit = request->size_log2;
    unsigned lane = request->first, end = request->first + request->lanes;
    while (lane < end) {
        uint64_t address = request->address[lane];
        unsigned start = address & (LINE_BYTES - 1);
        unsigned lanes = (LINE_BYTES - start) >> unit;
        if (lanes > end - lane) lanes = end - lane;
        struct piece piece = {
            .bytes = bytes_from(start, lanes << unit),
            .words = words_from(start, lanes << unit),
            .owner = owner_make(OWNER_WARP, unit, self->warp, (lane - (start >> unit)) & 31),
            .clock = who_clock(self->who),
            .pc = request->pc,
        };
        struct race_line *line = race_line_of(address);
        line_lock(self, line);
        if (!line_access(self, line, address, &piece, store))
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
    struct piece piece = {
        .bytes = bytes_from(start, count),
        .words = words_from(start, count),
        .owner = owner_make(OWNER_BROADCAST, 0, self->warp, 0),
        .clock = who_clock(self->who),
        .pc = self->request->pc,
    };
    struct race_line *line = race_line_of(address);
    line_lock(self, line);
    if (!line_access(self, line, address, &piece, false)) cells_broadcast(self);
    line_unlock(self, line);
}

static inline void request_scattered(const struct watcher *self, bool store) {
    const struct request *request = self->request;
    unsigned count = 1u << request->size_log2;
    for (uint32_t rest = request->mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        uint64_t address = request->address[lane];
        unsigned start = address & (LINE_BYTES - 1);
        struct piece piece = {
            .bytes = bytes_from(start, count),
            .words = words_from(start, count),
            .owner = owner_make(OWNER_THREAD, 0, self->warp, lane),
            .clock = self->uneven ? self->clock->lane[lane] : who_clock(self->who),
            .pc = request->pc,
        };
        struct race_line *line = race_line_of(address);
        line_lock(self, line);
        if (!line_access(self, line, address, &piece, store))
            cells_access(self, lane);
        else if (store)
            note_values(request, lane, 1);
        line_unlock(self, line);
    }
}

/* ---- runs ---- */

enum { RUNS = 16, RUN_LENGTH = 32 };
static __thread struct run {
    struct watcher self;
    struct request request; /* the first of the run; its arrays are not used */
    uint64_t start[WARP_SIZE];
    uint32_t length; /* requests so far, each one unit further on; 0: none */
    uint16_t value[RUN_LENGTH][WARP_SIZE];
} runs[RUNS];
static __thread uint32_t open_runs; /* mask */

/* One lane's way through one line, access by access: for the cells. */
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

static void run_close(struct run *run) {
    const struct request *request = &run->request;
    bool store = request->kind == TRACE_WRITE;
    /* The lines of 32 rows are 32 misses: all at once. */
    for (uint32_t rest = request->mask; rest; rest &= rest - 1)
        __builtin_prefetch(race_line_of(run->start[__builtin_ctz(rest)]), 1);
    for (uint32_t rest = request->mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest), count = run->length;
        uint64_t address = run->start[lane];
        while (count) {
            unsigned start = address & (LINE_BYTES - 1), here = (LINE_BYTES - start) >> request->size_log2;
            here = here < count ? here : count;
            struct piece piece = {
                .bytes = bytes_from(start, here << request->size_log2),
                .words = words_from(start, here << request->size_log2),
                .owner = owner_make(OWNER_THREAD, 0, run->self.warp, lane),
                .clock = who_clock(run->self.who),
                .pc = request->pc,
            };
            struct race_line *line = race_line_of(address);
            line_lock(&run->self, line);
            if (!line_access(&run->self, line, address, &piece, store))
                run_replay(run, lane, address, here);
            else if (store)
                run_note_values(run, lane, address, here);
            line_unlock(&run->self, line);
            address += here << request->size_log2;
            count -= here;
        }
    }
    run->length = 0;
}

void races_close_runs(void) {
    for (; open_runs; open_runs &= open_runs - 1) run_close(&runs[__builtin_ctz(open_runs)]);
}

static inline bool run_continues(const struct run *run, const struct request *request) {
    const struct request *first = &run->request;
    return run->length && first->pc == request->pc && first->mask == request->mask &&
           first->stride == request->stride && first->kind == request->kind && first->space == request->space &&
           first->size_log2 == request->size_log2 && run->length < RUN_LENGTH &&
           request->address[request->first] ==
               run->start[request->first] + ((uint64_t)run->length << request->size_log2);
}

static inline void run_add(struct run *run, const struct request *request) {
    if (request->kind == TRACE_WRITE) memcpy(run->value[run->length], request->value, sizeof run->value[0]);
    run->length++;
}

static inline struct run *run_of(const struct request *request) {
    return &runs[(request->pc ^ request->pc >> 4) % RUNS];
}

static inline void run_start(struct run *run, const struct watcher *self) {
    if (run->length) run_close(run);
    run->self = *self;
    run->request = *self->request;
    run->self.request = &run->request;
    memcpy(run->start, self->request->address, sizeof run->start);
    open_runs |= 1u << (run - runs);
}

/* Atomics and volatile accesses are for the cells. */
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
        if (owner_form(line->owner) != OWNER_EXPANDED || line->read_clock < clock)
            line_expand(line, request->address[lane], clock);
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
    struct run *run = run_of(request);
    if (in_step && run_continues(run, request)) {
        run_add(run, request);
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
        run_add(run, request);
    } else if (store) {
        request_scattered(&self, true);
    } else {
        request_scattered(&self, false);
    }
}

#else
typedef int race_requests_is_empty_in_the_fast_build;
#endif
