/* Polling: finite loops are never taken for endless ones, and their requests are counted exactly; endless waits are found
 * long before the watchdog's limit. */
#include "findings.h"

TestSuite(polling, .init = quiet, .timeout = 60);

enum { N = 131072, READS = 100000, TIMEOUT = 702 };

#define FINITE(name, expected)                \
    int run_##name(void);                     \
    Test(polling, name) {                     \
        cr_expect_eq(run_##name(), expected); \
        expect_none();                        \
    }

FINITE(maximum, N)
FINITE(maximum_shared, N)
FINITE(same_value, READS)
FINITE(patience, 5)
FINITE(count_in_memory, READS)
FINITE(count_by_atomics, 1)
FINITE(slow_worker, READS)
FINITE(before_the_grid_barrier, 7)

#define ENDLESS(name)                                                                                 \
    int run_##name(void);                                                                             \
    Test(polling, name, .timeout = 5) {                                                               \
        cr_expect_eq(run_##name(), TIMEOUT);                                                          \
        EXPECT_FINDING(SIMT_ENDLESS, true, #name, "the thread polls a value that no thread changes"); \
    }

ENDLESS(flag_never_set)
ENDLESS(blocks_wait_for_each_other)
ENDLESS(lock_never_released)
ENDLESS(waits_for_its_own_warp)
ENDLESS(three_polls)

int run_steps(int count, int lanes_that_poll);
int run_behind(int count);

static unsigned long long requests(void) {
    struct simt_counters counters;
    simt_counters_get(&counters);
    return counters.global.load_requests;
}

Test(polling, lanes_that_poll_stay_with_the_others) {
    static const int counts[] = {7, 12, 16, 100, 1000, 20000}, polling[] = {0, 1, 5, 31, 32};
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 5; k++) {
            simt_counters_reset();
            cr_assert_eq(run_steps(counts[i], polling[k]), 0);
            cr_expect_eq(requests(), (unsigned)counts[i], "%d lanes poll: %llu requests, not %d", polling[k],
                         requests(), counts[i]);
        }
        simt_counters_reset();
        cr_assert_eq(run_behind(counts[i]), 0);
        cr_expect_eq(requests(), (unsigned)counts[i] + 300, "%llu requests, not %d", requests(), counts[i] + 300);
    }
    expect_none();
}
