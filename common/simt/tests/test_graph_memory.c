/* Memory that graphs allocate and free. run_X returns 0, line * 1000 + error, or the line of a condition that is false. */
#include <sys/resource.h>

#include "findings.h"

TestSuite(graph_memory, .init = quiet, .timeout = 60);

enum { ILLEGAL_ADDRESS = 700, LIMIT_MEGABYTES = 2900 }; /* 2,560 of them: shared memory and its shadow */

#define RIGHT(test)                             \
    int run_##test(void);                       \
    Test(graph_memory, test) {                  \
        int line = run_##test();                \
        cr_assert_eq(line, 0, "line %d", line); \
        expect_none();                          \
    }

RIGHT(replays)
RIGHT(one_executable_at_a_time)
RIGHT(foreign_memory)
RIGHT(held_by_each)
RIGHT(freed_by_its_own_graph)
RIGHT(kept_by_replay)

int run_failing_replay(void), run_unwritten_later(void);

Test(graph_memory, a_replay_that_fails_leaves_nothing) {
    int line = run_failing_replay();
    cr_assert_eq(line, 0, "line %d", line);
}

#ifdef SIMT_FAST_TEST
Test(graph_memory, each_replay_starts_with_nan) {
    cr_assert_eq(run_unwritten_later(), 0);
}
#else
int run_used_after_free(void), run_leak(int launched);
int run_place_kept(void);

Test(graph_memory, each_replay_starts_unwritten) {
    cr_assert_eq(run_unwritten_later(), 0);
    EXPECT_FINDING(SIMT_UNINITIALISED, true, "read", "Uninitialized __global__ memory read of size 4 bytes",
                   "at byte 0 of the allocation, 128 bytes in size");
}

Test(graph_memory, used_after_the_captured_free) {
    cr_assert_eq(run_used_after_free(), ILLEGAL_ADDRESS);
    EXPECT_FINDING(SIMT_OUT_OF_BOUNDS, true, "read", "Invalid __global__ read", "has been freed");
}

Test(graph_memory, a_living_graph_is_no_leak) {
    cr_assert_eq(run_leak(0), 0);
    expect_none();
}

Test(graph_memory, what_a_replay_left_is_a_leak) {
    cr_assert_eq(run_leak(1), 0);
    EXPECT_FINDING(SIMT_LEAK, true, "kept", "Leaked 128 bytes");
}

Test(graph_memory, reserved_addresses_are_not_reused) {
    struct rlimit limit = {(rlim_t)LIMIT_MEGABYTES << 20, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    int line = run_place_kept();
    cr_assert_eq(line, 0, "line %d", line);
}
#endif
