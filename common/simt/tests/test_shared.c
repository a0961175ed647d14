/* Shared memory: private to a block, aligned, disjoint, uninitialised at the start, and as large as CUDA allows. */
#include "findings.h"

#include <math.h>

int run_kept(int blocks, int *out);
int run_instances(uint64_t *out);
int run_alignment(uint64_t *out);
int run_stale(float *out);
int run_stale_dynamic(float *out);
int run_much(int bytes, int opt_in);
int run_aligned(int blocks, uint64_t *out);
int run_beside(int instance, int bytes, int opt_in);

TestSuite(shared, .init = quiet, .timeout = 60);

enum { INVALID_VALUE = 1, KB = 1024 };

static void use(int os_threads, int compute_capability) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.os_threads = os_threads;
    settings.compute_capability = compute_capability;
    simt_settings_set(&settings);
}

Test(shared, live_blocks_keep_their_own) {
    enum { BLOCKS = 7 };
    int out[BLOCKS * 64];
    for (int os_threads = 1; os_threads <= 3; os_threads++) {
        use(os_threads, 90);
        cr_assert_eq(run_kept(BLOCKS, out), 0);
        for (int i = 0; i < BLOCKS * 64; i++) cr_assert_eq(out[i], i / 64 * 64 + 63 - i % 64 + 2);
    }
    expect_none();
}

Test(shared, one_for_each_template_instance) {
    uint64_t at[3];
    cr_assert_eq(run_instances(at), 0);
    cr_assert_eq(at[0], at[2]);
    cr_assert(at[1] >= at[0] + 8 * sizeof(int) || at[0] >= at[1] + 16 * sizeof(int));
}

Test(shared, aligned_and_apart) {
    static const uint64_t size[] = {1, 48, 8, 10, 64}, alignment[] = {1, 16, 8, 2, 16};
    uint64_t at[5];
    cr_assert_eq(run_alignment(at), 0);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(at[i] % alignment[i], 0);
        for (int j = 0; j < 5; j++)
            cr_assert(i == j || at[i] + size[i] < at[j] || at[j] + size[j] < at[i], "%d touches %d", i, j);
    }
}

Test(shared, aligned_to_128_bytes_in_each_block) {
    use(1, 90);
    uint64_t at[8];
    cr_assert_eq(run_aligned(4, at), 0);
    for (int i = 0; i < 8; i++) cr_assert_eq(at[i] % 128, 0, "block %d", i / 2);
    expect_none();
}

Test(shared, empty_at_the_start_of_a_block) {
    float out[4];
    use(1, 90);
    cr_assert_eq(run_stale(out), 0);
    for (int i = 0; i < 4; i++) cr_assert(isnan(out[i]));
#ifndef SIMT_FAST_TEST
    EXPECT_FINDING(SIMT_UNINITIALISED, true, "stale", "Uninitialized __shared__ memory read");
#endif
}

#ifndef SIMT_FAST_TEST
Test(shared, what_is_read_too_early_has_its_name) {
    float out[4];
    run_stale_dynamic(out);
    EXPECT_FINDING(SIMT_UNINITIALISED, true, "dynamic", "at byte 0 of 'extern __shared__', 256 bytes in size");
}
#endif

Test(shared, as_large_as_the_compute_capability_allows) {
    static const int capability[] = {75, 80, 86, 90}, most[] = {64 * KB, 163 * KB, 99 * KB, 227 * KB};
    for (int i = 0; i < 4; i++) {
        use(1, capability[i]);
        cr_assert_eq(run_much(most[i], most[i]), 0);
        cr_assert_eq(run_much(1000, most[i] + 1), INVALID_VALUE);
        cr_assert_eq(run_much(50 * KB, 49 * KB), INVALID_VALUE);
    }
}

/* cudaFuncSetAttribute bounds the dynamic memory alone; the static memory counts towards the device's limit, and towards the
 * 48 KB of a kernel that has not opted in. */
Test(shared, static_memory_beside_what_was_opted_in) {
    enum { MOST = 227 * KB, STATIC = 128 };
    use(1, 90);
    for (int launch = 0; launch < 2; launch++) {
        cr_assert_eq(run_beside(0, MOST - KB - 32, MOST - KB), 0, "launch %d", launch);
        cr_assert_eq(run_beside(1, MOST - STATIC, MOST - STATIC), 0, "launch %d", launch);
        cr_assert_eq(run_beside(2, 48 * KB - STATIC, -1), 0, "launch %d", launch);
        cr_assert_eq(run_beside(2, 48 * KB - STATIC + 1, -1), INVALID_VALUE, "launch %d", launch);
        cr_assert_eq(run_beside(4, 48 * KB, 48 * KB), 0, "launch %d", launch);
    }
    cr_assert_eq(run_beside(3, 48 * KB - STATIC + 1, -1), INVALID_VALUE); /* refused by its first launch */
    cr_assert_eq(run_beside(1, 1000, MOST - STATIC + 1), INVALID_VALUE);
    cr_assert_eq(run_beside(1, MOST - STATIC, -1), 0); /* the earlier attribute remains */
    cr_assert_eq(run_beside(1, MOST - STATIC + 1, -1), INVALID_VALUE);
}
