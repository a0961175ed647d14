/* race_reports.c — the report of a race: both accesses with their lines and threads, and what would order them. */
#include "races.h"

#include "access.h"
#include "json_report.h"

#if SIMT_CHECKED

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The reports of this launch. Each pair of source places is reported once, as an error and as a note; again only by a block
 * of lower rank, so that with several OS threads the same block is named in every run; or if lanes of one warp were reported,
 * and the same block has such a pair in two warps, which __syncwarp() does not order. */
enum { REPORTS = 256 };
struct report {
    uint32_t low, high;
    uint32_t pc; /* of the access at which it was found */
    bool note, in_warp;
    uint64_t rank;
};
static struct report reported[REPORTS];
static unsigned reports;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_in_warp(const struct race *race) {
    const struct simt_warp *warp = race->request->warp;
    return !race->other_block && !race->other_warp && race->other->block == race_block_number(warp->block) &&
           who_warp(race->other->who) == warp->index;
}

/* Does the race say more than the report of the same block? */
static bool replaces(const struct race *race, const struct report *report) {
    return report->rank == race->request->warp->block->rank && report->in_warp && !is_in_warp(race);
}

/* The report to fill in; NULL if the race is known, or there are too many. */
static struct report *find_locked(const struct race *race) {
    uint32_t a = race->request->pc, b = race->other->pc;
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    uint64_t rank = race->request->warp->block->rank;
    unsigned i = 0;
    while (i < reports && (reported[i].low != low || reported[i].high != high || reported[i].note != race->same_value))
        i++;
    if (i == REPORTS || (i < reports && reported[i].rank <= rank && !replaces(race, &reported[i]))) return NULL;
    return &reported[i];
}

bool race_known(const struct race *race) {
    pthread_mutex_lock(&lock);
    bool known = find_locked(race) == NULL;
    pthread_mutex_unlock(&lock);
    return known;
}

void race_reports_clear(void) {
    reports = 0;
}

/* "Read" of "read". */
static const char *capitalised(const char *name, char out[8]) {
    snprintf(out, 8, "%c%s", toupper(*name), name + 1);
    return out;
}

static struct dim unfold(uint64_t linear, struct dim size) {
    return (struct dim){(unsigned)(linear % size.x), (unsigned)(linear / size.x % size.y),
                        (unsigned)(linear / size.x / size.y)};
}

/* The other access, as far as it is known. */
static struct reported_access other_access(const struct race *race, const struct simt_launch *launch) {
    const struct race_access *other = race->other;
    struct source_place place = simt_source_place(other->pc);
    return (struct reported_access){
        .kind = access_name(race->other_kind),
        .file = place.file,
        .line = place.line,
        .has_thread = !race->other_block && !race->other_warp,
        .thread = unfold(who_warp(other->who) * WARP_SIZE + who_lane(other->who), launch->block),
        .block = unfold(other->block - races_first_block, launch->grid),
    };
}

/* " by thread (1,0,0) in block (2,0,0)", or as much of it as is known. */
static void describe_other(const struct race *race, const struct reported_access *other, char *out, size_t size) {
    if (race->other_block) {
        snprintf(out, size, " by a thread of another block");
    } else if (race->other_warp) {
        snprintf(out, size, " by a thread of another warp of the block");
    } else {
        snprintf(out, size, " by thread (%u,%u,%u) in block (%u,%u,%u)", other->thread.x, other->thread.y,
                 other->thread.z, other->block.x, other->block.y, other->block.z);
    }
}

static const char *advice(const struct race *race) {
    const struct simt_warp *warp = race->request->warp;
    if (race->same_value) return "Both store the same value, so the result does not depend on the order";
    if (race->other_block || race->other->block != race_block_number(warp->block))
        return "Blocks run in any order: only the end of the kernel orders the two accesses";
    if (!is_in_warp(race)) return "No __syncthreads() lies between the two accesses";
    return "The lanes of a warp do not run in lockstep: no __syncwarp() lies between the two accesses";
}

void race_report(const struct race *race) {
    pthread_mutex_lock(&lock);
    struct report *report = find_locked(race);
    if (report) {
        uint32_t a = race->request->pc, b = race->other->pc;
        uint64_t rank = race->request->warp->block->rank;
        if (report == &reported[reports]) {
            reports++;
        } else if (replaces(race, report)) {
            report_replace(race->same_value ? SIMT_RACE_SAME_VALUE : SIMT_RACE, report->pc, rank);
        }
        *report = (struct report){a < b ? a : b, a < b ? b : a, a, race->same_value, is_in_warp(race), rank};
    }
    pthread_mutex_unlock(&lock);
    if (report == NULL) return;
    const struct request *request = race->request;
    struct reported_access other = other_access(race, request->warp->block->launch);
    const char *slash = strrchr(other.file, '/');
    char by[128], where[320] = "", this[8], that[8];
    describe_other(race, &other, by, sizeof by);
    if (other.line) snprintf(where, sizeof where, " in %s:%d", slash ? slash + 1 : other.file, other.line);
    report_access(&(struct reported_access){.kind = access_name(request->kind),
                                            .space = request->space == TRACE_SHARED ? "shared" : "global",
                                            .bytes = 1u << request->size_log2,
                                            .address = request->address[race->lane]},
                  &other);
    simt_report(race->same_value ? SIMT_RACE_SAME_VALUE : SIMT_RACE, !race->same_value, request->pc,
                &request->warp->thread[race->lane],
                "%s: race between this %s access of %u bytes to %s memory at 0x%llx\n"
                "and a %s access%s%s\n%s",
                race->same_value ? "Note" : "Error", capitalised(access_name(request->kind), this),
                1u << request->size_log2, request->space == TRACE_SHARED ? "__shared__" : "__global__",
                (unsigned long long)request->address[race->lane], capitalised(other.kind, that), where, by,
                advice(race));
}

#else
typedef int race_reports_is_empty_in_the_fast_build;
#endif
