/* async_copy.c — asynchronous copies to shared memory: cp.async and the functions of CUDA that use it.
 *
 * The bytes are copied at once, as one load and one store of the line that starts the copy. In the checked build the
 * target then counts as uninitialised until the copying thread has waited for the copy's group, so that a premature read is
 * a finding. The store is ordered where the copy starts: another thread that reads after the wait, but without a barrier,
 * is in a race with it.
 */
#include "async_copy.h"

#include <stdlib.h>
#include <string.h>

#include "access.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))

#if SIMT_CHECKED

struct copy {
    uintptr_t to;
    uint32_t bytes, group;
    const void *barrier; /* completes it instead of a group; or NULL */
};

struct thread_copies {
    struct copy *copy;
    uint32_t count, room;
    uint32_t group; /* the open group: how many were committed */
};

struct block_copies {
    uint64_t serial; /* the block that they belong to: structures are used again */
    unsigned threads;
    struct thread_copies of[];
};

static struct thread_copies *copies_of(struct simt_thread *self, bool add) {
    struct simt_block *block = self->block;
    if (block->copies == NULL) {
        if (!add) return NULL;
        block->copies = calloc(1, sizeof *block->copies + block->threads_room * sizeof block->copies->of[0]);
        if (block->copies == NULL) abort();
        block->copies->threads = block->threads_room;
    }
    if (block->copies->serial != block->serial) {
        block->copies->serial = block->serial;
        for (unsigned i = 0; i < block->copies->threads; i++)
            block->copies->of[i].count = block->copies->of[i].group = 0;
    }
    return &block->copies->of[self->linear];
}

void async_copies_free(struct simt_block *block) {
    for (unsigned i = 0; block->copies && i < block->copies->threads; i++) free(block->copies->of[i].copy);
    free(block->copies);
    block->copies = NULL;
}

bool async_copy_pending(const struct simt_block *block, uintptr_t address) {
    if (block->copies == NULL || block->copies->serial != block->serial) return false;
    for (unsigned i = 0; i < block->threads; i++) {
        const struct thread_copies *copies = &block->copies->of[i];
        for (uint32_t k = 0; k < copies->count; k++)
            if (address - copies->copy[k].to < copies->copy[k].bytes) return true;
    }
    return false;
}

static void remember(struct simt_thread *self, uintptr_t to, unsigned bytes, const void *barrier) {
    struct thread_copies *copies = copies_of(self, true);
    if (copies->count == copies->room) {
        copies->room = copies->room ? copies->room * 2 : 8;
        copies->copy = realloc(copies->copy, copies->room * sizeof *copies->copy);
        if (copies->copy == NULL) abort();
    }
    copies->copy[copies->count++] = (struct copy){to, bytes, copies->group, barrier};
    shadow_allocate(to, bytes); /* allocated, not written */
}

/* The copies of this barrier complete; without a barrier, the groups before `group`. */
static void complete(struct thread_copies *copies, const void *barrier, uint32_t group) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < copies->count; i++) {
        struct copy *copy = &copies->copy[i];
        if (copy->barrier == barrier && (barrier || copy->group < group))
            shadow_write(copy->to, copy->bytes);
        else
            copies->copy[left++] = *copy;
    }
    copies->count = left;
}

/* A part of the source is read in the largest aligned words that fit. */
static void read_hook(uintptr_t pc, uintptr_t from, unsigned bytes) {
    while (bytes) {
        unsigned log2 = 4;
        while (1u << log2 > bytes) log2--;
        access_hook(pc, TRACE_READ, from, log2);
        from += 1u << log2;
        bytes -= 1u << log2;
    }
}

static inline void copy(uintptr_t pc, void *to, const void *from, unsigned bytes, unsigned from_bytes,
                        const void *barrier) {
    struct simt_thread *self = simt_self;
    uintptr_t target = (uintptr_t)to;
    char word[16] = {0};
    if (from_bytes > bytes) from_bytes = bytes;
    if (self) {
        read_hook(pc, (uintptr_t)from, from_bytes);
        access_hook(pc, TRACE_WRITE, target, (unsigned)__builtin_ctz(bytes));
    }
    memcpy(word, from, from_bytes);
    memcpy(to, word, bytes);
    if (self && in_arena(target)) remember(self, target, bytes, barrier);
}

void simt_async_copy(void *to, const void *from, unsigned bytes, unsigned from_bytes) {
    copy(CALLER, to, from, bytes, from_bytes, NULL);
}

void simt_async_copy_to_barrier(void *to, const void *from, unsigned bytes, const void *barrier) {
    copy(CALLER, to, from, bytes, bytes, barrier);
}

void async_copies_arrive(const void *barrier) {
    struct thread_copies *copies = copies_of(simt_self, false);
    if (copies) complete(copies, barrier, 0);
}

void simt_async_commit(void) {
    if (simt_self) copies_of(simt_self, true)->group++;
}

void simt_async_wait(unsigned pending) {
    struct thread_copies *copies = simt_self ? copies_of(simt_self, false) : NULL;
    if (copies && copies->group > pending) complete(copies, NULL, copies->group - pending);
}

void simt_async_wait_all(void) {
    struct thread_copies *copies = simt_self ? copies_of(simt_self, false) : NULL;
    if (copies) complete(copies, NULL, ++copies->group);
}

#else

void async_copies_free(struct simt_block *block) {
    (void)block;
}
bool async_copy_pending(const struct simt_block *block, uintptr_t address) {
    (void)block, (void)address;
    return false;
}
void simt_async_copy(void *to, const void *from, unsigned bytes, unsigned from_bytes) {
    char word[16] = {0};
    memcpy(word, from, from_bytes < bytes ? from_bytes : bytes);
    memcpy(to, word, bytes);
}
void simt_async_copy_to_barrier(void *to, const void *from, unsigned bytes, const void *barrier) {
    (void)barrier;
    simt_async_copy(to, from, bytes, bytes);
}
void async_copies_arrive(const void *barrier) {
    (void)barrier;
}
void simt_async_commit(void) {}
void simt_async_wait(unsigned pending) {
    (void)pending;
}
void simt_async_wait_all(void) {}

#endif
