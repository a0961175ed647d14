/* scheduler.h — the order in which blocks, warps and lanes run.
 *
 * An OS thread (worker) runs one block after another. Within a block it runs the warps in turn, and within a warp the
 * lanes in turn, each until it blocks. Lanes switch to one another directly, and to the worker when none can run. A
 * block that waits for another block stays live while the worker runs others.
 */
#ifndef SIMT_SCHEDULER_H
#define SIMT_SCHEDULER_H

#include <pthread.h>
#include <stdatomic.h>

#include "fiber.h"
#include "internal.h"

enum block_status {
    BLOCK_RUNS,
    BLOCK_WAITS_TURN, /* before its first global atomic (workers.c) */
    BLOCK_SPINS,      /* every thread that can run polls memory that another block must write */
    BLOCK_AT_GRID,    /* every thread waits at the grid barrier or has exited */
    BLOCK_DONE,
    BLOCK_FAILED,
};

enum { MAX_SHARED_SITES = 128 };

/* State that the blocks of one launch share. */
struct launch_order {
    pthread_mutex_t lock, error_lock;
    pthread_cond_t changed;
    uint64_t started, finished;      /* blocks; they start in order of rank */
    uint64_t turn;                   /* rank that may run ordered code */
    _Atomic uint64_t fail_rank;      /* lowest rank that failed, UINT64_MAX if none */
    struct simt_block *first, *last; /* live blocks by rank */
    unsigned live, at_grid;
    unsigned sleepers;        /* workers */
    uint64_t idle_rounds;     /* of the turn, in which every thread only waited */
    bool is_shared;           /* a block has passed its turn to others while it had work */
    _Atomic uint64_t changes; /* counts the runs of blocks that had effects */
    uint64_t permutation;     /* multiplier of the shuffled order */

    struct shared_site {
        const void *site;
        const char *name;
        size_t offset, size;
    } site[MAX_SHARED_SITES];
    _Atomic unsigned sites;
    size_t shared_end, static_bytes; /* of the layout so far */
    size_t shared_limit;             /* of the static and the dynamic bytes together */
};

/* One OS thread of the pool. */
struct worker {
    void *stack_pointer; /* the worker's own context while a lane runs */
    struct stack_pool stacks;
    unsigned live;           /* unfinished blocks that started here */
    struct simt_block *idle; /* block structures for reuse, linked by next */
};
extern __thread struct worker *this_worker;

/* scheduler.c: runs the block until it is done, fails, or waits for other blocks. */
void block_run(struct simt_block *block);
/* Suspends the running lane; the worker selects the next block. block->status has the reason. */
void block_suspend(struct simt_thread *self);
void block_abandon(struct simt_block *block); /* returns all stacks to the pool */
void warp_wake(struct simt_warp *warp, unsigned lanes, enum thread_state from);

/* collective.c: completes the collectives of a warp whose lanes are all blocked. */
void warp_resolve_collectives(struct simt_warp *warp);
const char *collective_name(const struct simt_thread *thread); /* of the call in which it waits */
static inline struct lane_call call_of(const struct simt_thread *thread) {
    return thread->warp->call[thread->lane];
}

/* barrier.c */
void block_release_barrier(struct simt_block *block);
void block_release_grid(struct simt_block *block);
void block_report_deadlock(struct simt_block *block);

/* workers.c */
void workers_run(struct simt_launch *launch); /* on as many OS threads as the settings and the grid allow */
void order_enter(struct simt_block *block);   /* before the block's first global atomic: waits for its turn */
void order_share(struct simt_block *block);   /* other blocks run first, if there are any */
uint64_t order_linear(const struct simt_launch *launch, uint64_t rank); /* rank to block */

/* block.c: a block's structures. They are taken with the lock held and prepared without it. */
struct simt_block *block_take(struct worker *worker, unsigned threads);
void block_prepare(struct simt_block *block, struct simt_launch *launch);
void block_give(struct worker *worker, struct simt_block *block);

/* shared.c */
void shared_prepare_launch(struct simt_launch *launch);
void shared_prepare_block(struct simt_block *block);
void shared_finish_launch(struct simt_launch *launch);

/* checks/findings.c: at the end of a launch its findings are sorted by rank and printed. */
void report_launch_end(struct simt_launch *launch);

/* launch.c */
void launch_count_block(void); /* another block has ended: simt_progress */
void launch_fail(struct simt_launch *launch, uint64_t rank, int error, bool sticky);

/* The changes of memory so far that a thread of the block may have seen. */
static inline uint64_t changes_seen(const struct simt_block *block) {
    return block->effects + atomic_load_explicit(&block->launch->order->changes, memory_order_relaxed);
}

static inline bool launch_gave_up(const struct simt_launch *launch, uint64_t rank) {
    return rank > atomic_load_explicit(&launch->order->fail_rank, memory_order_relaxed);
}

#endif
