/* handover.c — order that is made by hand: write, fence, atomic (or volatile store) in one thread; atomic (or volatile
 * load) of the same place, then read, in another. Tickets of the last block, flags, locks.
 *
 * Noted while the lanes run, because the order in time counts; asked, seldom, when the clocks alone find two accesses
 * unordered. Nothing is noted before the first fence of a launch. A place remembers its releases in order of time: a
 * thread that comes later takes over what all before it released there, and what those had taken over themselves.
 */
#include "handover.h"

#if SIMT_CHECKED

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool trace_handovers;

/* The latest release of a block at a place. */
struct latest {
    const struct place *place;
    uint32_t block, release; /* index + 1 */
};

pthread_mutex_t handover_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct place **slot;
    size_t count, room;
} places;
static struct {
    struct block_notes *slot;
    size_t count, room;
} notes;
static struct {
    struct latest *slot;
    size_t count, room;
} latests;

void *handover_must(void *memory) {
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
        places.slot = handover_must(calloc(places.room, sizeof(struct place *)));
        for (size_t i = 0; i < old_room; i++)
            if (old[i]) *place_slot(old[i]->address, old[i]->block) = old[i];
        free(old);
    }
    struct place **slot = place_slot(address, block);
    if (*slot == NULL) {
        *slot = handover_must(calloc(1, sizeof **slot));
        (*slot)->address = address;
        (*slot)->block = block;
        places.count++;
    }
    return *slot;
}

static struct block_notes *notes_find(uint32_t block) {
    size_t i = hash(block, 1) & (notes.room - 1);
    while (notes.slot[i].block && notes.slot[i].block != block) i = (i + 1) & (notes.room - 1);
    return &notes.slot[i];
}

static struct block_notes *notes_make(uint32_t block) {
    if ((notes.count + 1) * 2 > notes.room) {
        struct block_notes *old = notes.slot;
        size_t old_room = notes.room;
        notes.room = old_room ? old_room * 2 : 64;
        notes.slot = handover_must(calloc(notes.room, sizeof *notes.slot));
        for (size_t i = 0; i < old_room; i++)
            if (old[i].block) *notes_find(old[i].block) = old[i];
        free(old);
    }
    struct block_notes *found = notes_find(block);
    if (found->block == 0) {
        found->block = block;
        notes.count++;
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
        latests.slot = handover_must(calloc(latests.room, sizeof *latests.slot));
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

/* ---- noting ---- */

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
        place->release = handover_must(realloc(place->release, place->room * sizeof *place->release));
    }
    new.earlier = latest->release;
    place->release[place->count++] = new;
    latest->release = place->count;
}

static bool acquire(struct place *place, struct point by) {
    if (place->count == 0) return false;
    struct block_notes *block = notes_make(by.block);
    for (uint32_t i = block->count; i-- > 0 && i + 4 > block->count;) {
        const struct acquire *last = &block->acquire[i];
        if (last->place == place && last->version == place->count && last->by.warp == by.warp &&
            last->by.lane == by.lane)
            return false;
    }
    if (block->count == block->room) {
        block->room = block->room ? block->room * 2 : 4;
        block->acquire = handover_must(realloc(block->acquire, block->room * sizeof *block->acquire));
    }
    block->acquire[block->count++] = (struct acquire){by, place, place->count};
    return true;
}

void trace_note_sync(struct simt_thread *thread, uint64_t *entry) {
    unsigned meta = (unsigned)entry[0] & 0xff;
    struct point by = {race_block_number(thread->block), running_clock(thread), thread->warp->index, thread->lane};
    pthread_mutex_lock(&handover_lock);
    struct place *place = place_make(entry[WARP_SIZE] & ~UINT64_C(3), (meta >> 3 & 3) == TRACE_SHARED ? by.block : 0);
    if (acquire(place, by)) {
        *trace_value(entry, thread->lane) = 1;
        thread->trace->clock = by.clock + 1;
    }
    if (meta >> 5 != TRACE_VOLATILE_READ) release(place, thread, by);
    pthread_mutex_unlock(&handover_lock);
}

void trace_note_late_read(struct simt_thread *thread, uintptr_t pc, uintptr_t address) {
    struct point by = {race_block_number(thread->block), running_clock(thread), thread->warp->index, thread->lane};
    bool shared = address - (uintptr_t)thread->block->shared < thread->block->shared_size;
    pthread_mutex_lock(&handover_lock);
    bool taken = acquire(place_make(address & ~UINT64_C(3), shared ? by.block : 0), by);
    pthread_mutex_unlock(&handover_lock);
    if (!taken) return;
    trace_append(thread, pc, TRACE_META(TRACE_FENCE, 0, 0), 0); /* moves the lane's clock on in the merge as well */
    thread->trace->clock = by.clock + 1;
}

/* ---- what the search asks ---- */

const struct block_notes *handover_notes(uint32_t block) {
    return notes.room ? notes_find(block) : NULL;
}

uint32_t handover_latest(const struct place *place, uint32_t block) {
    return latests.room ? latest_find(place, block)->release : 0;
}

bool handover_any(void) {
    return latests.count > 0;
}

void handover_forget_visits(void) {
    for (size_t i = 0; i < places.room; i++)
        if (places.slot[i]) places.slot[i]->visited = 0;
}

bool handover_known(const struct simt_warp *warp) {
    if (!trace_handovers) return false;
    pthread_mutex_lock(&handover_lock);
    bool known = notes.room && notes_find(race_block_number(warp->block))->count;
    pthread_mutex_unlock(&handover_lock);
    return known;
}

/* The atomics that made the tickets stand behind their fences, so no release covers them; but who drew the last ticket
 * comes after all of them at that place. (Who has drawn another ticket does not; its store is found when the next
 * ticket is drawn.) */
bool handover_place(const struct request *request, unsigned lane) {
    if (!trace_handovers) return false;
    uint32_t block = race_block_number(request->warp->block);
    bool found = false;
    pthread_mutex_lock(&handover_lock);
    if (places.room && notes.room) {
        const struct place *place =
            *place_slot(request->address[lane] & ~UINT64_C(3), request->space == TRACE_SHARED ? block : 0);
        const struct block_notes *known = notes_find(block);
        for (uint32_t i = 0; place && i < known->count && !found; i++) {
            const struct point *by = &known->acquire[i].by;
            found = known->acquire[i].place == place && by->warp == request->warp->index && by->lane == lane;
        }
    }
    pthread_mutex_unlock(&handover_lock);
    return found;
}

void handover_launch_end(void) {
    if (!trace_handovers) return;
    for (size_t i = 0; i < places.room; i++) {
        if (places.slot[i]) free(places.slot[i]->release);
        free(places.slot[i]);
    }
    for (size_t i = 0; i < notes.room; i++) free(notes.slot[i].acquire);
    free(places.slot);
    free(notes.slot);
    free(latests.slot);
    memset(&places, 0, sizeof places);
    memset(&notes, 0, sizeof notes);
    memset(&latests, 0, sizeof latests);
    trace_handovers = false;
}

#else
typedef int handover_is_empty_in_the_fast_build;
#endif
