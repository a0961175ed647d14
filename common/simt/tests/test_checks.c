/* Divergent barriers, deadlocks, endless loops, stacks, arithmetic, and launches that CUDA refuses. */
#include "findings.h"

static void quiet_and_impatient(void) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.quiet = true;
    settings.watchdog = 1000000;
    simt_settings_set(&settings);
}

TestSuite(checks, .init = quiet_and_impatient, .timeout = 60);

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    INVALID_CONFIGURATION = 9,
    TIMEOUT = 702,
    STACK = 714,
    LAUNCH_FAILURE = 719,
};
enum { NOTE = 0, ERROR = 1 };

#define FINDS(test, error, kind, is_error, mark, ...)      \
    int run_##test(void);                                  \
    Test(checks, test) {                                   \
        int got = run_##test();                            \
        cr_expect_eq(got, error, "error %d", got);         \
        EXPECT_FINDING(kind, is_error, mark, __VA_ARGS__); \
    }

FINDS(divergent_barrier, SUCCESS, SIMT_BARRIER_DIVERGENT, ERROR, "first barrier",
      "Barrier error detected. Divergent thread(s) in block\n",
      "at divergent_barrier(int *) in test_checks.cu:", "by thread (0,0,0) in block (0,0,0)",
      "thread (32,0,0) waits at another barrier")
FINDS(skipped_barrier, SUCCESS, SIMT_BARRIER_DIVERGENT, ERROR, "in the branch",
      "thread (40,0,0) waits at another barrier")
FINDS(divergent_in_warp, SUCCESS, SIMT_BARRIER_DIVERGENT, ERROR, "half a warp",
      "thread (1,0,0) waits at another barrier")
FINDS(two_calls, SUCCESS, SIMT_BARRIER_DIVERGENT, ERROR, "in meet", "thread (32,0,0) waits at another barrier")
FINDS(early_return, SUCCESS, SIMT_BARRIER_EXITED, NOTE, "others have returned", "14 of 64 threads")
FINDS(barrier_and_shuffle, TIMEOUT, SIMT_DEADLOCK, ERROR, "waits at the shuffle",
      "Deadlock: no thread of the block can continue", "16 threads, (0,0,0) to (15,0,0), wait in __syncthreads, ",
      "16 threads, (16,0,0) to (31,0,0), wait in __shfl_sync with mask 0xffffffff, ")
FINDS(mask_too_wide, TIMEOUT, SIMT_DEADLOCK, ERROR, "full mask",
      "8 threads, (0,0,0) to (7,0,0), wait in __shfl_xor_sync")
FINDS(reads_exited, SUCCESS, SIMT_ABSENT_LANE, ERROR, "reads the exited",
      "Invalid __shfl_xor_sync: lane 0 reads lane 16, which has exited", "0xffffffff")
FINDS(reads_beyond, SUCCESS, SIMT_ABSENT_LANE, ERROR, "reads the missing", "lane 8 reads lane 16, which does not exist")
FINDS(reads_unnamed, SUCCESS, SIMT_ABSENT_LANE, ERROR, "reads the unnamed",
      "lane 0 reads lane 20, which is not in the mask")
FINDS(outside_mask, SUCCESS, SIMT_ABSENT_LANE, ERROR, "not in its mask",
      "Invalid __any_sync: lane 7 calls it with mask 0x0000007f")
FINDS(endless, TIMEOUT, SIMT_ENDLESS, ERROR, "endless", "Endless loop", "never becomes false")
FINDS(endless_without_memory, TIMEOUT, SIMT_ENDLESS, ERROR, "endless arithmetic", "Endless loop")
FINDS(polls, TIMEOUT, SIMT_ENDLESS, ERROR, "polls for ever", "polls a value that no thread changes")
FINDS(recursion, STACK, SIMT_STACK_OVERFLOW, ERROR, "recursion", "Stack overflow", "    at depth(int) in")
FINDS(large_frame, STACK, SIMT_STACK_OVERFLOW, ERROR, "large frame", "Stack overflow")
FINDS(divides, LAUNCH_FAILURE, SIMT_ARITHMETIC, ERROR, "division", "Integer division by zero")
FINDS(shifts, SUCCESS, SIMT_ARITHMETIC, NOTE, "shift", "Shift of a 32-bit value by 32")
FINDS(converts, SUCCESS, SIMT_ARITHMETIC, NOTE, "conversion", "float")
FINDS(uses_grid_sync, LAUNCH_FAILURE, SIMT_LAUNCH, ERROR, "grid sync", "cudaLaunchCooperativeKernel")
FINDS(much_static, INVALID_VALUE, SIMT_LAUNCH, ERROR, "64 KB", "0x10000 bytes; the limit is 0xc000", "'b'")
FINDS(many_threads, INVALID_CONFIGURATION, SIMT_LAUNCH, ERROR, "2048 threads", "Invalid launch of nothing()", "2048")
FINDS(many_threads_3d, INVALID_CONFIGURATION, SIMT_LAUNCH, ERROR, "32x32x2 threads", "2048", "1024")
FINDS(zero_grid, INVALID_CONFIGURATION, SIMT_LAUNCH, ERROR, "no blocks", "gridDim.x is 0")
FINDS(zero_block, INVALID_CONFIGURATION, SIMT_LAUNCH, ERROR, "no threads", "blockDim.x is 0")
FINDS(large_y, INVALID_CONFIGURATION, SIMT_LAUNCH, ERROR, "65536 blocks in y", "gridDim.y is 65536")
FINDS(deep_block, INVALID_CONFIGURATION, SIMT_LAUNCH, ERROR, "65 threads in z", "blockDim.z is 65")
FINDS(much_dynamic, INVALID_VALUE, SIMT_LAUNCH, ERROR, "49 KB", "50176", "49152")
FINDS(goes_on_after_failed_launch, SUCCESS, SIMT_LAUNCH, ERROR, "failed", "2048")

#define RIGHT(test)                            \
    int run_##test(void);                      \
    Test(checks, test) {                       \
        int got = run_##test();                \
        cr_assert_eq(got, 0, "error %d", got); \
        expect_none();                         \
    }

RIGHT(shallow_recursion)
RIGHT(shifts_less)
RIGHT(converts_less)
RIGHT(opted_in)
