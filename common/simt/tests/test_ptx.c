/* Inline PTX. In a kernel that is right, nothing is found; faults.cu has the others. */
#include "findings.h"

TestSuite(ptx, .init = quiet, .timeout = 60);

#define RIGHT(test)                                  \
    int run_##test(void);                            \
    Test(ptx, test) {                                \
        int got = run_##test();                      \
        cr_assert_eq(got, 0, "%d differences", got); \
        expect_none();                               \
    }

RIGHT(ptx_arithmetic)
RIGHT(ptx_bits)
RIGHT(ptx_conversions)
RIGHT(ptx_functions)
RIGHT(ptx_memory)
RIGHT(ptx_atomics)
RIGHT(ptx_warp)
RIGHT(ptx_copies)
