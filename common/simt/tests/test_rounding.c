/* Rounding modes against the exact result in 113 bits, rounded by comparing with its neighbours. */
#include "test_rounding.h"

#include <math.h>

#include "findings.h"

TestSuite(rounding, .init = quiet, .timeout = 60);

__extension__ typedef _Float128 quad;

enum { COUNT = 3000 };

static uint32_t state = 7;
static uint32_t next_random(void) {
    state = state * 1664525u + 1013904223u;
    return state ^ state >> 15;
}

/* Of a size that keeps sums and fused products exact in 113 bits. */
static double sample(int bits) {
    double fraction = 1 + ldexp((double)(next_random() >> 2), -30) + ldexp((double)(next_random() >> 12), -50);
    double cut = ldexp(fraction, bits - 1);
    double x = ldexp(floor(cut), (int)(next_random() % 24) - 12 - bits);
    return next_random() & 1 ? -x : x;
}

static float to_float(quad exact, int rounding) {
    float x = (float)exact;
    if (exact != exact || x == exact) return x;
    if (rounding == ROUND_UP && x < exact) return nextafterf(x, INFINITY);
    if (rounding == ROUND_DOWN && x > exact) return nextafterf(x, -INFINITY);
    if (rounding == ROUND_ZERO && (exact < 0 ? x < exact : x > exact)) return nextafterf(x, 0);
    return x;
}

static double to_double(quad exact, int rounding) {
    double x = (double)exact;
    if (exact != exact || x == exact) return x;
    if (rounding == ROUND_UP && x < exact) return nextafter(x, INFINITY);
    if (rounding == ROUND_DOWN && x > exact) return nextafter(x, -INFINITY);
    if (rounding == ROUND_ZERO && (exact < 0 ? x < exact : x > exact)) return nextafter(x, 0);
    return x;
}

/* Newton's step from the root in double: 100 good bits. */
static quad root(quad x) {
    quad r = sqrt((double)x);
    return x > 0 ? (r + x / r) / 2 : r;
}

static quad exactly(int operation, quad a, quad b, quad c) {
    switch (operation) {
        case ROUNDED_ADD: return a + b;
        case ROUNDED_SUB: return a - b;
        case ROUNDED_MUL: return a * b;
        case ROUNDED_DIV: return a / b;
        case ROUNDED_FMA: return a * b + c;
        case ROUNDED_SQRT: return root(a);
        default: return 1 / a;
    }
}

Test(rounding, float_operations) {
    static float in[3 * COUNT], out[COUNT];
    for (int operation = 0; operation < ROUNDED_OPERATIONS; operation++)
        for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
            for (int i = 0; i < 3 * COUNT; i++) in[i] = (float)sample(24);
            if (operation == ROUNDED_SQRT)
                for (int i = 0; i < COUNT; i++) in[i] = fabsf(in[i]);
            cr_assert_eq(run_float_operation(operation, rounding, out, in, COUNT), 0);
            for (int i = 0; i < COUNT; i++) {
                float expected = to_float(exactly(operation, in[i], in[COUNT + i], in[2 * COUNT + i]), rounding);
                cr_assert_eq(out[i], expected, "operation %d, rounding %d of %a, %a, %a: %a, not %a", operation,
                             rounding, (double)in[i], (double)in[COUNT + i], (double)in[2 * COUNT + i], (double)out[i],
                             (double)expected);
            }
        }
    expect_none();
}

Test(rounding, double_operations) {
    static double in[3 * COUNT], out[COUNT];
    for (int operation = 0; operation < ROUNDED_OPERATIONS; operation++)
        for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
            for (int i = 0; i < 3 * COUNT; i++) in[i] = sample(operation == ROUNDED_FMA ? 40 : 50);
            if (operation == ROUNDED_SQRT)
                for (int i = 0; i < COUNT; i++) in[i] = fabs(in[i]);
            cr_assert_eq(run_double_operation(operation, rounding, out, in, COUNT), 0);
            for (int i = 0; i < COUNT; i++) {
                double expected = to_double(exactly(operation, in[i], in[COUNT + i], in[2 * COUNT + i]), rounding);
                cr_assert_eq(out[i], expected, "operation %d, rounding %d of %a, %a, %a: %a, not %a", operation,
                             rounding, in[i], in[COUNT + i], in[2 * COUNT + i], out[i], expected);
            }
        }
    expect_none();
}

static double to_whole(double x, int rounding) {
    return rounding == ROUND_ZERO   ? trunc(x)
           : rounding == ROUND_UP   ? ceil(x)
           : rounding == ROUND_DOWN ? floor(x)
                                    : nearbyint(x);
}

/* The PTX manual: clamped; NaN gives 0 from .f32 to 32 bits, else the top bit. */
static int64_t clamped(double x, int integer, bool from_float) {
    static const double low[INTEGERS] = {-0x1p31, 0, -0x1p63, 0}, high[INTEGERS] = {0x1p31, 0x1p32, 0x1p63, 0x1p64};
    static const int64_t least[INTEGERS] = {INT32_MIN, 0, INT64_MIN, 0};
    static const int64_t most[INTEGERS] = {INT32_MAX, UINT32_MAX, INT64_MAX, -1};
    static const int64_t top[INTEGERS] = {INT32_MIN, INT64_C(1) << 31, INT64_MIN, INT64_MIN};
    if (isnan(x)) return from_float && integer <= INTEGER_UINT ? 0 : top[integer];
    if (x >= high[integer]) return most[integer];
    if (x < low[integer]) return least[integer];
    return integer == INTEGER_ULL ? (int64_t)(uint64_t)x : (int64_t)x;
}

static const double hard[] = {0.5,          -0.5,         1.5,           2.5,          -2.5,         -0.0,
                              2147483647.5, 2147483648.0, -2147483648.5, 4294967295.5, 4294967296.0, 1e10,
                              -1e10,        9.3e18,       -9.3e18,       1.9e19,       INFINITY,     -INFINITY,
                              NAN,          -1.0,         -0.99,         1e-300,       8388609.5};

Test(rounding, numbers_become_integers) {
    static float floats[COUNT];
    static double doubles[COUNT];
    static int64_t out[COUNT];
    for (int i = 0; i < COUNT; i++) {
        doubles[i] = sample(40) * ldexp(1, (int)(next_random() % 60));
        if (i < (int)(sizeof hard / sizeof *hard)) doubles[i] = hard[i];
        floats[i] = (float)doubles[i];
    }
    for (int integer = 0; integer < INTEGERS; integer++)
        for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
            cr_assert_eq(run_float_to_integer(integer, rounding, out, floats, COUNT), 0);
            for (int i = 0; i < COUNT; i++) {
                int64_t expected = clamped(to_whole(floats[i], rounding), integer, true);
                cr_assert_eq(out[i], expected, "float %a to integer %d, rounding %d: %lld, not %lld", (double)floats[i],
                             integer, rounding, (long long)out[i], (long long)expected);
            }
            cr_assert_eq(run_double_to_integer(integer, rounding, out, doubles, COUNT), 0);
            for (int i = 0; i < COUNT; i++) {
                int64_t expected = clamped(to_whole(doubles[i], rounding), integer, false);
                cr_assert_eq(out[i], expected, "double %a to integer %d, rounding %d: %lld, not %lld", doubles[i],
                             integer, rounding, (long long)out[i], (long long)expected);
            }
        }
    expect_none();
}

static quad integer_value(int64_t x, int integer) {
    return integer == INTEGER_INT    ? (quad)(int32_t)x
           : integer == INTEGER_UINT ? (quad)(uint32_t)x
           : integer == INTEGER_LL   ? (quad)x
                                     : (quad)(uint64_t)x;
}

Test(rounding, integers_become_numbers) {
    static int64_t in[COUNT];
    static float floats[COUNT];
    static double doubles[COUNT];
    for (int i = 0; i < COUNT; i++) {
        uint64_t x = ((uint64_t)next_random() << 32 | next_random()) >> (next_random() & 63);
        if (i % 4 == 0)
            x = (UINT64_C(0x1000001) << (next_random() % 40)) + (uint64_t)(i % 3) - 1; /* about a tie of floats */
        in[i] = (int64_t)(i % 2 ? x : 0 - x);
    }
    for (int integer = 0; integer < INTEGERS; integer++)
        for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
            cr_assert_eq(run_integer_to_float(integer, rounding, floats, in, COUNT), 0);
            cr_assert_eq(run_integer_to_double(integer, rounding, doubles, in, COUNT), 0);
            for (int i = 0; i < COUNT; i++) {
                quad exact = integer_value(in[i], integer);
                cr_assert_eq(floats[i], to_float(exact, rounding), "integer %d %lld, rounding %d: %a", integer,
                             (long long)in[i], rounding, (double)floats[i]);
                cr_assert_eq(doubles[i], to_double(exact, rounding), "integer %d %lld, rounding %d: %a", integer,
                             (long long)in[i], rounding, doubles[i]);
            }
        }
    expect_none();
}

Test(rounding, doubles_become_floats) {
    static double in[COUNT];
    static float out[COUNT];
    for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
        for (int i = 0; i < COUNT; i++) in[i] = sample(50);
        cr_assert_eq(run_double_to_float(rounding, out, in, COUNT), 0);
        for (int i = 0; i < COUNT; i++) cr_assert_eq(out[i], to_float(in[i], rounding));
    }
    expect_none();
}

Test(rounding, bits_as_other_types) {
    cr_assert_eq(run_casts(), 0, "check %d", run_casts());
}
