/* order.c — the canonical order of blocks, so that results and counters do not depend on the number of OS threads.
 *
 * Blocks run side by side until they touch what another block may see in the meantime: a global atomic, or a value
 * that they poll. From there on a block runs only while it has the turn. The turn goes to the unfinished block of
 * lowest rank; a block that polls or waits at the grid barrier passes it on to the next rank, and round.
 */
#include "scheduler.h"

static void set_turn(struct launch_order *order, uint64_t rank) {
    order->turn = rank;
    if (order->sleepers) pthread_cond_broadcast(&order->changed);
}

static uint64_t lowest(const struct launch_order *order) {
    return order->first ? order->first->rank : order->started;
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

void order_finished(struct simt_launch *launch, struct simt_block *block) {
    struct launch_order *order = launch->order;
    order->idle_rounds = 0;
    if (order->turn == block->rank) set_turn(order, lowest(order));
}

void order_pass(struct simt_launch *launch, struct simt_block *block) {
    struct launch_order *order = launch->order;
    if (order->turn != block->rank) return;
    uint64_t next = block->next ? block->next->rank : order->started < launch->blocks ? order->started : lowest(order);
    if (next <= block->rank) order->idle_rounds++;
    set_turn(order, next);
}

/* Rank to block: itself, or a permutation in which neighbours are far apart. */
uint64_t order_linear(const struct simt_launch *launch, uint64_t rank) {
    if (!launch->shuffled || launch->blocks < 2) return rank;
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)(launch->blocks - 1 - rank) * launch->order->permutation % launch->blocks);
}
