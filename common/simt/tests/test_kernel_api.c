/* Runtime functions that need kernels. run_X returns 0, line * 1000 + error, or the line of a condition that is false. */
#include "findings.h"

TestSuite(kernel_api, .init = quiet, .timeout = 60);

/* Deliberately wrong calls are refused with a finding; no kernel may cause one. */
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
