/* acquire_release.c — release and acquire order between threads: a thread writes, fences and makes an atomic (or a volatile
 * store); another makes an atomic (or a volatile load) of the same place and then reads. Examples: the tickets of the
 * last-block pattern, flags, locks.
 *
 * Releases and acquires are recorded while the lanes run, because their order in time counts. The record is searched
 * only when the clocks alone find two accesses unordered. Nothing is recorded before the first fence of a launch. A
 * place keeps its releases in order of time. A later acquire there synchronises with all of them, and with what
 * the releasing threads had acquired before.
 */
#include "races.h"

#if SIMT_CHECKED

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point { /* a thread, and a clock of its own */
    uint32_t block, clock;
    unsigned warp, lane;
};

struct release {
    struct point by;
    struct fence_reach reach[2]; /* block scope, device scope */
    uint32_t earlier;            /* the block's release before this one at this place, index + 1 */
};

struct place { /* an aligned word of 4 bytes */
    struct release *release;
    uint32_t count, room;
    uint32_t visited; /* by the search that runs */
};

struct acquire {
    struct point by;
    struct place *place;
    uint32_t version; /* releases that came before */
};

/* The acquires of the threads of a block. */
struct block_acquires {
    struct acquire *acquire;
    uint32_t count, room;
};

bool trace_fence_met;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Hash tables: open addressing, doubled when half full. A key with a == 0 is free. */
static struct table {
    struct table_slot {
        uint64_t a, b; /* the key */
        uintptr_t value;
    } * slot;
    size_t count, room;
} places,    /* (address, block) to struct place * */
    blocks,  /* (block, 1) to struct block_acquires * */
    latests; /* (struct place *, block) to the block's latest release at the place, index + 1 */

static void *must(void *memory) {
    if (memory == NULL) {
        fputs("simt: out of memory for the race detector\n", stderr);
        abort();
    }
    return memory;
}

static size_t hash(uint64_t a, uint64_t b) {
    uint64_t mixed = (a ^ b * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u;
    return (size_t)(mixed ^ mixed >> 32);
}

static struct table_slot *table_slot(const struct table *table, uint64_t a, uint64_t b) {
    size_t i = hash(a, b) & (table->room - 1);
    while (table->slot[i].a && (table->slot[i].a != a || table->slot[i].b != b)) i = (i + 1) & (table->room - 1);
    return &table->slot[i];
}

/* The value of the key; 0 if there is none. */
static uintptr_t table_get(const struct table *table, uint64_t a, uint64_t b) {
    return table->room ? table_slot(table, a, b)->value : 0;
}

/* The place of the key's value, 0 at first. Valid until the next addition. */
static uintptr_t *table_add(struct table *table, uint64_t a, uint64_t b) {
    if ((table->count + 1) * 2 > table->room) {
        struct table old = *table;
        table->room = old.room ? old.room * 2 : 64;
        table->slot = must(calloc(table->room, sizeof *table->slot));
        for (size_t i = 0; i < old.room; i++)
            if (old.slot[i].a) *table_slot(table, old.slot[i].a, old.slot[i].b) = old.slot[i];
        free(old.slot);
    }
    struct table_slot *slot = table_slot(table, a, b);
    if (slot->a == 0) {
        slot->a = a;
        slot->b = b;
        table->count++;
    }
    return &slot->value;
}

/* The object of the key, of `size` bytes; zeroed when it is new. */
static void *table_object(struct table *table, uint64_t a, uint64_t b, size_t size) {
    uintptr_t *value = table_add(table, a, b);
    if (*value == 0) *value = (uintptr_t)must(calloc(1, size));
    return (void *)*value;
}

static struct place *place_of(uint64_t address, uint32_t block) {
    return table_object(&places, address & ~UINT64_C(3), block, sizeof(struct place));
}

static const struct block_acquires *acquires_of(uint32_t block) {
    return (const struct block_acquires *)table_get(&blocks, block, 1);
}

/* ---- recording ---- */

static struct fence_reach widest(struct fence_reach own, uint32_t warp, uint32_t block) {
    own.warp = warp > own.warp ? warp : own.warp;
    own.block = block > own.block ? block : own.block;
    return own;
}

static bool reaches_nothing(const struct fence_reach *reach) {
    return (reach->lane | reach->warp | reach->block) == 0;
}

static void release(struct place *place, const struct simt_thread *thread, struct point by) {
    const struct block_races *races = thread->block->races;
    const struct warp_clock *clock = &races->warp[thread->warp->index];
    struct release new = {.by = by};
    for (int scope = 0; scope < 2; scope++)
        new.reach[scope] = widest(thread->trace->fence[scope], clock->fenced_base[scope], races->fenced_barrier[scope]);
    if (reaches_nothing(&new.reach[0])) return;
    uintptr_t *latest = table_add(&latests, (uintptr_t)place, by.block);
    if (*latest) { /* a lock that is taken repeatedly, or one more ticket after the same fence */
        const struct release *last = &place->release[*latest - 1];
        if (memcmp(last->reach, new.reach, sizeof new.reach) == 0 && last->by.warp == by.warp &&
            last->by.lane == by.lane)
            return;
    }
    if (place->count == place->room) {
        place->room = place->room ? place->room * 2 : 4;
        place->release = must(realloc(place->release, place->room * sizeof *place->release));
    }
    new.earlier = (uint32_t)*latest;
    place->release[place->count++] = new;
    *latest = place->count;
}

static bool acquire(struct place *place, struct point by) {
    if (place->count == 0) return false;
    struct block_acquires *block = table_object(&blocks, by.block, 1, sizeof *block);
    for (uint32_t i = block->count; i-- > 0 && i + 4 > block->count;) {
        const struct acquire *last = &block->acquire[i];
        if (last->place == place && last->version == place->count && last->by.warp == by.warp &&
            last->by.lane == by.lane)
            return false;
    }
    if (block->count == block->room) {
        block->room = block->room ? block->room * 2 : 4;
        block->acquire = must(realloc(block->acquire, block->room * sizeof *block->acquire));
    }
    block->acquire[block->count++] = (struct acquire){by, place, place->count};
    return true;
}

void trace_note_sync(struct simt_thread *thread, uint64_t *entry) {
    unsigned meta = (unsigned)entry[0] & 0xff;
    struct point by = {race_block_number(thread->block), running_clock(thread), thread->warp->index, thread->lane};
    pthread_mutex_lock(&lock);
    struct place *place = place_of(entry[WARP_SIZE], (meta >> 3 & 3) == TRACE_SHARED ? by.block : 0);
    if (acquire(place, by)) {
        *trace_value(entry, thread->lane) = 1;
        thread->trace->clock = by.clock + 1;
    }
    if (meta >> 5 != TRACE_VOLATILE_READ) release(place, thread, by);
    pthread_mutex_unlock(&lock);
}

void trace_note_release(struct simt_thread *thread, const uint64_t *entry) {
    unsigned meta = (unsigned)entry[0] & 0xff;
    struct point by = {race_block_number(thread->block), running_clock(thread), thread->warp->index, thread->lane};
    pthread_mutex_lock(&lock);
    release(place_of(entry[WARP_SIZE], (meta >> 3 & 3) == TRACE_SHARED ? by.block : 0), thread, by);
    pthread_mutex_unlock(&lock);
}

void trace_note_late_read(struct simt_thread *thread, uintptr_t pc, uintptr_t address) {
    struct point by = {race_block_number(thread->block), running_clock(thread), thread->warp->index, thread->lane};
    bool shared = address - (uintptr_t)thread->block->shared < thread->block->shared_size;
    pthread_mutex_lock(&lock);
    bool taken = acquire(place_of(address, shared ? by.block : 0), by);
    pthread_mutex_unlock(&lock);
    if (!taken) return;
    trace_append(thread, pc, TRACE_META(TRACE_FENCE, 0, 0), 0); /* advances the lane's clock in the merge, too */
    thread->trace->clock = by.clock + 1;
}

/* ---- queries ---- */

bool acquired_anything(const struct simt_warp *warp) {
    if (!trace_fence_met) return false;
    pthread_mutex_lock(&lock);
    const struct block_acquires *acquires = acquires_of(race_block_number(warp->block));
    bool known = acquires && acquires->count;
    pthread_mutex_unlock(&lock);
    return known;
}

/* The atomics that draw the tickets come after their fences, so no release covers them. But the thread with the last ticket
 * comes after all of them at that place. (A thread with another ticket does not. Its store is detected when the next
 * ticket is drawn.) */
bool acquired_at(const struct request *request, unsigned lane) {
    if (!trace_fence_met) return false;
    uint32_t block = race_block_number(request->warp->block);
    bool found = false;
    pthread_mutex_lock(&lock);
    const struct place *place = (const struct place *)table_get(&places, request->address[lane] & ~UINT64_C(3),
                                                                request->space == TRACE_SHARED ? block : 0);
    const struct block_acquires *acquires = acquires_of(block);
    for (uint32_t i = 0; place && acquires && i < acquires->count && !found; i++) {
        const struct point *by = &acquires->acquire[i].by;
        found = acquires->acquire[i].place == place && by->warp == request->warp->index && by->lane == lane;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void acquire_release_launch_end(void) {
    if (!trace_fence_met) return;
    for (size_t i = 0; i < places.room; i++) {
        struct place *place = (struct place *)places.slot[i].value;
        if (place) free(place->release);
        free(place);
    }
    for (size_t i = 0; i < blocks.room; i++) {
        struct block_acquires *acquires = (struct block_acquires *)blocks.slot[i].value;
        if (acquires) free(acquires->acquire);
        free(acquires);
    }
    struct table *tables[] = {&places, &blocks, &latests};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        free(tables[i]->slot);
        *tables[i] = (struct table){0};
    }
    trace_fence_met = false;
}

/* ---- the search ---- */

/* Does a fence, or a thread's knowledge of its own block, cover an access: of the thread itself, its warp, its block? */
static bool within(const struct fence_reach *reach, const struct point *at, const struct point *what) {
    if (what->clock <= reach->block) return true;
    return what->warp == at->warp &&
           (what->clock <= reach->warp || (what->lane == at->lane && what->clock <= reach->lane));
}

static bool covers(const struct release *release, const struct point *what, uint32_t taker) {
    return within(&release->reach[release->by.block != taker], &release->by, what);
}

struct search {
    struct point from;
    struct {
        struct place *place;
        uint32_t version;
    } * open;
    size_t count, room;
};

static void search_push(struct search *search, struct place *place, uint32_t version) {
    if (version <= place->visited) return;
    if (search->count == search->room) {
        search->room = search->room ? search->room * 2 : 16;
        search->open = must(realloc(search->open, search->room * sizeof *search->open));
    }
    search->open[search->count].place = place;
    search->open[search->count++].version = version;
}

/* Pushes the acquires that the thread at `at` comes after, by `reach`, within its block. */
static void search_push_known(struct search *search, const struct point *at, const struct fence_reach *reach) {
    const struct block_acquires *block = acquires_of(at->block);
    for (uint32_t i = 0; block && i < block->count; i++)
        if (within(reach, at, &block->acquire[i].by))
            search_push(search, block->acquire[i].place, block->acquire[i].version);
}

/* Was the access `from` released at a place before its `version`, to a thread of block `taker`? */
static bool released(const struct place *place, uint32_t version, const struct point *from, uint32_t taker) {
    uint32_t latest = (uint32_t)table_get(&latests, (uintptr_t)place, from->block);
    for (uint32_t i = latest; i; i = place->release[i - 1].earlier)
        if (i <= version && covers(&place->release[i - 1], from, taker)) return true;
    return false;
}

static bool search_run(struct search *search, uint32_t taker) {
    bool found = false;
    /* First the releases of the access's own block, the common case; then chains through other threads. */
    for (size_t i = 0; i < search->count && !found; i++)
        found = released(search->open[i].place, search->open[i].version, &search->from, taker);
    while (!found && search->count) {
        struct place *place = search->open[--search->count].place;
        uint32_t version = search->open[search->count].version, old = place->visited;
        if (version <= old) continue;
        found = released(place, version, &search->from, taker);
        place->visited = version;
        for (uint32_t i = old; i < version; i++)
            search_push_known(search, &place->release[i].by, &place->release[i].reach[0]);
    }
    for (size_t i = 0; i < places.room; i++)
        if (places.slot[i].value) ((struct place *)places.slot[i].value)->visited = 0;
    free(search->open);
    return found;
}

static bool chain(const struct point *from, const struct point *to, const struct fence_reach *known) {
    struct search search = {.from = *from};
    search_push_known(&search, to, known);
    return search_run(&search, to->block);
}

bool synchronised(const struct race_access *access, const struct simt_warp *warp, unsigned lane) {
    if (!trace_fence_met) return false;
    const struct block_races *races = warp->block->races;
    const struct warp_clock *clock = &races->warp[warp->index];
    struct point there = {access->block, who_clock(access->who), who_warp(access->who), who_lane(access->who)};
    struct point here = {race_block_number(warp->block), lane_clock(clock, lane), warp->index, lane};
    struct fence_reach known = {here.clock - 1, clock->base, races->barrier};
    if (clock->partial)
        for (unsigned from = 0; from < WARP_SIZE; from++)
            known.warp = clock->known[lane][from] > known.warp ? clock->known[lane][from] : known.warp;
    /* The knowledge of the other thread's block at its access is only its clock, which barriers propagate to all threads. */
    struct fence_reach past = {there.clock - 1, there.clock - 1, there.clock - 1};
    pthread_mutex_lock(&lock);
    bool found = latests.count > 0 && (chain(&there, &here, &known) || chain(&here, &there, &past));
    pthread_mutex_unlock(&lock);
    return found;
}

#else
typedef int acquire_release_is_empty_in_the_fast_build;
#endif
