/* fiber.c — the pool of stacks of one OS thread. */
#define _GNU_SOURCE
#include "fiber.h"

#include <stdlib.h>
#include <sys/mman.h>

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
    for (int i = STACKS_PER_CHUNK - 1; i > 0; i--)
        pool->free[pool->count++] = (uintptr_t)chunk + (size_t)i * STACK_STRIDE;
    pool->made += STACKS_PER_CHUNK;
    return (uintptr_t)chunk;
}
