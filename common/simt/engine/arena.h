/* arena.h — the addresses of device memory, and the allocations in it.
 *
 * The arena is one reserved range of addresses: first the shared memory of the blocks, then global memory. The bases
 * are constants, so that a hook tests an address with a subtraction and a comparison. Red zones, which are not
 * allocated, separate the allocations. checks/shadow.h records which bytes are allocated and written.
 */
#ifndef SIMT_ARENA_H
#define SIMT_ARENA_H

#include "internal.h"

#define ARENA_BASE        UINT64_C(0x200000000000)
#define SHADOW_BASE       (ARENA_BASE >> 2) /* checks/shadow.h */
#define ARENA_SHARED_SPAN (UINT64_C(1) << 31)
#define ARENA_GLOBAL_BASE (ARENA_BASE + ARENA_SHARED_SPAN)
#define ARENA_GLOBAL_SPAN (UINT64_C(1) << 36)

/* SHARED_SLOT: of a block. A multiple of 128, to which a kernel may align a variable; blocks begin in different sets of a
 * cache. */
enum { RED_ZONE = 256, ARENA_ALIGNMENT = 256, SHARED_SLOT = (256 << 10) + 4096 + 384 };

/* Bytes from ARENA_GLOBAL_BASE that are mapped; 0 before the first use. A variable, because a limit of the address space
 * (RLIMIT_AS) makes the arena smaller than ARENA_GLOBAL_SPAN. */
extern uintptr_t arena_global_span;
bool arena_open(void);

static inline bool in_global(uintptr_t address) {
    return address - ARENA_GLOBAL_BASE < arena_global_span;
}
static inline bool in_shared(uintptr_t address) {
    return address - ARENA_BASE < ARENA_SHARED_SPAN;
}
static inline bool in_arena(uintptr_t address) {
    return in_global(address) || (in_shared(address) && arena_global_span);
}
/* The first address at which another allocation may start behind this one. */
static inline uintptr_t arena_after(uintptr_t start, size_t bytes) {
    return (start + bytes + RED_ZONE + ARENA_ALIGNMENT - 1) & -(uintptr_t)ARENA_ALIGNMENT;
}

/* Reservations: addresses that no other allocation gets, at which memory is allocated repeatedly, as the replays of a
 * graph do. arena_free ends such an allocation. A reservation ends with its last holder, and an allocation is one. */
void *arena_reserve(size_t bytes, uintptr_t pc); /* held by the caller; NULL when over the device's memory */
bool arena_hold(void *start);                    /* false: no reservation starts there */
/* For a free node, of the graph that allocates the memory or of another; false: none starts there, or the former exists. */
bool arena_hold_to_free(void *start, bool by_itself);
void arena_let_go(void *start);
bool arena_alloc_reserved(void *start); /* false: allocated already, or over the device's memory */

/* For messages: the live allocation that contains the address or is nearest to it. False if there is none. */
bool arena_nearest(uintptr_t address, struct arena_allocation *out);
/* Was the address inside an allocation that has been freed? */
bool arena_was_freed(uintptr_t address, struct arena_allocation *out);
/* The device variable that contains the address. The last answer is cached. */
bool arena_find_variable(uintptr_t address, struct arena_allocation *out);

/* A kernel has failed so that the device must be reset: memory that is allocated now is no leak. */
void arena_context_lost(void);

/* The device variable that ends at most `distance` bytes before the address. */
bool arena_variable_before(uintptr_t address, size_t distance, struct arena_allocation *out);

/* The launch's shared variable nearest to the address, in the running block (shared.c). */
bool shared_nearest(const struct simt_block *block, uintptr_t address, struct arena_allocation *out);

#endif
