/* access.h — the check of every access of instrumented code, and its trace entry.
 *
 * The fast path is a few instructions: the address is in the arena, it is aligned, its shadow bytes are all ones (all
 * four bytes allocated and written), or this access is the first to write whole words. Then the access is appended to the
 * lane's trace. access.c is the slow path.
 */
#ifndef SIMT_ACCESS_H
#define SIMT_ACCESS_H

#include <string.h>

#include "engine/arena.h"
#include "engine/fiber.h"
#include "shadow.h"
#include "trace.h"

/* Checks an access in full. Returns the space; does not return when the launch fails. traced = false: the access is not to
 * device memory (own stack, constants) and is not traced. */
enum trace_space access_check(struct simt_thread *self, uintptr_t pc, enum trace_kind kind, uintptr_t address,
                              unsigned size, bool *traced);

/* An access on the host side, or without a running thread: dereferencing a device pointer is an error. */
void access_by_host(uintptr_t pc, enum trace_kind kind, uintptr_t address, unsigned size);

/* "read", "write" or "atomic". */
const char *access_name(enum trace_kind kind);

/* Volatile accesses and atomics that return the same value repeatedly: the thread polls, so it yields to others. */
void access_poll(struct simt_thread *self, uintptr_t pc, uintptr_t address, uint64_t value);

#if SIMT_CHECKED

/* Is every shadow byte of the access this one? Of an access to a part of a word it is the word's. */
static inline bool shadow_is(uintptr_t address, unsigned size_log2, unsigned char byte) {
    const unsigned char *shadow = shadow_of(address);
    uint16_t two;
    uint32_t four;
    switch (size_log2) {
        case 3: memcpy(&two, shadow, 2); return two == byte * 0x0101u;
        case 4: memcpy(&four, shadow, 4); return four == byte * 0x01010101u;
        default: return *shadow == byte;
    }
}

/* Whole words that are allocated and not written: marks them as written. */
static inline bool shadow_first_write(uintptr_t address, unsigned size_log2) {
    if (size_log2 < 2 || !shadow_is(address, size_log2, SHADOW_ALLOCATED)) return false;
    memset(shadow_of(address), SHADOW_ALLOCATED | SHADOW_WRITTEN, 1u << (size_log2 - 2));
    return true;
}

static inline bool in_own_shared(uintptr_t address) {
    const struct simt_thread *self = simt_self;
    return self != NULL && address - (uintptr_t)self->block->shared < SHARED_SLOT;
}

/* No error; the shadow is up to date. For an address in global memory or in the block's shared memory. */
static inline bool access_is_plain(enum trace_kind kind, uintptr_t address, unsigned size_log2) {
    return (address & ((1u << size_log2) - 1)) == 0 &&
           (__builtin_expect(shadow_is(address, size_log2, SHADOW_ALLOCATED | SHADOW_WRITTEN), 1) ||
            (kind == TRACE_WRITE && shadow_first_write(address, size_log2)));
}

/* The slow path: checks in full. */
void access_hook_slow(uintptr_t pc, enum trace_kind kind, uintptr_t address, unsigned size_log2);

static inline void access_hook(uintptr_t pc, enum trace_kind kind, uintptr_t address, unsigned size_log2) {
    if (kind <= TRACE_WRITE && __builtin_expect(in_global(address), 1)) {
        if (access_is_plain(kind, address, size_log2) &&
            __builtin_expect(trace_access_fast(running_trace, pc, kind, size_log2, TRACE_GLOBAL, address), 1))
            return;
    } else if (kind <= TRACE_WRITE && in_own_shared(address)) {
        if (access_is_plain(kind, address, size_log2) &&
            __builtin_expect(trace_access_fast(running_trace, pc, kind, size_log2, TRACE_SHARED, address), 1))
            return;
    }
    access_hook_slow(pc, kind, address, size_log2);
}

#endif
#endif
