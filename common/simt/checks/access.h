/* access.h — the check that every access of instrumented code goes through, and the trace that it leaves.
 *
 * The fast path is a few instructions: is the address in the arena, is it aligned, are its shadow bytes all ones (all
 * four bytes allocated and written); then the access is appended to the lane's trace. All else is access.c.
 */
#ifndef SIMT_ACCESS_H
#define SIMT_ACCESS_H

#include <string.h>

#include "engine/arena.h"
#include "engine/fiber.h"
#include "shadow.h"
#include "trace.h"

/* Checks an access that is not plainly fine. Returns the space; does not return when the launch fails.
 * traced = false: it is no access to device memory (own stack, constants) and leaves no trace. */
enum trace_space access_check(struct simt_thread *self, uintptr_t pc, enum trace_kind kind, uintptr_t address,
                              unsigned size, bool *traced);

/* An access of the host side, or by no thread: device pointers are not to be followed. */
void access_by_host(uintptr_t pc, enum trace_kind kind, uintptr_t address, unsigned size);

/* Volatile accesses and atomics that see the same again and again: the thread polls, others get their turn. */
void access_poll(struct simt_thread *self, uintptr_t pc, uintptr_t address, uint64_t value);

#if SIMT_CHECKED

static inline bool shadow_is_full(uintptr_t address, unsigned size_log2) {
    const unsigned char *shadow = shadow_of(address);
    uint16_t two;
    uint32_t four;
    switch (size_log2) {
        case 2: return *shadow == 0xff;
        case 3: memcpy(&two, shadow, 2); return two == 0xffff;
        case 4: memcpy(&four, shadow, 4); return four == 0xffffffff;
        default: return false;
    }
}

static inline bool in_own_shared(uintptr_t address) {
    const struct simt_thread *self = simt_self;
    return self != NULL && address - (uintptr_t)self->block->shared < SHARED_SLOT;
}

/* Nothing is wrong and nothing is to be noted in the shadow, for an address in global or the block's shared memory. */
static inline bool access_is_plain(uintptr_t address, unsigned size_log2) {
    return (address & ((1u << size_log2) - 1)) == 0 && __builtin_expect(shadow_is_full(address, size_log2), 1);
}

/* All that is not plain: checked in full. */
void access_hook_slow(uintptr_t pc, enum trace_kind kind, uintptr_t address, unsigned size_log2);

static inline void access_hook(uintptr_t pc, enum trace_kind kind, uintptr_t address, unsigned size_log2) {
    if (kind <= TRACE_WRITE && __builtin_expect(in_global(address), 1)) {
        if (access_is_plain(address, size_log2) &&
            __builtin_expect(trace_access_fast(running_trace, pc, kind, size_log2, TRACE_GLOBAL, address), 1))
            return;
    } else if (kind <= TRACE_WRITE && in_own_shared(address)) {
        if (access_is_plain(address, size_log2) &&
            __builtin_expect(trace_access_fast(running_trace, pc, kind, size_log2, TRACE_SHARED, address), 1))
            return;
    }
    access_hook_slow(pc, kind, address, size_log2);
}

#endif
#endif
