/* cuda::atomic, cuda::atomic_ref, cuda::barrier and memcpy_async with a barrier. */
#include "findings.h"

TestSuite(cuda_std, .init = quiet, .timeout = 60);

#define RIGHT(test)                               \
    int run_##test(void);                         \
    Test(cuda_std, test) {                        \
        int got = run_##test();                   \
        cr_assert_eq(got, 0, "%d is wrong", got); \
        expect_none();                            \
    }

RIGHT(atomic_operations)
RIGHT(release_and_acquire)
RIGHT(lock)
RIGHT(barrier_phases)
RIGHT(barrier_roles)
RIGHT(staged_copy)
RIGHT(own_pipeline)
RIGHT(block_pipeline)
RIGHT(roles_of_a_pipeline)

#ifndef SIMT_FAST_TEST
enum { SUCCESS = 0, LAUNCH_FAILURE = 719 };

#define FINDS(test, error, kind, mark, ...)            \
    int run_##test(void);                              \
    Test(cuda_std, test) {                             \
        int got = run_##test();                        \
        cr_expect_eq(got, error, "error %d", got);     \
        EXPECT_FINDING(kind, true, mark, __VA_ARGS__); \
    }

FINDS(relaxed_store, SUCCESS, SIMT_RACE, "the consumer's read", "Read access", "Write access")
FINDS(no_wait, SUCCESS, SIMT_RACE, "the consumers' read", "Read access", "Write access")
FINDS(staged_without_wait, SUCCESS, SIMT_UNINITIALISED, "the staged read", "An asynchronous copy to it")
FINDS(pipeline_without_wait, SUCCESS, SIMT_UNINITIALISED, "the last stage", "An asynchronous copy to it")
FINDS(arrives_twice, LAUNCH_FAILURE, SIMT_DEADLOCK, "one too many", "33 arrivals, but the phase lacks only 32")

/* How much an access of a late phase costs does not grow with the number of earlier phases. */
int run_many_phases(int count);
extern uint64_t acquire_release_steps;
static uint64_t search_steps(int phases) {
    uint64_t before = acquire_release_steps;
    int got = run_many_phases(phases);
    cr_assert_eq(got, 0, "%d is wrong", got);
    return acquire_release_steps - before;
}
Test(cuda_std, phases_of_a_barrier_cost_alike) {
    uint64_t few = search_steps(30), many = search_steps(300);
    cr_expect(few > 0);
    cr_expect(many < 12 * few, "30 phases: %llu steps, 300: %llu", (unsigned long long)few, (unsigned long long)many);
    expect_none();
}

/* Of each warp: an atomic for the arrival, a read for the wait, and one store behind it. */
int run_counts(void);
Test(cuda_std, counts_arrivals_and_waits) {
    struct simt_counters counters;
    simt_counters_reset();
    cr_assert_eq(run_counts(), 0);
    simt_counters_get(&counters);
    cr_expect_eq(counters.shared.atomic_requests, 2);
    cr_expect_eq(counters.shared.load_requests, 2);
    cr_expect_eq(counters.global.store_requests, 2);
    expect_none();
}
#endif
