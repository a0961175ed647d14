/* Runtime functions that need kernels. A run returns 0, or line * 1000 + error, or the line of what did not hold. */
#include "findings.h"

#include <criterion/redirect.h>

TestSuite(kernel_api, .init = quiet, .timeout = 60);

/* What the tests do wrong on purpose is refused with a finding, but no kernel may do anything wrong. */
static void expect_no_fault(void) {
    for (size_t i = 0; i < simt_finding_count(); i++) {
        const struct simt_finding *finding = simt_finding_at(i);
        bool refused = finding->kind == SIMT_LAUNCH || finding->kernel[0] == 0;
        cr_assert(refused, "%s", finding->text);
    }
}

#define HOLDS(test)                             \
    int run_##test(void);                       \
    Test(kernel_api, test) {                    \
        int line = run_##test();                \
        cr_assert_eq(line, 0, "line %d", line); \
        expect_no_fault();                      \
    }

HOLDS(symbols)
HOLDS(launches)
HOLDS(nested_arguments)
HOLDS(attributes)
HOLDS(occupancy)
HOLDS(graph)
HOLDS(host_memory)
HOLDS(look_around)

int run_printf(void);
Test(kernel_api, output_of_kernels_comes_in_the_order_of_blocks, .init = cr_redirect_stdout) {
    cr_assert_eq(run_printf(), 0);
    fflush(stdout);
    cr_assert_stdout_eq_str("before\n"
                            "block 0 thread 0: 0.00 text\nline\nc\nblock 0 thread 1: 0.25 text\n"
                            "block 1 thread 0: 0.00 text\nline\nc\nblock 1 thread 1: 0.25 text\n"
                            "block 2 thread 0: 0.00 text\nline\nc\nblock 2 thread 1: 0.25 text\n"
                            "after\n");
}

int run_assert(void);
Test(kernel_api, a_failed_assertion_ends_the_context) {
    cr_assert_eq(run_assert(), 710);
    EXPECT_FINDING(SIMT_ASSERT, true, "assert",
                   ": void check(int): block: [0,0,0], thread: [3,0,0] Assertion `threadIdx.x < n` failed.");
}

int run_trap(void);
Test(kernel_api, a_trap_fails_the_launch) {
    cr_assert_eq(run_trap(), 719);
    cr_assert_eq(simt_finding_count(), 1);
}
