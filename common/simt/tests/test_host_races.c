/* Host code and kernels that it has not waited for, in pinned and managed memory. */
#include "findings.h"

TestSuite(host_races, .init = quiet, .timeout = 60);

#define RIGHT(test)                             \
    int run_##test(void);                       \
    Test(host_races, test) {                    \
        int line = run_##test();                \
        cr_assert_eq(line, 0, "line %d", line); \
        expect_none();                          \
    }

RIGHT(device_synchronize)
RIGHT(stream_synchronize)
RIGHT(stream_query)
RIGHT(event_synchronize)
RIGHT(event_query)
RIGHT(copy)
RIGHT(copy_on_stream)
RIGHT(copy_from_symbol)
RIGHT(set)
RIGHT(free_other)
RIGHT(host_function)
RIGHT(host_node)
RIGHT(other_bytes)
RIGHT(read_of_input)
RIGHT(volatile_flag)

#define FINDS(test, ...)                                                                                      \
    int run_##test(void);                                                                                     \
    Test(host_races, test) {                                                                                  \
        int line = run_##test();                                                                              \
        cr_assert_eq(line, 0, "line %d", line);                                                               \
        EXPECT_FINDING(SIMT_RACE, true, #test, "by the host", __VA_ARGS__, "by a kernel that may still run"); \
    }

FINDS(reads_too_early, "this Read access of 4 bytes", "and a Write access in test_host_races.cu")
FINDS(reads_pinned, "this Read access of 4 bytes", "and a Write access")
FINDS(reads_byte, "this Read access of 1 bytes", "and a Write access")
FINDS(reads_sum, "this Read access of 4 bytes", "and a Atomic access")
FINDS(reads_written_by_two, "this Read access of 4 bytes", "and a Write access")
FINDS(overwrites_input, "this Write access of 4 bytes", "and a Read access")
FINDS(copies_struct, "this Read access", "and a Write access")
FINDS(reads_after_graph, "this Read access of 4 bytes", "and a Write access")
