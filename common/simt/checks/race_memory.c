/* race_memory.c — the memory of the race detector: chunks that are mapped at the first access.
 *
 * 256 KB of memory have up to four chunks: lines (128 KB), values (128 KB), and, where lines were expanded, word cells
 * (2 MB) and byte cells (8 MB). One directory covers the arena, a second one the program's own low addresses, where device
 * variables lie.
 */
#define _GNU_SOURCE
#include "races.h"

#if SIMT_CHECKED

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "engine/arena.h"
#include "race_lines.h"

enum { CHUNK_SHIFT = 18, CHUNK_BYTES = 1 << CHUNK_SHIFT, LOW_CHUNKS = 1 << (32 - CHUNK_SHIFT) };
#define ARENA_CHUNKS ((ARENA_SHARED_SPAN + ARENA_GLOBAL_SPAN) >> CHUNK_SHIFT)

enum chunk_kind { LINES, VALUES, WORD_CELLS, BYTE_CELLS, CHUNK_KINDS };
static const size_t chunk_bytes[CHUNK_KINDS] = {
    CHUNK_BYTES / LINE_BYTES * sizeof(struct race_line),
    CHUNK_BYTES / 4 * sizeof(uint16_t),
    CHUNK_BYTES / 4 * sizeof(struct race_cell),
    CHUNK_BYTES * sizeof(struct race_cell),
};
_Static_assert(sizeof(struct race_cell) == 32 && sizeof(struct race_line) == 64, "a line is one line of the cache");

static void *arena_chunk[CHUNK_KINDS][ARENA_CHUNKS], *low_chunk[CHUNK_KINDS][LOW_CHUNKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *chunk_make(void **slot, enum chunk_kind kind) {
    pthread_mutex_lock(&lock);
    void *chunk = *slot;
    if (chunk == NULL) {
        chunk =
            mmap(NULL, chunk_bytes[kind], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (chunk == MAP_FAILED) {
            fputs("simt: out of memory for the race detector\n", stderr);
            abort();
        }
        __atomic_store_n(slot, chunk, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return chunk;
}

static inline void *chunk_of(uint64_t address, enum chunk_kind kind) {
    uint64_t offset = address - ARENA_BASE;
    void **slot = offset < ARENA_SHARED_SPAN + ARENA_GLOBAL_SPAN ? &arena_chunk[kind][offset >> CHUNK_SHIFT]
                                                                 : &low_chunk[kind][(uint32_t)address >> CHUNK_SHIFT];
    void *chunk = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    return __builtin_expect(chunk == NULL, 0) ? chunk_make(slot, kind) : chunk;
}

/* Rows of a matrix often lie a power of two apart, so that their lines would share few cache sets. Therefore higher bits of
 * the address are folded into the place inside the chunk. */
struct race_line *race_line_of(uint64_t address) {
    struct race_line *line = chunk_of(address, LINES);
    uint32_t inside = (uint32_t)(address >> LINE_SHIFT) & (CHUNK_BYTES / LINE_BYTES - 1);
    uint32_t high = (uint32_t)(address >> (LINE_SHIFT + 5));
    return line + (inside ^ ((high ^ high >> 5) & 31));
}

void races_prefetch(uint64_t address) {
    __builtin_prefetch(race_line_of(address), 1);
}

uint16_t *race_values_of(uint64_t address) {
    uint16_t *value = chunk_of(address, VALUES);
    return value + (address >> 2 & (CHUNK_BYTES / 4 - 1));
}

struct race_cell *race_cell_of(uint64_t address, bool byte) {
    struct race_cell *cell = chunk_of(address, byte ? BYTE_CELLS : WORD_CELLS);
    uint32_t inside = (uint32_t)address & (CHUNK_BYTES - 1);
    return cell + (byte ? inside : inside >> 2);
}

void race_cells_clear(void) {
    for (int kind = 0; kind < CHUNK_KINDS; kind++) {
        for (size_t i = 0; i < ARENA_CHUNKS; i++)
            if (arena_chunk[kind][i]) madvise(arena_chunk[kind][i], chunk_bytes[kind], MADV_DONTNEED);
        for (size_t i = 0; i < LOW_CHUNKS; i++)
            if (low_chunk[kind][i]) madvise(low_chunk[kind][i], chunk_bytes[kind], MADV_DONTNEED);
    }
}

#else
typedef int race_memory_is_empty_in_the_fast_build;
#endif
