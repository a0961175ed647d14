/* Atomics: the value in memory afterwards, the result, and no lost update under contention. */
#include "findings.h"

#include <math.h>

TestSuite(atomics, .init = quiet, .timeout = 60);

struct outcome {
    uint64_t memory, old;
};

int run_integers(struct outcome *results, int count);
int run_floats(struct outcome *results, int count);
int run_contention(int blocks, int threads, int *sum, float *count, unsigned *ticket, int *last);

static void expect(const struct outcome *got, const struct outcome *expected, int count) {
    for (int i = 0; i < count; i++) {
        cr_expect_eq(got[i].memory, expected[i].memory, "case %d leaves %#llx, not %#llx", i,
                     (unsigned long long)got[i].memory, (unsigned long long)expected[i].memory);
        cr_expect_eq(got[i].old, expected[i].old, "case %d returns %#llx, not %#llx", i, (unsigned long long)got[i].old,
                     (unsigned long long)expected[i].old);
    }
}

static uint64_t of_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

Test(atomics, integers) {
    static const struct outcome expected[] = {
        {0xfffffffe, 5}, /* atomicAdd */
        {1, 0xffffffff},
        {(UINT64_C(1) << 40) + 5, UINT64_C(1) << 40},
        {0xfffffffe, 5}, /* atomicSub */
        {0xfffffffe, 5},
        {0xffffffff, 5}, /* atomicExch */
        {UINT64_C(1) << 50, 5},
        {0xfffffffb, 0xfffffffb}, /* atomicMin, atomicMax of 32 bits: int, unsigned */
        {3, 0xfffffff0},
        {3, 0xfffffffb},
        {0xfffffff0, 0xfffffff0},
        {(uint64_t)-5, (uint64_t)-5}, /* of 64 bits */
        {3, (uint64_t)-5},
        {3, UINT64_MAX},
        {UINT64_C(1) << 60, 1},
        {0x30, 0xf0}, /* and, or, xor */
        {0xff, 0xf0},
        {0xff00ff0000ff, 0xff00ff00ff00},
        {7, 6}, /* atomicInc: 0 follows the limit */
        {0, 7},
        {0, 9},
        {2, 3}, /* atomicDec: 0 and all above the limit become the limit */
        {7, 0},
        {7, 9},
        {9, 4}, /* atomicCAS */
        {4, 4},
        {UINT64_C(1) << 63, 4},
        {0xabcd, 0x1234},
        {0x1234, 0x1234},
        {3, 1}, /* _block and _system */
        {3, 1},
        {2, 1},
        {3, 1},
        {4, 3},
    };
    enum { COUNT = sizeof expected / sizeof *expected };
    struct outcome got[COUNT];
    cr_assert_eq(run_integers(got, COUNT), 0);
    expect(got, expected, COUNT);
    expect_none();
}

Test(atomics, floating_point) {
    const struct outcome expected[] = {
        {of_float(3.75f), of_float(1.5f)},
        {of_double(1.5 + 0x1p-40), of_double(1.5)},
        {of_float(-2.0f), of_float(1.5f)},
        {of_float(16777216.0f), of_float(16777216.0f)}, /* a tie goes to even */
        {of_double(2.0), of_double(1.0)},
        {0x3f00, 0x3e00},         /* half: 1.5 + 0.25 */
        {0x6800, 0x6800},         /* 2048 + 1 is a tie */
        {0xc0003e00, 0x40003c00}, /* half2: (1, 2) + (0.5, -4) */
        {0x3fe0, 0x3fc0},         /* bfloat16 */
        {0xc0003fc0, 0x40003f80},
        {of_float(22.0f) << 32 | of_float(11.0f), of_float(2.0f) << 32 | of_float(1.0f)},
    };
    enum { COUNT = sizeof expected / sizeof *expected };
    struct outcome got[COUNT];
    cr_assert_eq(run_floats(got, COUNT), 0);
    expect(got, expected, COUNT);
    expect_none();
}

Test(atomics, no_update_is_lost) {
    int sum, last;
    float count;
    unsigned ticket;
    cr_assert_eq(run_contention(40, 96, &sum, &count, &ticket, &last), 0);
    cr_assert_eq(sum, 40 * (95 * 96 / 2));
    cr_assert_eq(count, 40.0f * 96.0f);
    cr_assert_eq(ticket, 0u, "the last block's ticket wraps to 0");
    cr_assert_eq(last, sum, "the last block sees all sums");
    expect_none();
}
