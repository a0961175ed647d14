/* The fast build: memory that graphs allocate, where nothing is checked. See test_graph_memory.c. */
#include "findings.h"

TestSuite(graph_memory_fast, .init = quiet, .timeout = 60);

#define RIGHT(test)                             \
    int run_##test(void);                       \
    Test(graph_memory_fast, test) {             \
        int line = run_##test();                \
        cr_assert_eq(line, 0, "line %d", line); \
    }

RIGHT(replays)
RIGHT(two_executables)
RIGHT(unwritten_later)
RIGHT(foreign_memory)
RIGHT(held_by_each)
RIGHT(kept_by_replay)
RIGHT(failing_replay)
