/* Vector types: CUDA's sizes and alignments, and one request where CUDA has one load or store. */
#include "findings.h"

TestSuite(vector, .init = quiet, .timeout = 60);

struct type {
    const char *name;
    int bytes, requests; /* of a copy, each way */
    int (*copy)(void), (*hints)(void);
};

#define DECLARE(T, bytes, requests) \
    int run_copy_##T(void);         \
    int run_hints_##T(void);
#define DECLARE_PLAIN(T, bytes, requests) int run_copy_##T(void);
/* clang-format off */
#define WITH_HINTS(X)                                                                                           \
    X(char2, 2, 1) X(char4, 4, 1) X(uchar4, 4, 1) X(short2, 4, 1) X(short4, 8, 1) X(ushort4, 8, 1)              \
    X(int2, 8, 1) X(int4, 16, 1) X(uint2, 8, 1) X(uint4, 16, 1) X(longlong2, 16, 1) X(ulonglong2, 16, 1)        \
    X(float2, 8, 1) X(float4, 16, 1) X(double2, 16, 1) X(__half, 2, 1) X(__half2, 4, 1)
/* clang-format on */
/* Without an alignment of their own, they are copied member by member. */
/* clang-format off */
#define WITHOUT_HINTS(X)                                                                                        \
    X(char3, 3, 3) X(short3, 6, 3) X(int3, 12, 3) X(float3, 12, 3) X(float1, 4, 1) X(__nv_bfloat16, 2, 1)       \
    X(__nv_bfloat162, 4, 1)
/* clang-format on */
WITH_HINTS(DECLARE)
WITHOUT_HINTS(DECLARE_PLAIN)

#define ROW(T, bytes, requests)       {#T, bytes, requests, run_copy_##T, run_hints_##T},
#define ROW_PLAIN(T, bytes, requests) {#T, bytes, requests, run_copy_##T, NULL},
static const struct type types[] = {WITH_HINTS(ROW) WITHOUT_HINTS(ROW_PLAIN)};

static void expect_traffic(const struct type *type, const char *how) {
    struct simt_counters counters;
    simt_counters_get(&counters);
    cr_expect_eq(counters.global.load_bytes, (uint64_t)(32 * type->bytes), "%s %s loads %llu bytes", type->name, how,
                 (unsigned long long)counters.global.load_bytes);
    cr_expect_eq(counters.global.store_bytes, (uint64_t)(32 * type->bytes), "%s %s stores %llu bytes", type->name, how,
                 (unsigned long long)counters.global.store_bytes);
    cr_expect_eq(counters.global.load_requests, (uint64_t)type->requests, "%s %s loads in %llu requests", type->name,
                 how, (unsigned long long)counters.global.load_requests);
    cr_expect_eq(counters.global.store_requests, (uint64_t)type->requests, "%s %s stores in %llu requests", type->name,
                 how, (unsigned long long)counters.global.store_requests);
}

Test(vector, a_copy_is_as_many_requests_as_on_a_gpu) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        simt_counters_reset();
        cr_assert_eq(types[i].copy(), 0, "%s", types[i].name);
        expect_traffic(&types[i], "copied");
        if (types[i].hints) {
            simt_counters_reset();
            cr_assert_eq(types[i].hints(), 0);
            expect_traffic(&types[i], "with hints");
        }
    }
    expect_none();
}

int run_make(int *values);
Test(vector, a_vector_made_in_place_is_stored_at_once) {
    struct simt_counters counters;
    int values[5];
    simt_counters_reset();
    cr_assert_eq(run_make(values), 0);
    simt_counters_get(&counters);
    cr_assert_eq(counters.global.store_requests, 5u, "%llu requests",
                 (unsigned long long)counters.global.store_requests);
    cr_assert_eq(counters.global.store_bytes, 32u * (16 + 8 + 16 + 4 + 4));
    cr_assert_arr_eq(values, ((const int[]){16, 8, 10, 10, 7}), sizeof values);
    expect_none();
}

int run_takes_vectors(float *out);
Test(vector, vectors_are_aggregates_members_and_arguments) {
    float out[2];
    cr_assert_eq(run_takes_vectors(out), 0);
    cr_assert_eq(out[0], 4 + 6 + 0 + 11 + 3 + 1);
    cr_assert_eq(out[1], 3);
    expect_none();
}

int run_by_reference(int style, float *sum);
Test(vector, a_vector_taken_by_reference_is_read_at_once) {
    enum { CONDITIONAL = 4, STYLES = 8 };
    for (int style = 0; style < STYLES; style++) {
        struct simt_counters counters;
        float sum;
        simt_counters_reset();
        cr_assert_eq(run_by_reference(style, &sum), 0, "style %d", style);
        simt_counters_get(&counters);
        cr_expect_eq(sum, 31 + 1 + 2 + 3, "style %d", style);
        if (style != CONDITIONAL) {
            cr_expect_eq(counters.global.load_requests, 1u, "style %d: %lu requests", style,
                         (unsigned long)counters.global.load_requests);
        }
        cr_expect_eq(counters.global.load_bytes, 32u * 16, "style %d", style);
    }
    expect_none(); /* a vector that is not read may lie anywhere */
}
