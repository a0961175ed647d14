/* acquire_release.c — release and acquire order between threads: a thread writes, fences and makes an atomic (or a volatile
 * store); another makes an atomic (or a volatile load) of the same place and then reads. Examples: the tickets of the
 * last-block pattern, flags, locks.
 *
 * Releases and acquires are recorded while the lanes run, because their order in time counts. The record is searched
 * only when the clocks alone find two accesses unordered. Nothing is recorded before the first fence of a launch. A
 * place counts its releases. A later acquire there synchronises with all of them, and with what the releasing threads had
 * acquired before.
 *
 * A thread's releases at one place cover more and more, and its acquires know of more and more, so the latest one that a
 * question admits answers for the earlier ones. It is found by bisection: a search takes about as long after many phases of a
 * barrier as after a few.
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
    uint32_t version;            /* the releases at the place, with this one */
    struct fence_reach reach[2]; /* block scope, device scope */
};

struct acquire {
    uint32_t clock;   /* of the thread */
    uint32_t version; /* releases that came before */
};

/* What one thread did at one place, in order of time. */
struct visit {
    struct point by; /* without a clock */
    struct place *place;
    struct release *release;
    struct acquire *acquire;
    uint32_t releases, acquires;
    struct visit *next_at_place, *next_of_block_at_place; /* with releases */
    struct visit *next_of_block, *next_of_thread;         /* with acquires */
};

struct place { /* an aligned word of 4 bytes */
    struct visit *first;
    uint32_t count;           /* releases */
    uint32_t search;          /* the search that the rest belongs to */
    uint32_t wanted, visited; /* versions */
    bool open;
};

uint64_t acquire_release_steps; /* of all searches so far */
bool trace_fence_met;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Hash tables: open addressing, doubled when half full. A key with a == 0 is free. */
static struct table {
    struct table_slot {
        uint64_t a, b; /* the key */
        uintptr_t value;
    } * slot;
    size_t count, room;
} places,   /* (address, block) to struct place * */
    visits, /* (struct place *, thread) to struct visit * */
    firsts; /* (struct place *, block), (block, BLOCK) and (thread, THREAD) to the first struct visit * of a list */
enum { BLOCK = 1, THREAD = 2 }; /* no address */

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

static uint64_t thread_number(uint32_t block, unsigned warp, unsigned lane) {
    return (uint64_t)block << 10 | warp << 5 | lane;
}

static struct visit *visit_of(struct place *place, const struct point *by) {
    struct visit *visit =
        table_object(&visits, (uintptr_t)place, thread_number(by->block, by->warp, by->lane), sizeof *visit);
    visit->by = *by;
    visit->place = place;
    return visit;
}

static const struct visit *first_of(uint64_t a, uint64_t b) {
    return (const struct visit *)table_get(&firsts, a, b);
}

/* Puts the visit in front of the list of that key. Returns the visit that follows. */
static struct visit *put_first(struct visit *visit, uint64_t a, uint64_t b) {
    uintptr_t *first = table_add(&firsts, a, b);
    struct visit *next = (struct visit *)*first;
    *first = (uintptr_t)visit;
    return next;
}

/* Room for one more of `count` elements: doubled at every power of two. */
static void *grown(void *array, uint32_t count, size_t size) {
    return count & (count - 1) ? array : must(realloc(array, (count ? 2 * count : 1) * size));
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
    struct release new = {0};
    for (int scope = 0; scope < 2; scope++)
        new.reach[scope] = widest(thread->trace->fence[scope], clock->fenced_base[scope], races->fenced_barrier[scope]);
    if (reaches_nothing(&new.reach[0])) return;
    struct visit *visit = visit_of(place, &by);
    if (visit->releases == 0) {
        visit->next_at_place = place->first;
        place->first = visit;
        visit->next_of_block_at_place = put_first(visit, (uintptr_t)place, by.block);
    } else if (memcmp(visit->release[visit->releases - 1].reach, new.reach, sizeof new.reach) == 0) {
        return; /* a lock that is taken repeatedly, or one more ticket after the same fence */
    }
    visit->release = grown(visit->release, visit->releases, sizeof *visit->release);
    new.version = ++place->count;
    visit->release[visit->releases++] = new;
}

static bool acquire(struct place *place, struct point by) {
    if (place->count == 0) return false;
    struct visit *visit = visit_of(place, &by);
    if (visit->acquires == 0) {
        visit->next_of_block = put_first(visit, by.block, BLOCK);
        visit->next_of_thread = put_first(visit, thread_number(by.block, by.warp, by.lane), THREAD);
    } else if (visit->acquire[visit->acquires - 1].version == place->count) {
        return false;
    }
    visit->acquire = grown(visit->acquire, visit->acquires, sizeof *visit->acquire);
    visit->acquire[visit->acquires++] = (struct acquire){by.clock, place->count};
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
    bool known = first_of(race_block_number(warp->block), BLOCK) != NULL;
    pthread_mutex_unlock(&lock);
    return known;
}

/* The atomics that draw the tickets come after their fences, so no release covers them. But the thread with the last ticket
 * comes after all of them at that place. (A thread with another ticket does not. Its store is detected when the next
 * ticket is drawn.) */
bool acquired_at(const struct request *request, unsigned lane) {
    if (!trace_fence_met) return false;
    uint32_t block = race_block_number(request->warp->block);
    pthread_mutex_lock(&lock);
    const struct place *place = (const struct place *)table_get(&places, request->address[lane] & ~UINT64_C(3),
                                                                request->space == TRACE_SHARED ? block : 0);
    const struct visit *visit =
        (const struct visit *)table_get(&visits, (uintptr_t)place, thread_number(block, request->warp->index, lane));
    bool found = visit && visit->acquires;
    pthread_mutex_unlock(&lock);
    return found;
}

void acquire_release_launch_end(void) {
    if (!trace_fence_met) return;
    for (size_t i = 0; i < places.room; i++) free((void *)places.slot[i].value);
    for (size_t i = 0; i < visits.room; i++) {
        struct visit *visit = (struct visit *)visits.slot[i].value;
        if (visit) {
            free(visit->release);
            free(visit->acquire);
        }
        free(visit);
    }
    struct table *tables[] = {&places, &visits, &firsts};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        free(tables[i]->slot);
        *tables[i] = (struct table){0};
    }
    trace_fence_met = false;
}

/* ---- the search ---- */

/* The latest clock of `what` that a fence, or a thread's knowledge of its own block, covers: of the thread itself, its warp, its
 * block. */
static uint32_t reach_to(const struct fence_reach *reach, const struct point *at, const struct point *what) {
    uint32_t clock = reach->block;
    if (what->warp == at->warp && reach->warp > clock) clock = reach->warp;
    if (what->warp == at->warp && what->lane == at->lane && reach->lane > clock) clock = reach->lane;
    return clock;
}

/* The latest release of the visit that the version includes. */
static const struct release *latest_release(const struct visit *visit, uint32_t version) {
    uint32_t low = 0, high = visit->releases;
    for (uint32_t middle = high - 1; low < high; middle = low + (high - low) / 2, acquire_release_steps++) {
        if (visit->release[middle].version <= version)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &visit->release[low - 1] : NULL;
}

/* The version of the visit's latest acquire up to that clock. */
static uint32_t latest_acquire(const struct visit *visit, uint32_t clock) {
    uint32_t low = 0, high = visit->acquires;
    for (uint32_t middle = high - 1; low < high; middle = low + (high - low) / 2, acquire_release_steps++) {
        if (visit->acquire[middle].clock <= clock)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? visit->acquire[low - 1].version : 0;
}

struct search {
    struct point from;
    struct place **open;
    size_t count, room;
};

static uint32_t searches;

static void search_push(struct search *search, struct place *place, uint32_t version) {
    if (place->search != searches) {
        place->search = searches;
        place->wanted = place->visited = 0;
        place->open = false;
    }
    if (version <= place->wanted) return;
    place->wanted = version;
    if (place->open) return;
    place->open = true;
    if (search->count == search->room) {
        search->room = search->room ? search->room * 2 : 16;
        search->open = must(realloc(search->open, search->room * sizeof *search->open));
    }
    search->open[search->count++] = place;
}

/* Pushes the acquires that the thread at `at` comes after, by `reach`, within its block. */
static void search_push_known(struct search *search, const struct point *at, const struct fence_reach *reach) {
    bool alone = reach->warp == 0 && reach->block == 0;
    const struct visit *visit =
        alone ? first_of(thread_number(at->block, at->warp, at->lane), THREAD) : first_of(at->block, BLOCK);
    for (; visit; visit = alone ? visit->next_of_thread : visit->next_of_block)
        search_push(search, visit->place, latest_acquire(visit, reach_to(reach, at, &visit->by)));
}

static bool covers(const struct visit *visit, uint32_t version, const struct point *what, uint32_t taker) {
    const struct release *release = latest_release(visit, version);
    return release && what->clock <= reach_to(&release->reach[visit->by.block != taker], &visit->by, what);
}

/* Was the access `from` released at a place before its `version`, to a thread of block `taker`? */
static bool released(const struct place *place, uint32_t version, const struct point *from, uint32_t taker) {
    const struct visit *own =
        (const struct visit *)table_get(&visits, (uintptr_t)place, thread_number(from->block, from->warp, from->lane));
    if (own && covers(own, version, from, taker)) return true; /* the common case */
    for (const struct visit *visit = first_of((uintptr_t)place, from->block); visit;
         visit = visit->next_of_block_at_place)
        if (covers(visit, version, from, taker)) return true;
    return false;
}

/* Was `from` released at one of the places that are open? */
static bool search_direct(const struct search *search, uint32_t taker) {
    for (size_t i = 0; i < search->count; i++)
        if (released(search->open[i], search->open[i]->wanted, &search->from, taker)) return true;
    return false;
}

static bool search_chains(struct search *search, uint32_t taker) {
    bool found = false;
    while (!found && search->count) {
        struct place *place = search->open[--search->count];
        uint32_t old = place->visited, version = place->visited = place->wanted;
        place->open = false;
        found = released(place, version, &search->from, taker);
        for (const struct visit *visit = place->first; visit && !found; visit = visit->next_at_place) {
            const struct release *release = latest_release(visit, version);
            if (release && release->version > old) search_push_known(search, &visit->by, &release->reach[0]);
        }
    }
    return found;
}

static bool chain(const struct point *from, const struct point *to, const struct fence_reach *known) {
    struct search search = {.from = *from};
    struct fence_reach own = {.lane = reach_to(known, to, to)};
    if (++searches == 0) searches = 1; /* 0: places that no search has met */
    search_push_known(&search, to, &own);
    bool found = search_direct(&search, to->block); /* the common case: the thread itself has acquired */
    if (!found) {
        search_push_known(&search, to, known);
        found = search_direct(&search, to->block) || search_chains(&search, to->block);
    }
    free(search.open);
    return found;
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
    bool found = firsts.count > 0 && (chain(&there, &here, &known) || chain(&here, &there, &past));
    pthread_mutex_unlock(&lock);
    return found;
}

#else
typedef int acquire_release_is_empty_in_the_fast_build;
#endif
