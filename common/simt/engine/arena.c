/* arena.c — global memory: allocations with red zones in one reserved range of addresses, and device variables.
 *
 * Addresses are assigned upwards and reused only when the range is full, so that a freed pointer stays invalid for
 * long. The memory of a freed allocation is returned to the system at once.
 */
#define _GNU_SOURCE
#include "arena.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checks/shadow.h"
#include "checks/source.h"

enum { FREED_KEPT = 256, BYTES_RETURNED = 64 * 1024 };

struct record {
    struct arena_allocation allocation;
    uintptr_t pc; /* of the allocating call */
};

uintptr_t arena_global_span;
static bool context_lost;

static struct {
    pthread_mutex_t lock;
    struct record *live; /* by address */
    size_t count, room;
    struct arena_allocation freed[FREED_KEPT];
    size_t freed_count;
    uintptr_t next; /* first address never used */
    uint64_t next_id;
    size_t used;
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *reserve(uintptr_t at, size_t bytes) {
    void *got = mmap((void *)at, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

/* Reserves as much as the process may map: a sandbox may limit the address space. */
static bool open_locked(void) {
    if (arena_global_span) return true;
    for (size_t global = ARENA_GLOBAL_SPAN; global >= UINT64_C(64) << 20; global /= 2) {
        size_t span = ARENA_SHARED_SPAN + global;
        if (!reserve(ARENA_BASE, span)) continue;
        if (!SIMT_CHECKED || reserve(SHADOW_BASE, span >> 2)) {
            madvise((void *)ARENA_GLOBAL_BASE, global, MADV_HUGEPAGE);
            arena.next = ARENA_GLOBAL_BASE + RED_ZONE;
            arena_global_span = global;
            return true;
        }
        munmap((void *)ARENA_BASE, span);
    }
    return false;
}

bool arena_open(void) {
    pthread_mutex_lock(&arena.lock);
    bool ok = open_locked();
    pthread_mutex_unlock(&arena.lock);
    return ok;
}

/* ---- reservations: addresses without memory, for the allocations of graphs ---- */

struct reservation {
    uintptr_t start;
    size_t bytes;
    uintptr_t pc; /* of the request */
    int holders;
    bool frees_itself; /* by a node of the graph that allocates it */
    struct reservation *next;
};

/* Lock order: the arena's lock before this one. */
static pthread_mutex_t reservation_lock = PTHREAD_MUTEX_INITIALIZER;
static struct reservation *reservations;

static struct reservation **reservation_link(const void *start) {
    struct reservation **link = &reservations;
    while (*link && (*link)->start != (uintptr_t)start) link = &(*link)->next;
    return link;
}

bool arena_hold(void *start) {
    pthread_mutex_lock(&reservation_lock);
    struct reservation *found = *reservation_link(start);
    if (found) found->holders++;
    pthread_mutex_unlock(&reservation_lock);
    return found != NULL;
}

bool arena_hold_to_free(void *start, bool by_itself) {
    pthread_mutex_lock(&reservation_lock);
    struct reservation *found = *reservation_link(start);
    bool done = found && !found->frees_itself;
    if (done) {
        found->holders++;
        found->frees_itself = by_itself;
    }
    pthread_mutex_unlock(&reservation_lock);
    return done;
}

void arena_let_go(void *start) {
    pthread_mutex_lock(&reservation_lock);
    struct reservation **link = reservation_link(start), *found = *link;
    if (found && --found->holders == 0) {
        *link = found->next;
        free(found);
    }
    pthread_mutex_unlock(&reservation_lock);
}

/* The first address from `start` on where `bytes` have room between the reservations. */
static uintptr_t past_reservations(uintptr_t start, size_t bytes) {
    pthread_mutex_lock(&reservation_lock);
    struct reservation *other = reservations;
    while (other) {
        bool apart = arena_after(start, bytes) <= other->start || arena_after(other->start, other->bytes) <= start;
        if (!apart) start = arena_after(other->start, other->bytes);
        other = apart ? other->next : reservations;
    }
    pthread_mutex_unlock(&reservation_lock);
    return start;
}

/* ---- allocations ---- */

/* Index of the first allocation that starts above the address. */
static size_t above(uintptr_t address) {
    size_t low = 0, high = arena.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (arena.live[middle].allocation.start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The start for `bytes`: behind all others, or in the first gap that is wide enough; 0 if there is none. */
static uintptr_t find_place(size_t bytes) {
    uintptr_t end = ARENA_GLOBAL_BASE + arena_global_span, start = arena.next;
    if (bytes + 2 * RED_ZONE <= end - start) return start;
    start = ARENA_GLOBAL_BASE + RED_ZONE;
    for (size_t i = 0; i <= arena.count; i++) {
        uintptr_t next = i < arena.count ? arena.live[i].allocation.start : end;
        start = past_reservations(start, bytes);
        if (next >= start && next - start >= bytes + RED_ZONE) return start;
        if (i < arena.count) start = arena_after(next, arena.live[i].allocation.bytes);
    }
    return 0;
}

static bool starts(uintptr_t start) {
    size_t i = above(start);
    return i > 0 && arena.live[i - 1].allocation.start == start;
}

/* As arena_alloc_at, at this address (NULL if it is allocated), or at 0 wherever there is room. */
static void *alloc_place(uintptr_t place, size_t bytes, uintptr_t pc) {
    if (bytes == 0 || bytes > arena_total()) return NULL;
    pthread_mutex_lock(&arena.lock);
    bool fits = open_locked() && arena.used + bytes <= arena_total() && !starts(place);
    uintptr_t start = !fits ? 0 : place ? place : find_place(bytes);
    if (start && arena.count == arena.room) {
        size_t room = arena.room ? arena.room * 2 : 64;
        struct record *live = realloc(arena.live, room * sizeof *live);
        if (live) {
            arena.live = live;
            arena.room = room;
        } else {
            start = 0;
        }
    }
    if (start) {
        size_t i = above(start);
        memmove(&arena.live[i + 1], &arena.live[i], (arena.count - i) * sizeof *arena.live);
        arena.live[i] = (struct record){{start, bytes, arena.next_id++, NULL}, pc};
        arena.count++;
        arena.used += bytes;
        uintptr_t end = arena_after(start, bytes);
        if (end > arena.next) arena.next = end;
    }
    pthread_mutex_unlock(&arena.lock);
    if (start == 0) return NULL;
    memset((void *)start, 0xff, bytes); /* a NaN in every floating-point type: uninitialised values become visible */
    shadow_allocate(start, bytes);
    return (void *)start;
}

void *arena_alloc_at(size_t bytes, uintptr_t pc) {
    return alloc_place(0, bytes, pc);
}

void *arena_alloc(size_t bytes) {
    return arena_alloc_at(bytes, (uintptr_t)__builtin_return_address(0));
}

bool arena_free(void *pointer) {
    uintptr_t start = (uintptr_t)pointer;
    pthread_mutex_lock(&arena.lock);
    size_t i = above(start);
    bool found = i > 0 && arena.live[i - 1].allocation.start == start;
    if (found) {
        struct arena_allocation gone = arena.live[i - 1].allocation;
        memmove(&arena.live[i - 1], &arena.live[i], (arena.count - i) * sizeof *arena.live);
        arena.count--;
        arena.used -= gone.bytes;
        arena.freed[arena.freed_count++ % FREED_KEPT] = gone;
        shadow_release(gone.start, gone.bytes);
        arena_let_go(pointer);
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (start + page - 1) & -page;
        if (gone.bytes >= BYTES_RETURNED) madvise((void *)first, (start + gone.bytes - first) & -page, MADV_DONTNEED);
    }
    pthread_mutex_unlock(&arena.lock);
    return found;
}

/* An ordinary allocation finds the place; it is the second holder until it is freed. */
void *arena_reserve(size_t bytes, uintptr_t pc) {
    struct reservation *made = malloc(sizeof *made);
    void *start = made ? arena_alloc_at(bytes, pc) : NULL;
    if (!start) {
        free(made);
        return NULL;
    }
    pthread_mutex_lock(&reservation_lock);
    *made = (struct reservation){(uintptr_t)start, bytes, pc, 2, false, reservations};
    reservations = made;
    pthread_mutex_unlock(&reservation_lock);
    arena_free(start);
    return start;
}

bool arena_alloc_reserved(void *start) {
    pthread_mutex_lock(&reservation_lock);
    struct reservation *found = *reservation_link(start), copy = {0};
    if (found) {
        found->holders++;
        copy = *found;
    }
    pthread_mutex_unlock(&reservation_lock);
    bool done = found && alloc_place(copy.start, copy.bytes, copy.pc);
    if (found && !done) arena_let_go(start);
    return done;
}

/* ---- queries ---- */

bool arena_is_device(const void *pointer) {
    uintptr_t address = (uintptr_t)pointer;
    return in_global(address);
}

bool arena_find(uintptr_t address, struct arena_allocation *out) {
    if (!in_arena(address)) return arena_find_variable(address, out);
    pthread_mutex_lock(&arena.lock);
    size_t i = above(address);
    bool found = i > 0 && address - arena.live[i - 1].allocation.start < arena.live[i - 1].allocation.bytes;
    if (found) *out = arena.live[i - 1].allocation;
    pthread_mutex_unlock(&arena.lock);
    return found;
}

bool arena_range_valid(const void *pointer, size_t bytes) {
    struct arena_allocation in;
    uintptr_t address = (uintptr_t)pointer;
    return arena_find(address, &in) && bytes <= in.start + in.bytes - address;
}

/* The red zone before an allocation belongs to it: x[-1] is reported relative to x, not to its neighbour. */
bool arena_nearest(uintptr_t address, struct arena_allocation *out) {
    pthread_mutex_lock(&arena.lock);
    size_t i = above(address);
    bool below_known = i > 0, above_known = i < arena.count;
    if (below_known) *out = arena.live[i - 1].allocation;
    if (above_known) {
        struct arena_allocation next = arena.live[i].allocation;
        if (!below_known || next.start - address < address - (out->start + out->bytes)) *out = next;
    }
    pthread_mutex_unlock(&arena.lock);
    return below_known || above_known;
}

bool arena_was_freed(uintptr_t address, struct arena_allocation *out) {
    bool found = false;
    pthread_mutex_lock(&arena.lock);
    for (size_t i = 0; i < arena.freed_count && i < FREED_KEPT; i++)
        if (address - arena.freed[i].start < arena.freed[i].bytes) {
            *out = arena.freed[i];
            found = true;
        }
    pthread_mutex_unlock(&arena.lock);
    return found;
}

size_t arena_used(void) {
    return arena.used;
}

size_t arena_total(void) {
    static size_t total;
    if (total == 0) {
        size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
        total = memory < ARENA_GLOBAL_SPAN ? memory : ARENA_GLOBAL_SPAN;
    }
    return total;
}

/* ---- leaks ---- */

void arena_context_lost(void) {
    context_lost = true;
}

uint64_t arena_next_id(void) {
    return arena.next_id;
}

void arena_report_leaks(uint64_t first) {
    bool lost = context_lost;
    context_lost = false;
    if (lost) return; /* since the kernel's fault cudaFree fails, so the program could not free */
    for (size_t i = 0; i < arena.count; i++) {
        struct record *record = &arena.live[i];
        char bytes[GROUPED];
        if (record->allocation.id < first) continue;
        simt_report(SIMT_LEAK, true, record->pc, NULL,
                    "Leaked %s bytes at 0x%llx\nThe memory was allocated here and never freed",
                    grouped(record->allocation.bytes, bytes), (unsigned long long)record->allocation.start);
    }
}

/* SIMT_LEAKS=1: at the end of the program, as compute-sanitizer --leak-check full does. */
__attribute__((destructor)) static void report_at_exit(void) {
    const char *wanted = getenv("SIMT_LEAKS");
    if (wanted && strcmp(wanted, "1") == 0) arena_report_leaks(0);
}

/* ---- __device__ and __constant__ variables: they register themselves before main() ---- */

/* By address. Static initialisers register them on one OS thread; later they are only read. */
static struct arena_allocation *variables;
static size_t variable_count, variable_room;
static uintptr_t lowest_variable = UINTPTR_MAX, highest_variable;
static __thread size_t last_variable;

/* Their ids lie above those of all allocations. */
#define FIRST_ID (UINT64_C(1) << 62)

static void add_variable(void *pointer, size_t bytes, const char *name, uint64_t id) {
    uintptr_t start = (uintptr_t)pointer;
    size_t at = variable_count;
    while (at > 0 && variables[at - 1].start > start) at--;
    if (at > 0 && variables[at - 1].start == start) return; /* an inline variable of several translation units */
    if (variable_count == variable_room) {
        size_t larger = variable_room ? variable_room * 2 : 32;
        struct arena_allocation *moved = realloc(variables, larger * sizeof *moved);
        if (moved == NULL) abort();
        variables = moved;
        variable_room = larger;
    }
    for (size_t i = variable_count; i > at; i--) variables[i] = variables[i - 1];
    variables[at] = (struct arena_allocation){start, bytes, id + variable_count, name};
    variable_count++;
    if (start < lowest_variable) lowest_variable = start;
    if (start + bytes > highest_variable) highest_variable = start + bytes;
}

void arena_register_variable(void *pointer, size_t bytes, const char *name) {
    add_variable(pointer, bytes, name, FIRST_ID);
}

void arena_register_constant(void *pointer, size_t bytes, const char *name) {
    add_variable(pointer, bytes, name, FIRST_ID | ARENA_CONSTANT);
}

bool arena_find_variable(uintptr_t address, struct arena_allocation *out) {
    if (address - lowest_variable >= highest_variable - lowest_variable || variable_count == 0) return false;
    size_t low = 0, high = variable_count;
    if (last_variable < variable_count && address - variables[last_variable].start < variables[last_variable].bytes) {
        *out = variables[last_variable];
        return true;
    }
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (variables[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address - variables[low - 1].start >= variables[low - 1].bytes) return false;
    last_variable = low - 1;
    *out = variables[last_variable];
    return true;
}

bool arena_variable_before(uintptr_t address, size_t distance, struct arena_allocation *out) {
    for (size_t i = variable_count; i-- > 0;)
        if (variables[i].start <= address) {
            *out = variables[i];
            return address - variables[i].start < variables[i].bytes + distance;
        }
    return false;
}
