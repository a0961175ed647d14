/* race_cells.c — where the cells of the race detector lie: in chunks, mapped when first touched.
 *
 * 256 KB of memory have a chunk of 2 MB of word cells, and one of 8 MB of byte cells if it is accessed by bytes or
 * halves. The directory covers the arena; a second one the program's own low addresses, where device variables lie.
 */
#define _GNU_SOURCE
#include "races.h"

#if SIMT_CHECKED

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "arena.h"

enum { CHUNK_SHIFT = 18, LOW_CHUNKS = 1 << (32 - CHUNK_SHIFT) };
#define ARENA_CHUNKS ((ARENA_SHARED_SPAN + ARENA_GLOBAL_SPAN) >> CHUNK_SHIFT)
_Static_assert(sizeof(struct race_cell) == 32, "8 bytes of cell per byte of memory");

static struct race_cell *arena_chunk[2][ARENA_CHUNKS], *low_chunk[2][LOW_CHUNKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t chunk_bytes(bool byte)
{
    return (size_t)8 << (CHUNK_SHIFT + (byte ? 2 : 0));
}

static struct race_cell *chunk_make(struct race_cell **slot, bool byte)
{
    pthread_mutex_lock(&lock);
    struct race_cell *chunk = *slot;
    if (chunk == NULL) {
        /* Aligned to 2 MB, so that the system may use huge pages. */
        size_t align = (size_t)2 << 20, bytes = chunk_bytes(byte);
        char *got = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED) {
            fputs("simt: out of memory for the race detector\n", stderr);
            abort();
        }
        char *aligned = (char *)(((uintptr_t)got + align - 1) & -(uintptr_t)align);
        if (aligned != got)
            munmap(got, (size_t)(aligned - got));
        if (aligned + bytes != got + bytes + align)
            munmap(aligned + bytes, (size_t)(got + align - aligned));
        madvise(aligned, bytes, MADV_HUGEPAGE);
        chunk = (struct race_cell *)aligned;
        __atomic_store_n(slot, chunk, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return chunk;
}

struct race_cell *race_cell_of(uint64_t address, bool byte)
{
    uint64_t offset = address - ARENA_BASE;
    struct race_cell **slot = offset < ARENA_SHARED_SPAN + ARENA_GLOBAL_SPAN
                                  ? &arena_chunk[byte][offset >> CHUNK_SHIFT]
                                  : &low_chunk[byte][(uint32_t)address >> CHUNK_SHIFT];
    struct race_cell *chunk = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (__builtin_expect(chunk == NULL, 0))
        chunk = chunk_make(slot, byte);
    uint32_t inside = (uint32_t)address & ((1u << CHUNK_SHIFT) - 1);
    return chunk + (byte ? inside : inside >> 2);
}

static void clear(struct race_cell **slot, size_t count, bool byte)
{
    for (size_t i = 0; i < count; i++)
        if (slot[i])
            madvise(slot[i], chunk_bytes(byte), MADV_DONTNEED);
}

void race_cells_clear(void)
{
    for (int byte = 0; byte < 2; byte++) {
        clear(arena_chunk[byte], ARENA_CHUNKS, byte);
        clear(low_chunk[byte], LOW_CHUNKS, byte);
    }
}

#else
typedef int race_cells_is_empty_in_the_fast_build;
#endif
