/* fiber.h — stacks, and the switch between them. A CUDA thread is a fiber; it never changes its OS thread. */
#ifndef SIMT_FIBER_H
#define SIMT_FIBER_H

#include <stddef.h>
#include <stdint.h>

#include "arch_context.h"

/* Contexts are stack pointers. `start` must not return; `top` is 16-byte aligned. */
void fiber_switch(void **save, void *load);
void fiber_start(void **save, void *top, void (*start)(void));
void fiber_leave(void *load) __attribute__((noreturn));
void fiber_restart(void *top, void (*start)(void)) __attribute__((noreturn));

enum {
    STACK_BYTES = 64 * 1024,
    /* An odd stride spreads the tops of the stacks over the cache's sets; at 64 KB they would all share one. Between guards,
     * which are whole pages of up to 64 KB, the stacks are shifted instead. */
    STACK_SHIFT = 5 * 64,
    STACK_STRIDE = STACK_GUARD ? STACK_GUARD + 2 * STACK_BYTES : STACK_BYTES + STACK_SHIFT,
    /* Reserved for library functions, which do not check their stack: printf needs about 4 KB. */
    STACK_RESERVE = 12 * 1024,
    STACKS_PER_CHUNK = 32,
};

/* The stacks of one OS thread, last in, first out, so that threads that run to completion share one cached stack.
 * The system maps the memory lazily; it stays in the pool. */
struct stack_pool {
    uintptr_t *free; /* low ends */
    size_t count, capacity, made;
};

uintptr_t stack_pool_grow(struct stack_pool *pool); /* block.c; 0 when out of memory */

static inline uintptr_t stack_take(struct stack_pool *pool) {
    return pool->count ? pool->free[--pool->count] : stack_pool_grow(pool);
}

static inline void stack_give(struct stack_pool *pool, uintptr_t low) {
    pool->free[pool->count++] = low; /* capacity for all stacks made is kept by stack_pool_grow */
}

#endif
