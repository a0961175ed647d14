/* arena.c — global memory: allocations with red zones in one reserved range of addresses.
 *
 * Addresses are handed out upwards and used again only when the range is full, so that a freed pointer stays invalid
 * for long. The memory of a freed allocation goes back to the system at once.
 */
#define _GNU_SOURCE
#include "arena.h"
#include "arena_reserved.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checks/source.h"

enum { FREED_KEPT = 256, BYTES_RETURNED = 64 * 1024 };

struct record {
    struct arena_allocation allocation;
    uintptr_t pc; /* who allocated it */
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

/* As much as the process may map: a sandbox may limit the address space. */
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
        start = arena_past_reserved(start, bytes);
        if (next >= start && next - start >= bytes + RED_ZONE) return start;
        if (i < arena.count) start = arena_after(next, arena.live[i].allocation.bytes);
    }
    return 0;
}

static bool starts(uintptr_t start) {
    size_t i = above(start);
    return i > 0 && arena.live[i - 1].allocation.start == start;
}

void *arena_alloc_place(uintptr_t place, size_t bytes, uintptr_t pc) {
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
    memset((void *)start, 0xff, bytes); /* a NaN in every floating-point type: what is not written shows */
    shadow_allocate(start, bytes);
    return (void *)start;
}

void *arena_alloc_at(size_t bytes, uintptr_t pc) {
    return arena_alloc_place(0, bytes, pc);
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

/* The red zone before an allocation belongs to it: x[-1] is reported against x, not against its neighbour. */
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

void arena_context_lost(void) {
    context_lost = true;
}

uint64_t arena_next_id(void) {
    return arena.next_id;
}

void arena_report_leaks(uint64_t first) {
    bool lost = context_lost;
    context_lost = false;
    if (lost) return; /* cudaFree has failed since the kernel's fault, so it is not the program's fault */
    for (size_t i = 0; i < arena.count; i++) {
        struct record *record = &arena.live[i];
        char bytes[GROUPED];
        if (record->allocation.id < first) continue;
        simt_report(SIMT_LEAK, true, record->pc, NULL,
                    "Leaked %s bytes at 0x%llx\nThey were allocated here and never freed",
                    grouped(record->allocation.bytes, bytes), (unsigned long long)record->allocation.start);
    }
}

/* SIMT_LEAKS=1: at the end of the program, as compute-sanitizer --leak-check full does. */
__attribute__((destructor)) static void report_at_exit(void) {
    const char *wanted = getenv("SIMT_LEAKS");
    if (wanted && strcmp(wanted, "1") == 0) arena_report_leaks(0);
}
