/* arena.h — where device and shared memory lie, and the shadow that knows of every byte whether it is allocated and
 * written.
 *
 * One reserved range of addresses: first the shared memory of the blocks, then global memory. Every 4 bytes have one
 * shadow byte: bit i (0..3): byte i is allocated; bit 4 + i: it has been written. Constant bases make the test of a
 * hook a subtraction and a comparison. Red zones are memory that is not allocated.
 */
#ifndef SIMT_ARENA_H
#define SIMT_ARENA_H

#include "internal.h"

#define ARENA_BASE        UINT64_C(0x200000000000)
#define SHADOW_BASE       (ARENA_BASE >> 2) /* so that the shadow of an address is a quarter of it */
#define ARENA_SHARED_SPAN (UINT64_C(1) << 31)
#define ARENA_GLOBAL_BASE (ARENA_BASE + ARENA_SHARED_SPAN)
#define ARENA_GLOBAL_SPAN (UINT64_C(1) << 36)

enum { RED_ZONE = 256, ARENA_ALIGNMENT = 256, SHARED_SLOT = (256 << 10) + 4096 + 320 };

/* Bytes from ARENA_GLOBAL_BASE that are mapped; 0 before the first use. The arena may be smaller than it would like
 * (RLIMIT_AS), so this is a variable. */
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
static inline unsigned char *shadow_of(uintptr_t address) {
    return (unsigned char *)(address >> 2);
}

/* arena_shadow.c; without effect in the fast build. */
void shadow_allocate(uintptr_t start, size_t bytes); /* allocated, not written; start is a multiple of 4 */
void shadow_release(uintptr_t start, size_t bytes);
void shadow_write(uintptr_t start, size_t bytes);
void shadow_copy(uintptr_t to, uintptr_t from, size_t bytes);
bool shadow_allocated(uintptr_t start, size_t bytes);
bool shadow_written(uintptr_t start, size_t bytes);
size_t shadow_first_unwritten(uintptr_t start, size_t bytes); /* offset; bytes if all are written */

/* arena_reserved.c: from `start` on, the first address where `bytes` have room between the reservations. */
uintptr_t arena_past_reserved(uintptr_t start, size_t bytes);
/* arena.c: as arena_alloc_at, at this address (NULL if it is allocated), or at 0 wherever there is room. */
void *arena_alloc_place(uintptr_t place, size_t bytes, uintptr_t pc);

/* arena.c, for messages: the live allocation or the red zone's owner nearest to the address. False if there is none. */
bool arena_nearest(uintptr_t address, struct arena_allocation *out);
/* Was the address inside an allocation that has been freed? */
bool arena_was_freed(uintptr_t address, struct arena_allocation *out);
/* The variable that holds the address, NULL-terminated name and all; fast for the one asked last. */
bool arena_find_variable(uintptr_t address, struct arena_allocation *out);

/* A kernel has failed so that the device must be reset: what is allocated is no leak. */
void arena_context_lost(void);

/* The variable that ends at most `distance` bytes before the address. */
bool arena_variable_before(uintptr_t address, size_t distance, struct arena_allocation *out);

/* The launch's shared variable nearest to the address, in the running block (shared.c). */
bool shared_nearest(const struct simt_block *block, uintptr_t address, struct arena_allocation *out);

#endif
