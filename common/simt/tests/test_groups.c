/* Cooperative groups: ranks, sizes, exchanges, reductions, scans, partitions, copies, and the barrier of the grid. */
#include "findings.h"

TestSuite(groups, .init = quiet, .timeout = 60);

int run_ranks(int *out);
Test(groups, ranks_and_sizes) {
    static int out[64][10];
    cr_assert_eq(run_ranks(&out[0][0]), 0);
    for (int i = 0; i < 64; i++) {
        const int expected[10] = {i * 1000 + 64,
                                  i % 32 * 1000 + 32,
                                  i % 8 * 1000 + 8,
                                  i % 4 * 1000 + 4,
                                  i % 16 * 1000 + 16,
                                  i / 32 * 1000 + 2,
                                  i % 32 / 8 * 1000 + 4,
                                  i / 16 * 1000 + 16,
                                  i,
                                  64};
        for (int k = 0; k < 10; k++) cr_assert_eq(out[i][k], expected[k], "thread %d, item %d: %d", i, k, out[i][k]);
    }
    expect_none();
}

static void expect_exchange(int (*run)(float *), int size) {
    static float out[64][12];
    cr_assert_eq(run(&out[0][0]), 0);
    for (int i = 0; i < 64; i++) {
        int first = i / size * size, rank = i % size;
        uint32_t odd = size == 32 ? 0xaaaaaaaau : 0xaa;
        float sum = 0, before = 0;
        for (int k = 0; k < size; k++) {
            sum += (float)(first + k);
            before += k < rank ? (float)(first + k) : 0;
        }
        const float expected[12] = {(float)(first + 1),
                                    (float)(rank > 0 ? i - 1 : i),
                                    (float)(rank + 1 < size ? i + 1 : i),
                                    (float)(first + (rank ^ (size - 1))),
                                    first <= 5 && 5 < first + size,
                                    first + size <= 40,
                                    (float)odd,
                                    (float)(3u << (rank / 2 * 2)),
                                    sum,
                                    (float)(first + size - 1),
                                    before + (float)i,
                                    before};
        for (int k = 0; k < 12; k++)
            cr_assert_eq(out[i][k], expected[k], "tile of %d, thread %d, item %d: %g, not %g", size, i, k,
                         (double)out[i][k], (double)expected[k]);
    }
    expect_none();
}

int run_exchange_32(float *out);
int run_exchange_8(float *out);
Test(groups, tiles_of_a_warp_exchange) {
    expect_exchange(run_exchange_32, 32);
}
Test(groups, tiles_of_8_exchange) {
    expect_exchange(run_exchange_8, 8);
}

int run_coalesced(int *out);
Test(groups, lanes_that_are_together) {
    static int out[32][8];
    cr_assert_eq(run_coalesced(&out[0][0]), 0);
    for (int i = 0; i < 32; i++) {
        int rank = i / 3; /* of 1, 4, …, 31: eleven lanes */
        const int expected[5] = {rank * 1000 + 11, 7, 1 + 4 + 7 + 10 + 13 + 16 + 19 + 22 + 25 + 28 + 31, 31, 0x7f0};
        for (int k = 0; k < 5; k++)
            cr_assert_eq(out[i][k], i % 3 == 1 ? expected[k] : 0, "lane %d, item %d: %d", i, k, out[i][k]);
        cr_assert_eq(out[i][5], i < 10 ? 10 : 22);
        cr_assert_eq(out[i][6], i / 5);
        cr_assert_eq(out[i][7], 9, "9 * 7 %% 32 is 31, the largest");
    }
    expect_none();
}

int run_copies(float *out);
Test(groups, copies_of_a_block) {
    static float out[128];
    cr_assert_eq(run_copies(out), 0);
    for (int i = 0; i < 64; i++) {
        cr_assert_eq(out[i], (float)(63 - i + (i < 13 ? 13 - i : 0)));
        cr_assert_eq(out[64 + i], (float)((15 - i / 4) * 4 + i % 4));
    }
    expect_none();
}

int run_grid(int blocks, int *partial, int *total);
Test(groups, all_blocks_meet_at_the_barrier_of_the_grid) {
    int partial[20], total;
    cr_assert_eq(run_grid(20, partial, &total), 0);
    cr_assert_eq(total, 20 * 21 / 2);
    for (int i = 0; i < 20; i++) cr_assert_eq(partial[i], total);
    expect_none();
}

int run_grid_without_leave(void);
Test(groups, the_barrier_of_the_grid_needs_a_cooperative_launch) {
    cr_assert_neq(run_grid_without_leave(), 0);
    cr_assert_eq(simt_finding_count(), 1);
    cr_assert(strstr(simt_finding_at(0)->text, "cudaLaunchCooperativeKernel"));
}

int run_grid_too_large(void);
Test(groups, a_grid_that_meets_must_be_resident_as_a_whole) {
    cr_assert_eq(run_grid_too_large(), 720);
    cr_assert(strstr(simt_finding_at(0)->text, "at once"));
}
