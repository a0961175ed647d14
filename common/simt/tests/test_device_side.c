/* printf, assert, traps, clocks and address spaces in kernels. */
#include "findings.h"

#include <criterion/redirect.h>

TestSuite(device_side, .init = quiet, .timeout = 60);

int run_look_around(void);
Test(device_side, pointers_and_clocks) {
    int line = run_look_around();
    cr_assert_eq(line, 0, "line %d", line);
    expect_none();
}

/* A clock that is right by its rate; threads that wait for it wait together. */
double run_spin(double milliseconds, int blocks, int threads);
Test(device_side, device_clocks_run_at_the_clock_rate) {
    double one = run_spin(1, 4, 256), fifty = run_spin(50, 1, 32);
    cr_expect(one >= 1 && one < 500, "1 ms takes %g ms", one);
    cr_expect(fifty >= 50 && fifty < 500, "50 ms take %g ms", fifty);
    expect_none();
}

int run_wait_at_most(void);
Test(device_side, a_wait_with_a_time_limit_is_finite) {
    cr_expect(run_wait_at_most());
    expect_none();
}

double run_host_clock(void);
Test(device_side, host_clock_is_the_librarys) {
    double ratio = run_host_clock();
    cr_expect(ratio > 0.9 && ratio < 1.1, "%g", ratio);
}

int run_printf(void);
Test(device_side, output_of_kernels_comes_in_the_order_of_blocks, .init = cr_redirect_stdout) {
    cr_assert_eq(run_printf(), 0);
    fflush(stdout);
    cr_assert_stdout_eq_str("before\n"
                            "block 0 thread 0: 0.00 text\nline\nc\nblock 0 thread 1: 0.25 text\n"
                            "block 1 thread 0: 0.00 text\nline\nc\nblock 1 thread 1: 0.25 text\n"
                            "block 2 thread 0: 0.00 text\nline\nc\nblock 2 thread 1: 0.25 text\n"
                            "after\n");
}

int run_assert(void);
Test(device_side, a_failed_assertion_ends_the_context) {
    cr_assert_eq(run_assert(), 710);
    EXPECT_FINDING(SIMT_ASSERT, true, "assert",
                   ": void check(int): block: [0,0,0], thread: [3,0,0] Assertion `threadIdx.x < n` failed.");
}

int run_trap(void);
Test(device_side, a_trap_fails_the_launch) {
    cr_assert_eq(run_trap(), 719);
    cr_assert_eq(simt_finding_count(), 1);
}

int run_move_bytes(void);
Test(device_side, copies_and_the_heap) {
    struct simt_counters counters;
    simt_counters_reset();
    int line = run_move_bytes();
    cr_assert_eq(line, 0, "line %d", line);
    simt_counters_get(&counters);
    cr_assert_eq(counters.global.store_bytes, 32u * 16 + 12 + 12 + 8 + 4 + 4, "%llu bytes",
                 (unsigned long long)counters.global.store_bytes);
    expect_none();
}

int run_move_past_the_end(void);
Test(device_side, a_copy_past_the_end_is_found) {
    cr_assert_eq(run_move_past_the_end(), 700);
    EXPECT_FINDING(SIMT_OUT_OF_BOUNDS, true, "copy", "Invalid __global__ write");
}

int run_new_and_delete(void);
Test(device_side, new_and_delete_use_the_heap_of_the_device) {
    int line = run_new_and_delete();
    cr_assert_eq(line, 0, "line %d", line);
    expect_none();
}
