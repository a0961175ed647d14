/* Counters against figures that were calculated by hand; the calculation stands beside each. */
#include "findings.h"

#include <criterion/parameterized.h>
#include <string.h>

TestSuite(counters, .init = quiet, .timeout = 60);

static struct simt_counters run(void (*launch)(void)) {
    struct simt_counters c;
    launch(); /* makes the memory */
    simt_counters_reset();
    launch();
    simt_counters_get(&c);
    return c;
}

struct want {
    uint64_t load_requests, load_sectors, load_bytes, store_requests, store_sectors, store_bytes;
};

static void expect_traffic(const struct simt_counters *c, struct want w) {
    const struct simt_traffic *g = &c->global;
    cr_expect_eq(g->load_requests, w.load_requests, "load requests %lu", (unsigned long)g->load_requests);
    cr_expect_eq(g->load_sectors, w.load_sectors, "load sectors %lu", (unsigned long)g->load_sectors);
    cr_expect_eq(g->load_bytes, w.load_bytes, "load bytes %lu", (unsigned long)g->load_bytes);
    cr_expect_eq(g->store_requests, w.store_requests, "store requests %lu", (unsigned long)g->store_requests);
    cr_expect_eq(g->store_sectors, w.store_sectors, "store sectors %lu", (unsigned long)g->store_sectors);
    cr_expect_eq(g->store_bytes, w.store_bytes, "store bytes %lu", (unsigned long)g->store_bytes);
}

#define EXPECT(field, value) \
    cr_expect_eq(c.field, value, #field " %lu, not %lu", (unsigned long)c.field, (unsigned long)(value))

/* Global traffic {loads: requests, sectors, bytes; stores: the same}, then more expectations. */
#define COUNTS(name, traffic, ...)                \
    void run_##name(void);                        \
    Test(counters, name) {                        \
        struct simt_counters c = run(run_##name); \
        expect_traffic(&c, traffic);              \
        __VA_ARGS__;                              \
    }
#define TRAFFIC(name, traffic) COUNTS(name, traffic, (void)0)
#define T(...)                 ((struct want){__VA_ARGS__})

/* 4 blocks of 8 warps; 32 lanes of 4 bytes are 4 sectors */
COUNTS(copy, T(32, 128, 4096, 32, 128, 4096), EXPECT(launches, 1); EXPECT(blocks, 4); EXPECT(warps, 32);
       EXPECT(threads, 1024); EXPECT(longest_chain, 2); EXPECT(largest_grid_warps, 32); EXPECT(divergent_requests, 0);
       EXPECT(shared.load_requests, 0); EXPECT(barriers, 0))
/* 1000 = 31 warps and 8 lanes, which are 1 sector. Lanes that have exited do not count as divergent. */
COUNTS(tail_if, T(32, 125, 4000, 32, 125, 4000), EXPECT(divergent_requests, 0))
COUNTS(tail_return, T(32, 125, 4000, 32, 125, 4000), EXPECT(divergent_requests, 0))
TRAFFIC(stride_2, T(1, 8, 128, 1, 4, 128))
TRAFFIC(stride_32, T(1, 32, 128, 1, 4, 128))
TRAFFIC(offset_1, T(1, 5, 128, 1, 4, 128))
TRAFFIC(broadcast, T(1, 1, 128, 1, 4, 128))
TRAFFIC(reversed, T(1, 4, 128, 1, 4, 128))
TRAFFIC(permuted, T(1, 4, 128, 1, 4, 128))
/* squares modulo 32: 0 1 4 9 16 17 25, one sector each */
TRAFFIC(scattered, T(1, 7, 128, 1, 4, 128))
TRAFFIC(vector_4, T(1, 16, 512, 1, 16, 512))
TRAFFIC(vector_2, T(1, 8, 256, 1, 8, 256))
TRAFFIC(doubles, T(1, 8, 256, 1, 8, 256))
TRAFFIC(shorts, T(1, 2, 64, 1, 2, 64))
TRAFFIC(bytes, T(1, 1, 32, 1, 1, 32))
/* three accesses of 4 bytes, 12 bytes apart: 384 bytes, all 12 sectors each time */
TRAFFIC(float3s, T(3, 36, 384, 3, 36, 384))
COUNTS(part_of_a_warp, T(2, 6, 192, 2, 6, 192), EXPECT(warps, 2); EXPECT(threads, 48); EXPECT(divergent_requests, 0))
/* 8 warps, each two rows of 64 bytes */
COUNTS(square_block, T(8, 32, 1024, 8, 32, 1024), EXPECT(warps, 8))
COUNTS(grid_stride, T(16, 64, 2048, 16, 64, 2048), EXPECT(longest_chain, 8))
/* 64 rows for 8 warps, which take turns: a ticket, a load and a store 8 times, and the ticket that ends it */
COUNTS(work_queue, T(64, 256, 8192, 64, 256, 8192), EXPECT(longest_chain, 25))
TRAFFIC(transpose_naive, T(2048, 8192, 262144, 2048, 65536, 262144))

COUNTS(half_a_warp, T(1, 2, 64, 1, 4, 128), EXPECT(divergent_requests, 1))
COUNTS(two_arms, T(2, 8, 128, 1, 4, 128), EXPECT(divergent_requests, 2))
/* 32, 24, 16, 8 lanes; every group of 8 words holds one lane of each remainder */
COUNTS(uneven_loop, T(4, 16, 320, 1, 4, 128), EXPECT(divergent_requests, 3))
COUNTS(skipped_iterations, T(4, 16, 384, 1, 4, 128), EXPECT(divergent_requests, 4))
/* fetch twice: 8 lanes (1 sector), 24 lanes (3); fetch_far<32> by 16 lanes, fetch_far<64> by all: 1 sector each */
COUNTS(calls, T(4, 6, 32 + 96 + 64 + 128, 1, 4, 128), EXPECT(divergent_requests, 3))
/* 3 blocks of 2 warps with one load, 1 block with ten */
COUNTS(chain, T(26, 104, 3328, 8, 32, 1024), EXPECT(longest_chain, 11))

/* 33 stores without conflicts, and one with */
#define BANKS(name, conflicts)                    \
    void run_##name(void);                        \
    Test(counters, name) {                        \
        struct simt_counters c = run(run_##name); \
        EXPECT(shared.store_requests, 34);        \
        EXPECT(bank_conflicts, conflicts);        \
        EXPECT(global.load_requests, 0);          \
        EXPECT(warp_syncs, 1);                    \
    }
BANKS(bank_1, 0)
BANKS(bank_2, 1)
BANKS(bank_3, 0)
BANKS(bank_32, 31)
BANKS(bank_33, 0)
BANKS(bank_double, 0)
/* 16 lanes in a phase, 4 words apart: lanes 0 and 8 meet in a bank; two phases */
BANKS(bank_double_2, 2)
BANKS(bank_float4, 0)
BANKS(bank_bytes, 0)
COUNTS(bank_broadcast, T(1, 1, 128, 1, 4, 128), EXPECT(shared.load_requests, 1); EXPECT(shared.store_requests, 2);
       EXPECT(shared.load_bytes, 128); EXPECT(bank_conflicts, 0); EXPECT(divergent_requests, 2))
COUNTS(bank_two_words, T(1, 1, 128, 1, 4, 128), EXPECT(bank_conflicts, 1))
/* 64 tiles, 32 columns each, 32 lanes in one bank */
COUNTS(transpose_32, T(2048, 8192, 262144, 2048, 8192, 262144), EXPECT(bank_conflicts, 63488);
       EXPECT(shared.load_requests, 2048); EXPECT(shared.store_requests, 2048); EXPECT(barriers, 64 * 8))
COUNTS(transpose_33, T(2048, 8192, 262144, 2048, 8192, 262144), EXPECT(bank_conflicts, 0))

COUNTS(collectives, T(2, 8, 256, 2, 8, 256), EXPECT(shuffles, 10); EXPECT(votes, 4); EXPECT(reduces, 2);
       EXPECT(warp_syncs, 2))
COUNTS(partial_shuffles, T(1, 4, 128, 1, 4, 128), EXPECT(shuffles, 2))
/* 2 blocks of 3 warps, 3 barriers */
COUNTS(barriers, T(6, 24, 768, 6, 24, 768), EXPECT(barriers, 18))
COUNTS(atomics, T(0, 0, 0, 0, 0, 0), EXPECT(global.atomic_requests, 8); EXPECT(global.atomic_sectors, 4 + 16);
       EXPECT(global.atomic_bytes, 1024))
COUNTS(atomics_shared, T(1, 1, 128, 1, 4, 128), EXPECT(shared.atomic_requests, 2); EXPECT(shared.store_requests, 1);
       EXPECT(shared.load_requests, 1); EXPECT(bank_conflicts, 0))

/* 2 warps: 1024 columns, three times; each of 32 lanes in a row of its own */
COUNTS(softmax_thread_per_row, T(6144, 196608, 786432, 2048, 65536, 262144), EXPECT(longest_chain, 4096))
/* each row read once: 32 requests of 4 sectors; 10 shuffles in each of 8 warps of 64 blocks */
COUNTS(softmax_block_per_row, T(2048, 8192, 262144, 2048, 8192, 262144), EXPECT(shuffles, 64 * 8 * 10);
       EXPECT(barriers, 64 * 8 * 3); EXPECT(shared.store_requests, 64 * 8 * 2);
       EXPECT(shared.load_requests, 64 * 8 * 16))
COUNTS(softmax_warp_per_row, T(2048, 8192, 262144, 2048, 8192, 262144), EXPECT(shuffles, 640); EXPECT(barriers, 0);
       EXPECT(longest_chain, 64))

/* A device variable is global memory, constants are not counted. */
TRAFFIC(variables, T(1, 4, 128, 1, 4, 128))

void make_three(float **a, float **b, float **out);
void run_pick(float *out, const float *a, const float *b);
void free_three(float *a, float *b, float *out);

/* One request into two allocations is one request of each; its sectors are those of its own lanes. */
Test(counters, each_allocation_by_itself) {
    float *a, *b, *out;
    struct simt_traffic traffic;
    struct simt_counters c;
    make_three(&a, &b, &out);
    simt_counters_reset();
    run_pick(out, a, b);
    run_pick(out, a, b);
    simt_counters_get(&c);
    EXPECT(launches, 2);
    EXPECT(global.load_requests, 2);
    EXPECT(global.load_sectors, 16);
    cr_assert(simt_allocation_traffic(a, &traffic));
    cr_expect_eq(traffic.load_requests, 2);
    cr_expect_eq(traffic.load_sectors, 8);
    cr_expect_eq(traffic.load_bytes, 128, "16 lanes, twice");
    cr_expect_eq(traffic.store_requests, 0);
    cr_assert(simt_allocation_traffic((const char *)b + 100, &traffic), "a pointer inside");
    cr_expect_eq(traffic.load_bytes, 128);
    cr_assert(simt_allocation_traffic(out, &traffic));
    cr_expect_eq(traffic.load_requests, 0);
    cr_expect_eq(traffic.store_requests, 2);
    cr_expect_eq(traffic.store_bytes, 256);
    simt_counters_reset();
    cr_assert(simt_allocation_traffic(out, &traffic));
    cr_expect_eq(traffic.store_requests, 0, "a reset forgets");
    run_pick(out, a, b);
    free_three(a, b, out);
    cr_expect_not(simt_allocation_traffic(a, &traffic), "freed");
}

/* Launches and requests, as a program that draws them gets them. */
struct recorded {
    int launches, loads, stores;
    size_t arrays;
    struct simt_array array[4];
    uint64_t address[32];
    uint32_t mask;
    unsigned bytes;
};

static void record_launched(const struct simt_launched *launched, void *data) {
    struct recorded *seen = data;
    seen->launches++;
    seen->arrays = launched->arrays;
    for (size_t i = 0; i < launched->arrays && i < 4; i++) seen->array[i] = launched->array[i];
    cr_expect(strncmp(launched->kernel, "pick(", 5) == 0, "%s", launched->kernel);
    cr_expect_eq(launched->counters->launches, 1, "its own counters");
    cr_expect_not(launched->failed);
}

static void record_requested(const struct simt_requested *requested, void *data) {
    struct recorded *seen = data;
    seen->loads += requested->kind == SIMT_LOAD;
    seen->stores += requested->kind == SIMT_STORE;
    if (requested->kind != SIMT_STORE) return;
    memcpy(seen->address, requested->address, sizeof seen->address);
    seen->mask = requested->mask;
    seen->bytes = requested->bytes;
}

Test(counters, records) {
    float *a, *b, *out;
    struct recorded seen = {0};
    make_three(&a, &b, &out);
    simt_record(&(struct simt_recorder){record_launched, record_requested, &seen});
    run_pick(out, a, b);
    run_pick(out, a, b);
    simt_record(NULL);
    run_pick(out, a, b);
    cr_expect_eq(seen.launches, 2, "%d launches while they were recorded", seen.launches);
    cr_expect_eq(seen.loads, 2);
    cr_expect_eq(seen.stores, 2);
    cr_assert_eq(seen.arrays, 3, "%zu arrays of one launch", seen.arrays);
    for (size_t i = 0; i < 3; i++) {
        const struct simt_array *array = &seen.array[i];
        cr_expect(i == 0 || array->start > seen.array[i - 1].start, "in the order of their addresses");
        cr_expect_eq(array->traffic.load_bytes, array->start == out ? 0 : 64, "half of a warp, once");
        cr_expect_eq(array->traffic.store_bytes, array->start == out ? 128 : 0);
    }
    cr_expect_eq(seen.mask, UINT32_MAX);
    cr_expect_eq(seen.bytes, 4);
    for (int l = 0; l < 32; l++) cr_expect_eq(seen.address[l], (uint64_t)(uintptr_t)(out + l), "lane %d", l);
    free_three(a, b, out);
}

/* The same counts on any number of OS threads. */
ParameterizedTestParameters(counters, whoever_counts) {
    static int os_threads[] = {1, 2, 3, 4};
    return cr_make_param_array(int, os_threads, sizeof os_threads / sizeof *os_threads);
}

ParameterizedTest(int *os_threads, counters, whoever_counts) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.quiet = true;
    settings.os_threads = *os_threads;
    simt_settings_set(&settings);
    struct simt_counters c = run(run_transpose_32);
    EXPECT(bank_conflicts, 63488);
    EXPECT(global.store_sectors, 8192);
    EXPECT(longest_chain, 8);
    c = run(run_softmax_block_per_row);
    EXPECT(shuffles, 5120);
    EXPECT(global.load_sectors, 8192);
}
