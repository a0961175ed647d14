/* ldmatrix, mma.sync and cp.async: right products, and the findings of faults in them. */
#include "findings.h"

TestSuite(matrix, .init = quiet, .timeout = 60);

#define RIGHT(test)                            \
    int run_##test(void);                      \
    Test(matrix, test) {                       \
        int got = run_##test();                \
        cr_assert_eq(got, 0, "%d wrong", got); \
        expect_none();                         \
    }

RIGHT(matrix_f16)
RIGHT(matrix_f16_transposed)
RIGHT(matrix_bf16)
RIGHT(matrix_bf16_transposed)
RIGHT(matrix_k8)
RIGHT(matrix_half_sums)
RIGHT(matrix_tf32)
RIGHT(matrix_tf32_k4)
RIGHT(matrix_s8)

enum { SUCCESS = 0, ILLEGAL_ADDRESS = 700, MISALIGNED = 716, LAUNCH_FAILURE = 719 };

#ifndef SIMT_FAST_TEST
#define FINDS(test, error, kind, mark, ...)            \
    int run_##test(void);                              \
    Test(matrix, test) {                               \
        int got = run_##test();                        \
        cr_expect_eq(got, error, "error %d", got);     \
        EXPECT_FINDING(kind, true, mark, __VA_ARGS__); \
    }

FINDS(reads_beyond_tile, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "beyond the tile", "Invalid __shared__ read of size 16",
      "by thread (7,0,0)")
FINDS(reads_misaligned_row, MISALIGNED, SIMT_MISALIGNED, "misaligned row", "Invalid __shared__ read of size 16")
FINDS(reads_unwritten_tile, SUCCESS, SIMT_UNINITIALISED, "unwritten tile", "by thread (7,0,0)", "size 16 bytes",
      "byte 112 of 'tile'")
FINDS(reads_in_a_race, SUCCESS, SIMT_RACE, "store behind ldmatrix", "Write access", "Read access")
FINDS(half_a_warp_loads, SUCCESS, SIMT_ABSENT_LANE, "half a warp", "Invalid ldmatrix: lane 16 does not exist")
FINDS(reads_before_wait, SUCCESS, SIMT_UNINITIALISED, "before the wait", "An asynchronous copy to it has not completed")
FINDS(waits_for_too_few, SUCCESS, SIMT_UNINITIALISED, "one group is left", "An asynchronous copy")
FINDS(copies_without_barrier, SUCCESS, SIMT_RACE, "no barrier", "Read access", "Write access")
FINDS(copies_out_of_bounds, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "beyond the source",
      "Invalid __global__ read of size 16", "by thread (31,0,0)")
FINDS(copies_to_misaligned, MISALIGNED, SIMT_MISALIGNED, "misaligned copy", "Invalid __shared__ write of size 8")
FINDS(syncs_part_of_a_block, LAUNCH_FAILURE, SIMT_LAUNCH, "part of a block",
      "bar.sync of 64 of the block's 128 threads")
#endif
