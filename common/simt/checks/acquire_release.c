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

struct place {
    uint64_t address;
    uint32_t block; /* of shared memory: whose; else 0 */
    struct release *release;
    uint32_t count, room;
    uint32_t visited; /* by the search that runs */
};

struct acquire {
    struct point by;
    struct place *place;
    uint32_t version; /* releases that came before */
};

/* What the threads of a block took over. */
struct block_acquires {
    uint32_t block;
    struct acquire *acquire;
    uint32_t count, room;
};

bool trace_fence_met;

/* The latest release of a block at a place. */
struct latest {
    const struct place *place;
    uint32_t block, release; /* index + 1 */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct place **slot;
    size_t count, room;
} places;
static struct {
    struct block_acquires *slot;
    size_t count, room;
} acquires;
static struct {
    struct latest *slot;
    size_t count, room;
} latests;

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

/* ---- tables: open addressing, doubled when half full ---- */

static struct place **place_slot(uint64_t address, uint32_t block) {
    size_t i = hash(address, block) & (places.room - 1);
    while (places.slot[i] && (places.slot[i]->address != address || places.slot[i]->block != block))
        i = (i + 1) & (places.room - 1);
    return &places.slot[i];
}

static struct place *place_make(uint64_t address, uint32_t block) {
    if ((places.count + 1) * 2 > places.room) {
        struct place **old = places.slot;
        size_t old_room = places.room;
        places.room = old_room ? old_room * 2 : 64;
        places.slot = must(calloc(places.room, sizeof(struct place *)));
        for (size_t i = 0; i < old_room; i++)
            if (old[i]) *place_slot(old[i]->address, old[i]->block) = old[i];
        free(old);
    }
    struct place **slot = place_slot(address, block);
    if (*slot == NULL) {
        *slot = must(calloc(1, sizeof **slot));
        (*slot)->address = address;
        (*slot)->block = block;
        places.count++;
    }
    return *slot;
}

static struct block_acquires *acquires_find(uint32_t block) {
    size_t i = hash(block, 1) & (acquires.room - 1);
    while (acquires.slot[i].block && acquires.slot[i].block != block) i = (i + 1) & (acquires.room - 1);
    return &acquires.slot[i];
}

static struct block_acquires *acquires_make(uint32_t block) {
    if ((acquires.count + 1) * 2 > acquires.room) {
        struct block_acquires *old = acquires.slot;
        size_t old_room = acquires.room;
        acquires.room = old_room ? old_room * 2 : 64;
        acquires.slot = must(calloc(acquires.room, sizeof *acquires.slot));
        for (size_t i = 0; i < old_room; i++)
            if (old[i].block) *acquires_find(old[i].block) = old[i];
        free(old);
    }
    struct block_acquires *found = acquires_find(block);
    if (found->block == 0) {
        found->block = block;
        acquires.count++;
    }
    return found;
}

static struct latest *latest_find(const struct place *place, uint32_t block) {
    size_t i = hash((uintptr_t)place, block) & (latests.room - 1);
    while (latests.slot[i].place && (latests.slot[i].place != place || latests.slot[i].block != block))
        i = (i + 1) & (latests.room - 1);
    return &latests.slot[i];
}

static struct latest *latest_make(const struct place *place, uint32_t block) {
    if ((latests.count + 1) * 2 > latests.room) {
        struct latest *old = latests.slot;
        size_t old_room = latests.room;
        latests.room = old_room ? old_room * 2 : 64;
        latests.slot = must(calloc(latests.room, sizeof *latests.slot));
        for (size_t i = 0; i < old_room; i++)
            if (old[i].place) *latest_find(old[i].place, old[i].block) = old[i];
        free(old);
    }
    struct latest *found = latest_find(place, block);
    if (found->place == NULL) {
        *found = (struct latest){place, block, 0};
        latests.count++;
    }
    return found;
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
    struct latest *latest = latest_make(place, by.block);
    if (latest->release) { /* a lock that is taken again and again, or one more ticket after the same fence */
        const struct release *last = &place->release[latest->release - 1];
        if (memcmp(last->reach, new.reach, sizeof new.reach) == 0 && last->by.warp == by.warp &&
            last->by.lane == by.lane)
            return;
    }
    if (place->count == place->room) {
        place->room = place->room ? place->room * 2 : 4;
        place->release = must(realloc(place->release, place->room * sizeof *place->release));
    }
    new.earlier = latest->release;
    place->release[place->count++] = new;
    latest->release = place->count;
}

static bool acquire(struct place *place, struct point by) {
    if (place->count == 0) return false;
    struct block_acquires *block = acquires_make(by.block);
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
    struct place *place = place_make(entry[WARP_SIZE] & ~UINT64_C(3), (meta >> 3 & 3) == TRACE_SHARED ? by.block : 0);
    if (acquire(place, by)) {
        *trace_value(entry, thread->lane) = 1;
        thread->trace->clock = by.clock + 1;
    }
    if (meta >> 5 != TRACE_VOLATILE_READ) release(place, thread, by);
    pthread_mutex_unlock(&lock);
}

void trace_note_late_read(struct simt_thread *thread, uintptr_t pc, uintptr_t address) {
    struct point by = {race_block_number(thread->block), running_clock(thread), thread->warp->index, thread->lane};
    bool shared = address - (uintptr_t)thread->block->shared < thread->block->shared_size;
    pthread_mutex_lock(&lock);
    bool taken = acquire(place_make(address & ~UINT64_C(3), shared ? by.block : 0), by);
    pthread_mutex_unlock(&lock);
    if (!taken) return;
    trace_append(thread, pc, TRACE_META(TRACE_FENCE, 0, 0), 0); /* moves the lane's clock on in the merge as well */
    thread->trace->clock = by.clock + 1;
}

/* ---- queries ---- */

bool acquired_anything(const struct simt_warp *warp) {
    if (!trace_fence_met) return false;
    pthread_mutex_lock(&lock);
    bool known = acquires.room && acquires_find(race_block_number(warp->block))->count;
    pthread_mutex_unlock(&lock);
    return known;
}

/* The atomics that made the tickets stand behind their fences, so no release covers them; but who drew the last ticket
 * comes after all of them at that place. (Who has drawn another ticket does not; its store is found when the next
 * ticket is drawn.) */
bool acquired_at(const struct request *request, unsigned lane) {
    if (!trace_fence_met) return false;
    uint32_t block = race_block_number(request->warp->block);
    bool found = false;
    pthread_mutex_lock(&lock);
    if (places.room && acquires.room) {
        const struct place *place =
            *place_slot(request->address[lane] & ~UINT64_C(3), request->space == TRACE_SHARED ? block : 0);
        const struct block_acquires *known = acquires_find(block);
        for (uint32_t i = 0; place && i < known->count && !found; i++) {
            const struct point *by = &known->acquire[i].by;
            found = known->acquire[i].place == place && by->warp == request->warp->index && by->lane == lane;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void acquire_release_launch_end(void) {
    if (!trace_fence_met) return;
    for (size_t i = 0; i < places.room; i++) {
        if (places.slot[i]) free(places.slot[i]->release);
        free(places.slot[i]);
    }
    for (size_t i = 0; i < acquires.room; i++) free(acquires.slot[i].acquire);
    free(places.slot);
    free(acquires.slot);
    free(latests.slot);
    memset(&places, 0, sizeof places);
    memset(&acquires, 0, sizeof acquires);
    memset(&latests, 0, sizeof latests);
    trace_fence_met = false;
}

/* ---- the search ---- */

/* What a fence covers, or what a thread knows of its own block: its own past, its warp's, its block's. */
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

/* Pushes what the thread at `at` had taken over, with all that `reach` says it knows of its block. */
static void search_push_known(struct search *search, const struct point *at, const struct fence_reach *reach) {
    const struct block_acquires *block = acquires.room ? acquires_find(at->block) : NULL;
    for (uint32_t i = 0; block && i < block->count; i++)
        if (within(reach, at, &block->acquire[i].by))
            search_push(search, block->acquire[i].place, block->acquire[i].version);
}

/* Was the access `from` released at a place before its `version`, to a thread of block `taker`? */
static bool released(const struct place *place, uint32_t version, const struct point *from, uint32_t taker) {
    uint32_t latest = latests.room ? latest_find(place, from->block)->release : 0;
    for (uint32_t i = latest; i; i = place->release[i - 1].earlier)
        if (i <= version && covers(&place->release[i - 1], from, taker)) return true;
    return false;
}

static bool search_run(struct search *search, uint32_t taker) {
    bool found = false;
    /* First the releases of the access's own block, which is what it mostly is; then through third threads. */
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
        if (places.slot[i]) places.slot[i]->visited = 0;
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
    /* Of what the other thread's block knew at its access only the clock tells, which barriers carry to all threads. */
    struct fence_reach past = {there.clock - 1, there.clock - 1, there.clock - 1};
    pthread_mutex_lock(&lock);
    bool found = latests.count > 0 && (chain(&there, &here, &known) || chain(&here, &there, &past));
    pthread_mutex_unlock(&lock);
    return found;
}

#else
typedef int acquire_release_is_empty_in_the_fast_build;
#endif
