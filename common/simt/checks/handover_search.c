/* handover_search.c — is there a chain of hand-overs between two accesses? Asked seldom: only when the clocks alone find
 * the two unordered.
 */
#include "handover.h"

#if SIMT_CHECKED

#include <stdlib.h>

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
        search->open = handover_must(realloc(search->open, search->room * sizeof *search->open));
    }
    search->open[search->count].place = place;
    search->open[search->count++].version = version;
}

/* Pushes what the thread at `at` had taken over, with all that `reach` says it knows of its block. */
static void search_push_known(struct search *search, const struct point *at, const struct fence_reach *reach) {
    const struct block_notes *block = handover_notes(at->block);
    for (uint32_t i = 0; block && i < block->count; i++)
        if (within(reach, at, &block->acquire[i].by))
            search_push(search, block->acquire[i].place, block->acquire[i].version);
}

/* Was the access `from` released at a place before its `version`, to a thread of block `taker`? */
static bool released(const struct place *place, uint32_t version, const struct point *from, uint32_t taker) {
    for (uint32_t i = handover_latest(place, from->block); i; i = place->release[i - 1].earlier)
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
    handover_forget_visits();
    free(search->open);
    return found;
}

static bool chain(const struct point *from, const struct point *to, const struct fence_reach *known) {
    struct search search = {.from = *from};
    search_push_known(&search, to, known);
    return search_run(&search, to->block);
}

bool handed_over(const struct race_access *access, const struct simt_warp *warp, unsigned lane) {
    if (!trace_handovers) return false;
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
    pthread_mutex_lock(&handover_lock);
    bool found = handover_any() && (chain(&there, &here, &known) || chain(&here, &there, &past));
    pthread_mutex_unlock(&handover_lock);
    return found;
}

#else
typedef int handover_search_is_empty_in_the_fast_build;
#endif
