/* worker.c — the OS threads that run the blocks of a launch, and the block structures that they reuse. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler.h"
#include "settings.h"
#include "trace.h"
#include "watchdog.h"

/* Rounds of the turn in which every live block only polls, before it is said that none will ever stop. */
enum { IDLE_ROUNDS = 400 };

/* The pool: threads wait for a launch, run blocks of it, and report back. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    struct simt_launch *launch;
    uint64_t generation;
    int threads, wanted, running;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static __thread struct worker own_worker;

static void lay_out_threads(struct simt_block *block, const struct simt_launch *launch)
{
    struct dim dim = launch->block;
    block->threads = dim.x * dim.y * dim.z;
    block->warps = (block->threads + WARP_SIZE - 1) / WARP_SIZE;
    for (unsigned i = 0; i < block->threads; i++) {
        struct simt_thread *thread = &block->thread[i];
        memset(thread, 0, sizeof *thread);
        thread->block = block;
        thread->warp = &block->warp[i / WARP_SIZE];
        thread->linear = i;
        thread->lane = i % WARP_SIZE;
        thread->index = (struct dim){i % dim.x, i / dim.x % dim.y, i / dim.x / dim.y};
    }
    for (unsigned w = 0; w < block->warps; w++) {
        struct simt_warp *warp = &block->warp[w];
        unsigned left = block->threads - w * WARP_SIZE;
        *warp = (struct simt_warp){.block = block, .index = w, .lanes = left < WARP_SIZE ? left : WARP_SIZE,
                                   .thread = &block->thread[w * WARP_SIZE]};
    }
}

static struct simt_block *block_make(unsigned threads)
{
    struct simt_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return NULL;
    block->threads_room = threads;
    block->thread = calloc(threads, sizeof *block->thread);
    block->warp = calloc((threads + WARP_SIZE - 1) / WARP_SIZE, sizeof *block->warp);
    if (block->thread == NULL || block->warp == NULL) {
        free(block->thread);
        free(block->warp);
        free(block);
        return NULL;
    }
    return block;
}

static struct simt_block *block_take(struct worker *worker, unsigned threads)
{
    struct simt_block *block = worker->idle;
    if (block == NULL)
        return block_make(threads);
    worker->idle = block->next;
    if (block->threads_room >= threads)
        return block;
    struct simt_block *larger = block_make(threads);
    if (larger) {
        larger->shared = block->shared;
        larger->shared_used = block->shared_used;
    }
    free(block->thread);
    free(block->warp);
    free(block);
    return larger;
}

/* All that a block needs before its first run; without the lock. */
static void prepare(struct simt_block *block, struct simt_launch *launch)
{
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
    block->suspended = NULL;
    block->progressed = false;
    memset(&block->counters, 0, sizeof block->counters);
    for (unsigned w = 0; w < block->warps; w++) {
        struct simt_warp *warp = &block->warp[w];
        memset(warp->in_state, 0, sizeof warp->in_state);
        warp->exited = 0;
        warp->in_state[THREAD_READY] = ~0u >> (WARP_SIZE - warp->lanes);
    }
    for (unsigned i = 0; i < block->threads; i++) {
        block->thread[i].state = THREAD_READY;
        block->thread[i].polls = 0;
    }
    shared_prepare_block(block);
    trace_block_begin(block);
    block->prepared = true;
}

static void block_give(struct worker *worker, struct simt_block *block)
{
    block->next = worker->idle;
    worker->idle = block;
}

static void link_block(struct launch_order *order, struct simt_block *block)
{
    block->next = NULL;
    block->previous = order->last;
    if (order->last)
        order->last->next = block;
    else
        order->first = block;
    order->last = block;
    order->live++;
}

static void unlink_block(struct launch_order *order, struct simt_block *block)
{
    if (block->previous)
        block->previous->next = block->next;
    else
        order->first = block->next;
    if (block->next)
        block->next->previous = block->previous;
    else
        order->last = block->previous;
    order->live--;
}

/* Blocks that will run at all: none above the lowest that failed. */
static uint64_t block_limit(const struct simt_launch *launch)
{
    uint64_t fail_rank = atomic_load(&launch->order->fail_rank);
    return fail_rank < launch->blocks ? fail_rank + 1 : launch->blocks;
}

/* A live block of this worker that can run, or one to be abandoned. All of them at the grid barrier: *at_grid. */
static struct simt_block *pick_live(struct worker *worker, struct simt_launch *launch, bool *at_grid)
{
    struct launch_order *order = launch->order;
    *at_grid = true;
    if (worker->live == 0)
        return NULL;
    for (struct simt_block *block = order->first; block; block = block->next) {
        if (block->worker != worker)
            continue;
        if (launch_gave_up(launch, block->rank))
            return block;
        *at_grid &= block->status == BLOCK_AT_GRID;
        if (block->status != BLOCK_AT_GRID && (!block->ordered || order->turn == block->rank))
            return block;
    }
    return NULL;
}

/* Linked before the lock is given back: the turn must not pass by a block that has started. */
static struct simt_block *start_block(struct worker *worker, struct simt_launch *launch, bool at_grid)
{
    struct launch_order *order = launch->order;
    if (order->started >= block_limit(launch) || !(worker->live == 0 || at_grid || order->turn == order->started))
        return NULL;
    struct simt_block *block = block_take(worker, launch->block.x * launch->block.y * launch->block.z);
    if (block == NULL) {
        fprintf(stderr, "simt: out of memory for a block of %u threads\n",
                launch->block.x * launch->block.y * launch->block.z);
        abort();
    }
    block->rank = order->started++;
    block->worker = worker;
    block->status = BLOCK_RUNS;
    block->ordered = launch->blocks == 1;
    block->prepared = false;
    order->idle_rounds = 0;
    worker->live++;
    link_block(order, block);
    return block;
}

static void release_grid_if_complete(struct simt_launch *launch)
{
    struct launch_order *order = launch->order;
    if (order->at_grid == 0 || order->at_grid != order->live || order->started < launch->blocks)
        return;
    trace_grid_barrier(launch);
    for (struct simt_block *block = order->first; block; block = block->next) {
        block_release_grid(block);
        block->ordered = launch->blocks == 1;
    }
    order->at_grid = 0;
    order->idle_rounds = 0;
    order->turn = order->first->rank;
    pthread_cond_broadcast(&order->changed);
}

static void report_idle(struct simt_launch *launch, struct simt_block *block)
{
    struct simt_warp *warp = &block->warp[0];
    for (unsigned w = 0; w < block->warps; w++)
        if (block->warp[w].in_state[THREAD_READY] && block->warp[w].exited != block->warp[w].in_state[THREAD_READY])
            warp = &block->warp[w];
    const struct simt_thread *thread = warp->thread;
    for (unsigned i = 0; i < block->threads; i++)
        if (block->thread[i].polls)
            thread = &block->thread[i];
    if (!launch_gave_up(launch, UINT64_MAX - 1))
        simt_report(SIMT_ENDLESS, true, thread->blocked_pc, thread,
                    "Endless loop: the thread polls a value that no thread changes\n"
                    "%u block%s of the grid wait%s in this way, and all others have ended",
                    launch->order->live, launch->order->live == 1 ? "" : "s", launch->order->live == 1 ? "s" : "");
    launch_fail(launch, block->rank, SIMT_ERROR_LAUNCH_TIMEOUT, true);
}

static void end_block(struct worker *worker, struct simt_launch *launch, struct simt_block *block)
{
    struct launch_order *order = launch->order;
    unlink_block(order, block);
    worker->live--;
    order->finished++;
    order_finished(launch, block);
    release_grid_if_complete(launch);
    if (order->sleepers)
        pthread_cond_broadcast(&order->changed);
    block_give(worker, block);
}

/* After a run of the block, with the lock held: what it waits for, or its end. */
static void settle(struct worker *worker, struct simt_launch *launch, struct simt_block *block)
{
    struct launch_order *order = launch->order;
    switch (block->status) {
    case BLOCK_DONE:
    case BLOCK_FAILED:
        end_block(worker, launch, block);
        break;
    case BLOCK_AT_GRID:
        order->at_grid++;
        order->idle_rounds = 0;
        release_grid_if_complete(launch);
        if (block->status == BLOCK_AT_GRID)
            order_pass(launch, block);
        break;
    case BLOCK_SPINS:
        block->ordered = true;
        if (block->progressed)
            order->idle_rounds = 0;
        block->progressed = false;
        order_pass(launch, block);
        if (order->idle_rounds > IDLE_ROUNDS)
            report_idle(launch, block);
        break;
    default:
        break;
    }
}

static void run_once(struct simt_block *block, struct simt_launch *launch)
{
    if (!block->prepared)
        prepare(block, launch);
    block_run(block);
}

static void run_blocks(struct worker *worker, struct simt_launch *launch)
{
    struct launch_order *order = launch->order;
    fault_prepare_thread();
    this_worker = worker;
    blockDim = launch->block;
    gridDim = launch->grid;
    pthread_mutex_lock(&order->lock);
    for (;;) {
        bool at_grid;
        struct simt_block *block = pick_live(worker, launch, &at_grid);
        if (block == NULL)
            block = start_block(worker, launch, at_grid);
        if (block == NULL) {
            if (worker->live == 0)
                break;
            order->sleepers++;
            pthread_cond_wait(&order->changed, &order->lock);
            order->sleepers--;
            continue;
        }
        bool gave_up = launch_gave_up(launch, block->rank);
        if (gave_up)
            order->at_grid -= block->status == BLOCK_AT_GRID;
        block->status = gave_up ? BLOCK_FAILED : BLOCK_RUNS;
        pthread_mutex_unlock(&order->lock);
        if (!gave_up)
            run_once(block, launch);
        if (block->prepared && (block->status == BLOCK_DONE || block->status == BLOCK_FAILED)) {
            block_abandon(block);
            trace_block_end(block);
        }
        pthread_mutex_lock(&order->lock);
        settle(worker, launch, block);
    }
    pthread_mutex_unlock(&order->lock);
}

static void *pool_thread(void *argument)
{
    (void)argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.generation == seen || pool.wanted == 0)
            pthread_cond_wait(&pool.wake, &pool.lock);
        seen = pool.generation;
        pool.wanted--;
        pool.running++;
        struct simt_launch *launch = pool.launch;
        pthread_mutex_unlock(&pool.lock);
        run_blocks(&own_worker, launch);
        pthread_mutex_lock(&pool.lock);
        if (--pool.running == 0)
            pthread_cond_signal(&pool.done);
    }
    return NULL;
}

static void pool_wake(struct simt_launch *launch, int helpers)
{
    pthread_mutex_lock(&pool.lock);
    while (pool.threads < helpers) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, pool_thread, NULL) != 0)
            break;
        pthread_detach(thread);
        pool.threads++;
    }
    pool.launch = launch;
    pool.wanted = helpers < pool.threads ? helpers : pool.threads;
    pool.generation++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

static void pool_wait(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.wanted = 0; /* who has not woken up yet is not needed any more */
    while (pool.running)
        pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

void workers_run(struct simt_launch *launch)
{
    uint64_t helpers = (uint64_t)simt_settings.os_threads - 1;
    if (helpers > launch->blocks - 1)
        helpers = launch->blocks - 1;
    if (helpers)
        pool_wake(launch, (int)helpers);
    run_blocks(&own_worker, launch);
    if (helpers)
        pool_wait();
}
