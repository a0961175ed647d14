/* Faults of the processor inside a kernel fail the launch and are reported with their line; the program continues. */
#include "findings.h"

int run_null(void);
int run_nowhere(void);
int run_divide(int by);
int run_endless_recursion(void);
int run_local(int kilobytes);
int run_full_stack(void);
int run_endless_loop(void);
int run_after_reset(int *out);

TestSuite(faults, .init = quiet, .timeout = 60);

enum { ILLEGAL_ADDRESS = 700, TIMEOUT = 702, STACK = 714, LAUNCH_FAILURE = 719 };

#ifdef SIMT_FAST_TEST
#define ADDRESS_KIND SIMT_OUT_OF_BOUNDS
#else
#define ADDRESS_KIND SIMT_INVALID_POINTER
#endif

static void expect_works_after_reset(void) {
    int out[32];
    cr_assert_eq(run_after_reset(out), 0);
    for (int i = 0; i < 32; i++) cr_assert_eq(out[i], i);
}

Test(faults, null_pointer) {
    cr_assert_eq(run_null(), ILLEGAL_ADDRESS);
    EXPECT_FINDING(ADDRESS_KIND, true, "write", "write_to(int *)", "thread (0,0,0) in block (0,0,0)");
    expect_works_after_reset();
}

Test(faults, no_memory_there) {
    cr_assert_eq(run_nowhere(), ILLEGAL_ADDRESS);
    EXPECT_FINDING(ADDRESS_KIND, true, "write", "Access to 0x123456789000");
    expect_works_after_reset();
}

Test(faults, division_by_zero) {
    cr_assert_eq(run_divide(7), 0);
    expect_none();
    cr_assert_eq(run_divide(0), LAUNCH_FAILURE);
    EXPECT_FINDING(SIMT_ARITHMETIC, true, "divide", "Integer division by zero");
    expect_works_after_reset();
}

Test(faults, endless_recursion) {
    cr_assert_eq(run_endless_recursion(), STACK);
    EXPECT_FINDING(SIMT_STACK_OVERFLOW, true, "depth", "Stack overflow");
    expect_works_after_reset();
}

static void expect_overflow(void) {
    cr_assert_eq(simt_finding_count(), 1, "%zu findings", simt_finding_count());
    cr_assert_eq(simt_finding_at(0)->kind, SIMT_STACK_OVERFLOW, "%s", simt_finding_at(0)->text);
    cr_assert(simt_finding_at(0)->line > 0, "%s", simt_finding_at(0)->text);
    expect_works_after_reset();
    simt_findings_clear();
}

Test(faults, large_local_variables) {
    cr_assert_eq(run_local(40), 0);
    expect_none();
#ifndef SIMT_FAST_TEST /* which finds it after 52 KB on x86-64, after 64 KB on ARM */
    cr_assert_eq(run_local(60), STACK);
    expect_overflow();
#endif
    cr_assert_eq(run_local(70), STACK);
    expect_overflow();
    cr_assert_eq(run_local(4096), STACK);
    expect_overflow();
}

Test(faults, full_stack) {
    cr_assert_eq(run_full_stack(), STACK);
    expect_overflow();
}

Test(faults, endless_loop) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.watchdog = 5000000;
    simt_settings_set(&settings);
    cr_assert_eq(run_endless_loop(), TIMEOUT);
    EXPECT_FINDING(SIMT_ENDLESS, true, "poll", "Endless loop");
    expect_works_after_reset();
}
