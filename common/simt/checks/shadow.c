/* shadow.c — the shadow of the arena, over ranges: which bytes are allocated, and which have been written. */
#include "shadow.h"

#include "engine/arena.h"

#include <string.h>

#if SIMT_CHECKED

/* The bits of the bytes from `first` to `last` (0..4) of one word. */
static unsigned nibble(size_t first, size_t last) {
    return ((1u << last) - 1) & ~((1u << first) - 1);
}

void shadow_allocate(uintptr_t start, size_t bytes) {
    unsigned char *shadow = shadow_of(start);
    memset(shadow, SHADOW_ALLOCATED, bytes / 4);
    if (bytes % 4) shadow[bytes / 4] = (unsigned char)nibble(0, bytes % 4);
}

void shadow_release(uintptr_t start, size_t bytes) {
    memset(shadow_of(start), 0, (bytes + 3) / 4);
}

void shadow_write(uintptr_t start, size_t bytes) {
    uintptr_t at = start, end = start + bytes;
    while (at < end) {
        if (at % 4 == 0 && end - at >= 4) {
            size_t words = (end - at) / 4;
            memset(shadow_of(at), SHADOW_ALLOCATED | SHADOW_WRITTEN, words);
            at += words * 4;
            continue;
        }
        uintptr_t stop = (at | 3) + 1 < end ? (at | 3) + 1 : end;
        unsigned bits = nibble(at % 4, at % 4 + (stop - at)) << 4;
        __atomic_fetch_or(shadow_of(at), (unsigned char)bits, __ATOMIC_RELAXED);
        at = stop;
    }
}

static bool test(uintptr_t at, unsigned shift) {
    return *shadow_of(at) >> (shift + at % 4) & 1;
}

/* The offset of the first byte without the bit; `bytes` if all have it. shift 0: allocated, 4: written. */
static size_t first_without(uintptr_t start, size_t bytes, unsigned shift) {
    unsigned full = shift ? SHADOW_WRITTEN : SHADOW_ALLOCATED;
    size_t i = 0;
    while (i < bytes) {
        if ((start + i) % 4 == 0 && bytes - i >= 4 && (*shadow_of(start + i) & full) == full)
            i += 4;
        else if (test(start + i, shift))
            i++;
        else
            break;
    }
    return i;
}

bool shadow_allocated(uintptr_t start, size_t bytes) {
    return first_without(start, bytes, 0) == bytes;
}
bool shadow_written(uintptr_t start, size_t bytes) {
    return first_without(start, bytes, 4) == bytes;
}

size_t shadow_first_unwritten(uintptr_t start, size_t bytes) {
    return first_without(start, bytes, 4);
}

void shadow_copy(uintptr_t to, uintptr_t from, size_t bytes) {
    if (to % 4 == from % 4 && to % 4 == 0) {
        unsigned char *target = shadow_of(to);
        const unsigned char *source = shadow_of(from);
        size_t words = bytes / 4;
        if (target > source)
            for (size_t i = words; i-- > 0;)
                target[i] = (unsigned char)((target[i] & SHADOW_ALLOCATED) | (source[i] & SHADOW_WRITTEN));
        else
            for (size_t i = 0; i < words; i++)
                target[i] = (unsigned char)((target[i] & SHADOW_ALLOCATED) | (source[i] & SHADOW_WRITTEN));
        to += words * 4;
        from += words * 4;
        bytes -= words * 4;
    }
    for (size_t i = 0; i < bytes; i++) {
        unsigned char bit = (unsigned char)(0x10 << (to + i) % 4);
        if (test(from + i, 4))
            __atomic_fetch_or(shadow_of(to + i), bit, __ATOMIC_RELAXED);
        else
            __atomic_fetch_and(shadow_of(to + i), (unsigned char)~bit, __ATOMIC_RELAXED);
    }
}

#else

void shadow_allocate(uintptr_t start, size_t bytes) {
    (void)start, (void)bytes;
}
void shadow_release(uintptr_t start, size_t bytes) {
    (void)start, (void)bytes;
}
void shadow_write(uintptr_t start, size_t bytes) {
    (void)start, (void)bytes;
}
void shadow_copy(uintptr_t to, uintptr_t from, size_t bytes) {
    (void)to, (void)from, (void)bytes;
}

#endif

void arena_mark_written(void *pointer, size_t bytes) {
    if (in_arena((uintptr_t)pointer)) shadow_write((uintptr_t)pointer, bytes);
}

void arena_copy_written(void *to, const void *from, size_t bytes) {
    if (!in_arena((uintptr_t)to)) return;
    if (in_arena((uintptr_t)from))
        shadow_copy((uintptr_t)to, (uintptr_t)from, bytes);
    else
        shadow_write((uintptr_t)to, bytes);
}
