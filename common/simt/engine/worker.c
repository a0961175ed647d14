/* worker.c — one OS thread's part of a launch: which block it runs next, and what becomes of it. */
#include <stdio.h>
#include <stdlib.h>

#include "preempt.h"
#include "scheduler.h"
#include "checks/trace.h"
#include "checks/watchdog.h"

/* Rounds of the turn in which every live block only polls, before it is said that none will ever stop. */
enum { IDLE_ROUNDS = 400 };

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

/* A live block of this worker that can run, or one to be abandoned. All of them at the grid barrier: *at_grid. */
static struct simt_block *pick_live(struct worker *worker, struct simt_launch *launch, bool *at_grid) {
    struct launch_order *order = launch->order;
    *at_grid = true;
    if (worker->live == 0) return NULL;
    for (struct simt_block *block = order->first; block; block = block->next) {
        if (block->worker != worker) continue;
        if (launch_gave_up(launch, block->rank)) return block;
        *at_grid &= block->status == BLOCK_AT_GRID;
        if (block->status != BLOCK_AT_GRID && (!block->ordered || order->turn == block->rank)) return block;
    }
    return NULL;
}

/* Linked before the lock is given back: the turn must not pass by a block that has started. */
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
    block->prepared = false;
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
        block->ordered = launch->blocks == 1;
    }
    order->at_grid = 0;
    order->idle_rounds = 0;
    order->turn = order->first->rank;
    pthread_cond_broadcast(&order->changed);
}

static void report_idle(struct simt_launch *launch, struct simt_block *block) {
    struct simt_warp *warp = &block->warp[0];
    for (unsigned w = 0; w < block->warps; w++)
        if (block->warp[w].in_state[THREAD_READY] && block->warp[w].exited != block->warp[w].in_state[THREAD_READY])
            warp = &block->warp[w];
    const struct simt_thread *thread = warp->thread;
    for (unsigned i = 0; i < block->threads; i++)
        if (block->thread[i].polls) thread = &block->thread[i];
    if (!launch_gave_up(launch, UINT64_MAX - 1))
        simt_report(SIMT_ENDLESS, true, thread->blocked_pc, thread,
                    "Endless loop: the thread polls a value that no thread changes\n"
                    "%u block%s of the grid wait%s in this way, and all others have ended",
                    launch->order->live, launch->order->live == 1 ? "" : "s", launch->order->live == 1 ? "s" : "");
    launch_fail(launch, block->rank, SIMT_ERROR_LAUNCH_TIMEOUT, true);
}

static void end_block(struct worker *worker, struct simt_launch *launch, struct simt_block *block) {
    struct launch_order *order = launch->order;
    unlink_block(order, block);
    worker->live--;
    order->finished++;
    order_finished(launch, block);
    release_grid_if_complete(launch);
    if (order->sleepers) pthread_cond_broadcast(&order->changed);
    block_give(worker, block);
}

/* After a run of the block, with the lock held: what it waits for, or its end. */
static void settle(struct worker *worker, struct simt_launch *launch, struct simt_block *block) {
    struct launch_order *order = launch->order;
    switch (block->status) {
        case BLOCK_DONE:
        case BLOCK_FAILED: end_block(worker, launch, block); break;
        case BLOCK_AT_GRID:
            order->at_grid++;
            order->idle_rounds = 0;
            release_grid_if_complete(launch);
            if (block->status == BLOCK_AT_GRID) order_pass(launch, block);
            break;
        case BLOCK_SPINS:
            block->ordered = true;
            if (block->progressed) order->idle_rounds = 0;
            block->progressed = false;
            order_pass(launch, block);
            if (order->idle_rounds > IDLE_ROUNDS) report_idle(launch, block);
            break;
        default: break;
    }
}

static void run_once(struct simt_block *block, struct simt_launch *launch) {
    if (!block->prepared) block_prepare(block, launch);
    block_run(block);
}

void worker_run_blocks(struct worker *worker, struct simt_launch *launch) {
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
        bool gave_up = launch_gave_up(launch, block->rank);
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
