/* block.c — the structures of a block, and the stacks of its threads: each OS thread keeps them and uses them again. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "checks/async_copy.h"
#include "checks/trace.h"
#include "scheduler.h"

static void lay_out_threads(struct simt_block *block, const struct simt_launch *launch) {
    struct dim dim = launch->block;
    block->threads = dim.x * dim.y * dim.z;
    block->warps = (block->threads + WARP_SIZE - 1) / WARP_SIZE;
    for (unsigned i = 0; i < block->threads; i++) {
        struct simt_thread *thread = &block->thread[i];
        memset(thread, 0, sizeof *thread);
        thread->block = block;
        thread->warp = &block->warp[i / WARP_SIZE];
        thread->linear = (uint16_t)i;
        thread->lane = (uint8_t)(i % WARP_SIZE);
        thread->index = (struct dim){i % dim.x, i / dim.x % dim.y, i / dim.x / dim.y};
    }
    for (unsigned w = 0; w < block->warps; w++) {
        struct simt_warp *warp = &block->warp[w];
        unsigned left = block->threads - w * WARP_SIZE;
        *warp = (struct simt_warp){.block = block,
                                   .index = w,
                                   .lanes = left < WARP_SIZE ? left : WARP_SIZE,
                                   .shuffled = launch->shuffled,
                                   .thread = &block->thread[w * WARP_SIZE]};
    }
}

static struct simt_block *block_make(unsigned threads) {
    struct simt_block *block = calloc(1, sizeof *block);
    if (block == NULL) return NULL;
    block->threads_room = threads;
    block->thread = aligned_alloc(64, threads * sizeof *block->thread);
    block->warp = aligned_alloc(64, (threads + WARP_SIZE - 1) / WARP_SIZE * sizeof *block->warp);
    if (block->thread == NULL || block->warp == NULL) {
        free(block->thread);
        free(block->warp);
        free(block);
        return NULL;
    }
    return block;
}

struct simt_block *block_take(struct worker *worker, unsigned threads) {
    struct simt_block *block = worker->idle;
    if (block == NULL) return block_make(threads);
    worker->idle = block->next;
    if (block->threads_room >= threads) return block;
    struct simt_block *larger = block_make(threads);
    if (larger) {
        larger->shared = block->shared;
        larger->shared_used = block->shared_used;
    }
    async_copies_free(block);
    free(block->thread);
    free(block->warp);
    free(block);
    return larger;
}

/* Prepares the block for its first run; without the lock. */
void block_prepare(struct simt_block *block, struct simt_launch *launch) {
    if (block->launch_serial != launch->serial) {
        block->launch = launch;
        block->launch_serial = launch->serial;
        lay_out_threads(block, launch);
    }
    uint64_t linear = order_linear(launch, block->rank);
    struct dim grid = launch->grid;
    block->linear = linear;
    block->index = (struct dim){(unsigned)(linear % grid.x), (unsigned)(linear / grid.x % grid.y),
                                (unsigned)(linear / grid.x / grid.y)};
    block->serial = launch->first_block_serial + linear;
    block->cursor = block->exited = block->at_barrier = block->at_grid = 0;
    block->steps = 0;
    block->rounds = 0;
    block->suspended = NULL;
    block->progressed = block->diverged = block->shares = false;
    memset(&block->counters, 0, sizeof block->counters);
    for (unsigned w = 0; w < block->warps; w++) {
        struct simt_warp *warp = &block->warp[w];
        memset(warp->in_state, 0, sizeof warp->in_state);
        warp->exited = warp->polls = warp->waits = 0;
        warp->passes = false;
        warp->ticket = warp->had_ticket = 0;
        warp->in_state[THREAD_READY] = ~0u >> (WARP_SIZE - warp->lanes);
    }
    shared_prepare_block(block);
    trace_block_begin(block);
    block->prepared = true;
}

void block_give(struct worker *worker, struct simt_block *block) {
    block->next = worker->idle;
    worker->idle = block;
}

/* The low end of stack `i` of a chunk. Where the system has no more mappings for guards, the stack has none: then only the
 * checked build detects an overflow. */
static uintptr_t lay_out_stack(char *chunk, int i) {
    char *place = chunk + (size_t)i * STACK_STRIDE;
    if (STACK_GUARD == 0) return (uintptr_t)place;
    mprotect(place, STACK_GUARD, PROT_NONE);
    return (uintptr_t)place + STACK_GUARD + (size_t)i * STACK_SHIFT;
}

uintptr_t stack_pool_grow(struct stack_pool *pool) {
    size_t needed = pool->made + STACKS_PER_CHUNK;
    if (pool->capacity < needed) {
        size_t capacity = needed * 2;
        uintptr_t *free_stacks = realloc(pool->free, capacity * sizeof *free_stacks);
        if (free_stacks == NULL) return 0;
        pool->free = free_stacks;
        pool->capacity = capacity;
    }
    char *chunk = mmap(NULL, (size_t)STACKS_PER_CHUNK * STACK_STRIDE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (chunk == MAP_FAILED) return 0;
    for (int i = STACKS_PER_CHUNK - 1; i > 0; i--) pool->free[pool->count++] = lay_out_stack(chunk, i);
    pool->made += STACKS_PER_CHUNK;
    return lay_out_stack(chunk, 0);
}
