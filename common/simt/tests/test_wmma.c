/* mma.h: right products, what is counted, and the findings of faults. */
#include "findings.h"

TestSuite(wmma, .init = quiet, .timeout = 60);

#define RIGHT(test)                            \
    int run_##test(void);                      \
    Test(wmma, test) {                         \
        int got = run_##test();                \
        cr_assert_eq(got, 0, "%d wrong", got); \
        expect_none();                         \
    }

RIGHT(wmma_half)
RIGHT(wmma_half_tall)
RIGHT(wmma_half_flat)
RIGHT(wmma_half_sums)
RIGHT(wmma_bfloat)
RIGHT(wmma_tf32)

#ifndef SIMT_FAST_TEST
enum { SUCCESS = 0, ILLEGAL_ADDRESS = 700, MISALIGNED = 716 };

/* 16 lines of 32 bytes: four requests, each of 8 lines and 16 bytes. */
int run_load_only(void);
Test(wmma, counts_a_load) {
    struct simt_counters counters;
    simt_counters_reset();
    cr_assert_eq(run_load_only(), 0);
    simt_counters_get(&counters);
    cr_expect_eq(counters.global.load_requests, 4);
    cr_expect_eq(counters.global.load_sectors, 32);
    cr_expect_eq(counters.global.load_bytes, 512);
    expect_none();
}

#define FINDS(test, error, kind, mark, ...)            \
    int run_##test(void);                              \
    Test(wmma, test) {                                 \
        int got = run_##test();                        \
        cr_expect_eq(got, error, "error %d", got);     \
        EXPECT_FINDING(kind, true, mark, __VA_ARGS__); \
    }

FINDS(loads_beyond, ILLEGAL_ADDRESS, SIMT_OUT_OF_BOUNDS, "beyond the matrix", "Invalid __global__ read of size 4")
FINDS(loads_misaligned, SUCCESS, SIMT_MISALIGNED, "misaligned matrix", "Invalid load_matrix_sync",
      "it is not a multiple of 32")
FINDS(loads_with_odd_leading, SUCCESS, SIMT_MISALIGNED, "odd leading dimension", "is 12 elements", "a multiple of 8")
FINDS(loads_unwritten, SUCCESS, SIMT_UNINITIALISED, "unwritten element", "size 4 bytes", "byte 496 of 'tile'")
FINDS(loads_in_a_race, SUCCESS, SIMT_RACE, "written by another warp", "Read access", "Write access")
FINDS(part_of_a_warp_loads, SUCCESS, SIMT_ABSENT_LANE, "part of a warp",
      "Invalid load_matrix_sync: lane 24 does not exist")
#endif
