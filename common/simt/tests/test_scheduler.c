/* Blocks, warps and lanes that depend on one another make progress, with any number of OS threads, and with equal results. */
#include "findings.h"

#include <stdlib.h>
#include <sys/resource.h>

int run_tickets(int blocks, unsigned *out);
float run_sum(const float *in, int n);
float run_last_block(const float *in, int n);
int run_wait_for_next(int blocks, int *order);
int run_rotate(int blocks, int threads, int rounds, int cooperative, int *out);
int run_warp_chain(int *out);
int run_from_behind(int n, int *out);
int run_locked(int blocks, int threads);
int run_geometry(int *out);
int run_wide_grid(int blocks);

TestSuite(scheduler, .init = quiet, .timeout = 120);

static void use(int os_threads, bool shuffled) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.os_threads = os_threads;
    settings.shuffled_order = shuffled;
    settings.watchdog = 50000000;
    simt_settings_set(&settings);
}

enum { MOST_OS_THREADS = 4 };

Test(scheduler, tickets_come_in_the_order_of_blocks) {
    unsigned got[500];
    for (int os_threads = 1; os_threads <= MOST_OS_THREADS; os_threads++) {
        use(os_threads, false);
        cr_assert_eq(run_tickets(500, got), 0);
        for (unsigned i = 0; i < 500; i++)
            cr_assert_eq(got[i], i, "%d OS threads: block %u has ticket %u", os_threads, i, got[i]);
    }
    expect_none();
}

Test(scheduler, shuffled_order_is_another_one_with_every_ticket_once) {
    unsigned got[500];
    bool seen[500] = {false};
    int moved = 0;
    use(2, true);
    cr_assert_eq(run_tickets(500, got), 0);
    for (unsigned i = 0; i < 500; i++) {
        cr_assert(got[i] < 500 && !seen[got[i]]);
        seen[got[i]] = true;
        moved += got[i] != i;
    }
    cr_assert_gt(moved, 400);
}

static void fill(float *values, int n) {
    unsigned state = 1;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) * (i % 3 ? 1e-6f : 1e3f);
    }
}

Test(scheduler, sums_of_floats_do_not_depend_on_os_threads) {
    enum { N = 5000 };
    float values[N];
    fill(values, N);
    use(1, false);
    float first = run_sum(values, N), second = run_last_block(values, N), in_order = 0.0f;
    for (int i = 0; i < N; i++) in_order += values[i];
    cr_assert_eq(first, in_order);
    for (int os_threads = 2; os_threads <= MOST_OS_THREADS; os_threads++) {
        use(os_threads, false);
        for (int repeat = 0; repeat < 5; repeat++) {
            cr_assert_eq(run_sum(values, N), first);
            cr_assert_eq(run_last_block(values, N), second);
        }
    }
    expect_none();
}

Test(scheduler, a_block_may_wait_for_a_later_one) {
#ifdef SIMT_FAST_TEST
    enum { BLOCKS = 6 }; /* each poll costs the fast build 20 ms (engine/preempt.c) */
#else
    enum { BLOCKS = 40 };
#endif
    int order[BLOCKS];
    for (int os_threads = 1; os_threads <= MOST_OS_THREADS; os_threads++) {
        use(os_threads, false);
        cr_assert_eq(run_wait_for_next(BLOCKS, order), 0);
        for (int i = 0; i < BLOCKS; i++) cr_assert_eq(order[i], 1);
    }
    expect_none();
}

static void expect_rotated(int blocks, int threads, int rounds, int cooperative) {
    int n = blocks * threads, *out = malloc((size_t)n * sizeof *out);
    cr_assert_eq(run_rotate(blocks, threads, rounds, cooperative, out), 0);
    for (int i = 0; i < n; i++) cr_assert_eq(out[(i + rounds) % n], i);
    free(out);
}

Test(scheduler, a_grid_barrier_made_by_hand) {
    for (int os_threads = 1; os_threads <= MOST_OS_THREADS; os_threads++) {
        use(os_threads, false);
        expect_rotated(9, 64, 5, 0);
    }
    expect_none();
}

Test(scheduler, the_grid_barrier) {
    for (int os_threads = 1; os_threads <= MOST_OS_THREADS; os_threads++) {
        use(os_threads, false);
        expect_rotated(1, 32, 3, 1);
        expect_rotated(13, 96, 7, 1);
    }
    expect_none();
}

Test(scheduler, a_warp_may_wait_for_another) {
    int out[96];
    use(1, false);
    cr_assert_eq(run_warp_chain(out), 0);
    for (int i = 0; i < 96; i++) cr_assert_eq(out[i], 1);
}

Test(scheduler, lanes_with_full_traces_pass_a_waiting_lane) {
    enum { N = 1000 };
    int out[32];
    use(1, false);
    cr_assert_eq(run_from_behind(N, out), 0);
    for (int lane = 0; lane < 32; lane++) cr_assert_eq(out[lane], lane % 2 == 0 ? N : 0);
    expect_none();
}

Test(scheduler, lanes_and_blocks_share_a_lock) {
    for (int os_threads = 1; os_threads <= MOST_OS_THREADS; os_threads++) {
        use(os_threads, false);
        cr_assert_eq(run_locked(5, 40), 200);
    }
}

Test(scheduler, three_dimensions) {
    enum { N = 4 * 3 * 2 * 5 * 4 * 3 };
    int out[N];
    for (int os_threads = 1; os_threads <= MOST_OS_THREADS; os_threads++) {
        use(os_threads, os_threads % 2);
        cr_assert_eq(run_geometry(out), 0);
        for (int i = 0; i < N; i++) cr_assert_eq(out[i], i + 1);
    }
    expect_none();
}

/* The memory of a launch depends on the blocks that are live, not on the grid. */
Test(scheduler, memory_does_not_grow_with_the_grid) {
    struct rusage before, after;
    use(2, false);
    run_wide_grid(1000);
    getrusage(RUSAGE_SELF, &before);
    cr_assert_eq(run_wide_grid(100000), 100000);
    getrusage(RUSAGE_SELF, &after);
    cr_assert_lt(after.ru_maxrss - before.ru_maxrss, 32 * 1024, "%ld KB more", after.ru_maxrss - before.ru_maxrss);
}
