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
