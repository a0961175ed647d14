/* The same tests against the fast build: the library and the kernels without instrumentation. */
#define SIMT_FAST_TEST 1
#include "test_shared.c"
