/* workers.c — the OS threads of a launch: the pool, which block each one runs next, and the canonical order of blocks.
 *
 * The canonical order makes results and counters independent of the number of OS threads. Blocks run concurrently until
 * they touch something that another block may observe: a global atomic, or a value that they poll. From there on a
 * block runs only while it has the turn. The turn goes to the unfinished block of lowest rank. A block that polls or
 * waits at the grid barrier passes the turn to the next rank, cyclically.
 */
#include <stdio.h>
#include <stdlib.h>

#include "checks/faults.h"
#include "checks/trace.h"
#include "preempt.h"
#include "scheduler.h"

/* ---- the turn ---- */

static void set_turn(struct launch_order *order, uint64_t rank) {
    order->turn = rank;
    if (order->sleepers) pthread_cond_broadcast(&order->changed);
}

static uint64_t lowest(const struct launch_order *order) {
    const struct simt_block *block = order->first;
    while (block && block->parked && block->next) block = block->next;
    return block && !block->parked ? block->rank : order->started;
}

void order_enter(struct simt_block *block) {
    struct launch_order *order = block->launch->order;
    pthread_mutex_lock(&order->lock);
    block->ordered = true;
    bool wait = order->turn != block->rank;
    if (wait) block->status = BLOCK_WAITS_TURN;
    pthread_mutex_unlock(&order->lock);
    if (wait) block_suspend(simt_self);
}

/* The block has ended. With order->lock held, as the next. */
static void order_finished(struct simt_launch *launch, struct simt_block *block) {
    struct launch_order *order = launch->order;
    order->idle_rounds = 0;
    if (order->turn == block->rank) set_turn(order, lowest(order));
}

/* The rank after this block's, cyclically, of a block that can run or has not started (if it may). */
static uint64_t order_next(const struct simt_launch *launch, const struct simt_block *block, bool may_start) {
    const struct launch_order *order = launch->order;
    for (const struct simt_block *other = block->next; other; other = other->next)
        if (!other->parked) return other->rank;
    if (may_start && order->started < launch->blocks) return order->started;
    const struct simt_block *other = order->first;
    while (other != block && other->parked) other = other->next;
    return other->rank;
}

static void order_pass(struct simt_launch *launch, struct simt_block *block) {
    struct launch_order *order = launch->order;
    if (order->turn != block->rank) return;
    uint64_t next = order_next(launch, block, true);
    if (next <= block->rank) order->idle_rounds++;
    set_turn(order, next);
}

/* Passes the turn between blocks that take their work from a queue. */
void order_share(struct simt_block *block) {
    enum { RESIDENT_THREADS = 132 * 2048 }; /* of an H100 */
    struct launch_order *order = block->launch->order;
    pthread_mutex_lock(&order->lock);
    if (order->turn == block->rank) {
        uint64_t next = order_next(block->launch, block, order->live * block->threads < RESIDENT_THREADS);
        if (next != block->rank) {
            set_turn(order, next);
            order->is_shared = true;
            block->status = BLOCK_WAITS_TURN;
        }
    }
    order->idle_rounds = 0;
    pthread_mutex_unlock(&order->lock);
}

/* Rank to block: itself, or a permutation in which neighbours are far apart. */
uint64_t order_linear(const struct simt_launch *launch, uint64_t rank) {
    __extension__ typedef unsigned __int128 wide;
    if (launch->skipped && launch->spread && launch->blocks > 1) {
        uint64_t last = launch->blocks + launch->skipped - 1;
        return (uint64_t)((wide)rank * last / (launch->blocks - 1));
    }
    if (launch->skipped) return rank < launch->blocks / 2 ? rank : rank + launch->skipped;
    if (!launch->shuffled || launch->blocks < 2) return rank;
    return (uint64_t)((wide)(launch->blocks - 1 - rank) * launch->order->permutation % launch->blocks);
}

/* ---- one OS thread's part of a launch ---- */

/* Rounds of the turn in which every thread of every live block waits, before the launch is reported as endless. The first
 * may have begun before the last change; the second proves it (checks/polling.c). */
enum { IDLE_ROUNDS = 2 };

static void link_block(struct launch_order *order, struct simt_block *block) {
    block->next = NULL;
    block->previous = order->last;
    if (order->last)
        order->last->next = block;
    else
        order->first = block;
    order->last = block;
    order->live++;
}

static void unlink_block(struct launch_order *order, struct simt_block *block) {
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
static uint64_t block_limit(const struct simt_launch *launch) {
    uint64_t fail_rank = atomic_load(&launch->order->fail_rank);
    return fail_rank < launch->blocks ? fail_rank + 1 : launch->blocks;
}

/* Will the block be abandoned? Another one failed, or it waits for ever. */
static bool is_lost(const struct simt_launch *launch, const struct simt_block *block) {
    return launch_gave_up(launch, block->rank) || block->status == BLOCK_FAILED;
}

/* A live block of this worker that can run, or one to be abandoned. All of them at the grid barrier: *at_grid. */
static struct simt_block *pick_live(struct worker *worker, struct simt_launch *launch, bool *at_grid) {
    struct launch_order *order = launch->order;
    *at_grid = true;
    if (worker->live == 0) return NULL;
    for (struct simt_block *block = order->first; block; block = block->next) {
        if (block->worker != worker) continue;
        if (is_lost(launch, block)) return block;
        *at_grid &= block->status == BLOCK_AT_GRID;
        if (block->status != BLOCK_AT_GRID && (!block->ordered || order->turn == block->rank)) return block;
    }
    return NULL;
}

/* Linked before the lock is released, so that the turn cannot skip a block that has started. */
static struct simt_block *start_block(struct worker *worker, struct simt_launch *launch, bool at_grid) {
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
    block->prepared = block->parked = false;
    order->idle_rounds = 0;
    worker->live++;
    link_block(order, block);
    return block;
}

static void release_grid_if_complete(struct simt_launch *launch) {
    struct launch_order *order = launch->order;
    if (order->at_grid == 0 || order->at_grid != order->live || order->started < launch->blocks) return;
    trace_grid_barrier(launch);
    for (struct simt_block *block = order->first; block; block = block->next) {
        block_release_grid(block);
        block->parked = false;
        block->ordered = launch->blocks == 1;
    }
    order->at_grid = 0;
    order->idle_rounds = 0;
    order->turn = order->first->rank;
    pthread_cond_broadcast(&order->changed);
}

/* Of the blocks that wait, the one of lowest rank is reported and fails; those behind it are abandoned. */
static void report_idle(struct simt_launch *launch) {
    struct launch_order *order = launch->order;
    struct simt_block *block = order->first;
    while (block->next && block->status == BLOCK_AT_GRID) block = block->next;
    const struct simt_thread *thread = block->thread;
    while (thread->linear + 1u < block->threads && !(thread->warp->waits >> thread->lane & 1)) thread++;
    simt_report(SIMT_ENDLESS, true, thread->polled_pc, thread,
                "Endless loop: the thread polls a value that no thread changes\n"
                "%u block%s of the grid wait%s in this way, and all others have ended",
                order->live, order->live == 1 ? "" : "s", order->live == 1 ? "s" : "");
    launch_fail(launch, block->rank, SIMT_ERROR_LAUNCH_TIMEOUT, true);
    block->status = BLOCK_FAILED;
    if (order->sleepers) pthread_cond_broadcast(&order->changed);
}

static void end_block(struct worker *worker, struct simt_launch *launch, struct simt_block *block) {
    struct launch_order *order = launch->order;
    unlink_block(order, block);
    worker->live--;
    order->finished++;
    launch_count_block();
    order_finished(launch, block);
    release_grid_if_complete(launch);
    if (order->sleepers) pthread_cond_broadcast(&order->changed);
    block_give(worker, block);
}

/* After a run of the block, with the lock held: records what it waits for, or ends it. */
static void settle(struct worker *worker, struct simt_launch *launch, struct simt_block *block) {
    struct launch_order *order = launch->order;
    if (block->effects != block->effects_settled) {
        block->effects_settled = block->effects;
        atomic_fetch_add_explicit(&order->changes, 1, memory_order_relaxed);
    }
    switch (block->status) {
        case BLOCK_DONE:
        case BLOCK_FAILED: end_block(worker, launch, block); break;
        case BLOCK_AT_GRID:
            order->at_grid++;
            block->parked = true;
            order->idle_rounds = 0;
            release_grid_if_complete(launch);
            if (block->status == BLOCK_AT_GRID) order_pass(launch, block);
            break;
        case BLOCK_SPINS:
            block->ordered = true;
            if (block->progressed) order->idle_rounds = 0;
            block->progressed = false;
            order_pass(launch, block);
            if (order->idle_rounds > IDLE_ROUNDS) report_idle(launch);
            break;
        default: break;
    }
}

static void run_once(struct simt_block *block, struct simt_launch *launch) {
    if (!block->prepared) block_prepare(block, launch);
    block_run(block);
}

static void run_blocks(struct worker *worker, struct simt_launch *launch) {
    struct launch_order *order = launch->order;
    fault_prepare_thread();
    preempt_begin();
    this_worker = worker;
    blockDim = launch->block;
    gridDim = launch->grid;
    pthread_mutex_lock(&order->lock);
    for (;;) {
        bool at_grid;
        struct simt_block *block = pick_live(worker, launch, &at_grid);
        if (block == NULL) block = start_block(worker, launch, at_grid);
        if (block == NULL) {
            if (worker->live == 0) break;
            order->sleepers++;
            pthread_cond_wait(&order->changed, &order->lock);
            order->sleepers--;
            continue;
        }
        bool gave_up = is_lost(launch, block);
        if (gave_up) order->at_grid -= block->status == BLOCK_AT_GRID;
        block->status = gave_up ? BLOCK_FAILED : BLOCK_RUNS;
        pthread_mutex_unlock(&order->lock);
        if (!gave_up) run_once(block, launch);
        if (block->prepared && (block->status == BLOCK_DONE || block->status == BLOCK_FAILED)) {
            block_abandon(block);
            trace_block_end(block);
        }
        pthread_mutex_lock(&order->lock);
        settle(worker, launch, block);
    }
    pthread_mutex_unlock(&order->lock);
    preempt_end();
}

/* ---- the pool: OS threads wait for a launch, run blocks of it, and report back ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    struct simt_launch *launch;
    uint64_t generation;
    int threads, wanted, running;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static __thread struct worker own_worker;

static void *pool_thread(void *argument) {
    (void)argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.generation == seen || pool.wanted == 0) pthread_cond_wait(&pool.wake, &pool.lock);
        seen = pool.generation;
        pool.wanted--;
        pool.running++;
        struct simt_launch *launch = pool.launch;
        pthread_mutex_unlock(&pool.lock);
        run_blocks(&own_worker, launch);
        pthread_mutex_lock(&pool.lock);
        if (--pool.running == 0) pthread_cond_signal(&pool.done);
    }
    return NULL;
}

static void pool_wake(struct simt_launch *launch, int helpers) {
    pthread_mutex_lock(&pool.lock);
    while (pool.threads < helpers) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, pool_thread, NULL) != 0) break;
        pthread_detach(thread);
        pool.threads++;
    }
    pool.launch = launch;
    pool.wanted = helpers < pool.threads ? helpers : pool.threads;
    pool.generation++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

static void pool_wait(void) {
    pthread_mutex_lock(&pool.lock);
    pool.wanted = 0; /* threads that have not woken up yet are not needed any more */
    while (pool.running) pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

void workers_run(struct simt_launch *launch) {
    uint64_t helpers = (uint64_t)simt_settings.os_threads - 1;
    if (helpers > launch->blocks - 1) helpers = launch->blocks - 1;
    if (helpers) pool_wake(launch, (int)helpers);
    run_blocks(&own_worker, launch);
    if (helpers) pool_wait();
}
