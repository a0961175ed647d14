/* Conversions of half precision and bfloat16: all 65536 numbers outwards, samples near the ties inwards. */
#include "../include/simt/minifloat.h"
#include "minifloat_oracle.h"

TestSuite(minifloat, .init = quiet, .timeout = 120);

static void all_bits(uint16_t *bits) {
    for (int i = 0; i < ALL; i++) bits[i] = (uint16_t)i;
}

Test(minifloat, all_65536_numbers_widen_to_their_value) {
    static uint16_t bits[ALL];
    static float wide[ALL];
    all_bits(bits);
    EACH_FORMAT(which, f) {
        cr_assert_eq(run_widen(which, wide, bits, ALL), 0);
        for (int i = 0; i < ALL; i++) {
            double expected = widened(f, bits[i]);
            cr_assert(isnan(expected) ? isnan(wide[i]) : wide[i] == expected && !signbit(wide[i]) == !signbit(expected),
                      "%s %#x is %a, not %a", f->name, i, (double)wide[i], expected);
        }
    }
    expect_none();
}

Test(minifloat, floats_narrow_by_every_rounding) {
    static float in[SAMPLES];
    static uint16_t out[SAMPLES];
    const float edges[] = {0.0f,      -0.0f,   INFINITY, -INFINITY,  NAN,      65504,       65519,
                           65520,     65536,   -65520,   0x1p-24f,   0x1p-25f, 0x1.8p-25f,  -0x1p-25f,
                           0x1p-149f, 3.4e38f, -3.4e38f, 3.3961e38f, 0x1p-14f, 0x1.ffcp-15f};
    EACH_FORMAT(which, f) {
        for (int i = 0; i < SAMPLES; i++) in[i] = sample_float(f, i);
        memcpy(in, edges, sizeof edges);
        for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
            cr_assert_eq(run_narrow(which, rounding, out, in, SAMPLES), 0);
            for (int i = 0; i < SAMPLES; i++) {
                uint16_t expected = rounded(f, in[i], 0, rounding, signbit(in[i]));
                cr_assert_eq(out[i], expected, "%s of %a, rounding %d: %#x, not %#x", f->name, (double)in[i], rounding,
                             out[i], expected);
            }
        }
    }
}

/* Rounding to nearest has an implementation of its own, without double: the result must equal that from double. */
Test(minifloat, floats_narrow_to_nearest_as_doubles_do) {
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 0x3ff) {
        /* any, and ties: of bfloat16, of half, of its numbers below 2^-14 */
        const uint64_t these[] = {bits, (bits & ~0xffffu) | 0x8000, (bits & ~0x1fffu) | 0x1000, bits & ~0x7ffffu};
        for (int i = 0; i < 4; i++) {
            uint32_t one = (uint32_t)these[i];
            float x;
            memcpy(&x, &one, sizeof x);
            uint16_t half = simt_half_of_float(x), bfloat = simt_bfloat_of_float(x);
            cr_assert(half == simt_half_of_double(x, SIMT_ROUND_NEAREST), "half of %a: %#x", (double)x, half);
            cr_assert(bfloat == simt_bfloat_of_double(x, SIMT_ROUND_NEAREST), "bfloat of %a: %#x", (double)x, bfloat);
        }
    }
}

Test(minifloat, doubles_narrow_in_one_rounding) {
    static double in[SAMPLES];
    static uint16_t out[SAMPLES];
    EACH_FORMAT(which, f) {
        for (int i = 0; i < SAMPLES; i++) { /* a tie, moved by less than a float can tell */
            in[i] = sample_float(f, 3 * i);
            if (i % 3) in[i] = nextafter(in[i], i % 3 == 1 ? INFINITY : -INFINITY);
        }
        cr_assert_eq(run_narrow_double(which, out, in, SAMPLES), 0);
        for (int i = 0; i < SAMPLES; i++)
            cr_assert_eq(out[i], nearest(f, in[i]), "%s of %a: %#x, not %#x", f->name, in[i], out[i],
                         nearest(f, in[i]));
    }
}

static double as_rounding_says(double x, int rounding) {
    return rounding == ROUND_ZERO   ? trunc(x)
           : rounding == ROUND_UP   ? ceil(x)
           : rounding == ROUND_DOWN ? floor(x)
                                    : nearbyint(x);
}

/* The range of each integer type, and the result for a NaN. */
static int64_t clamped_integer(int integer, double x) {
    static const double low[INTEGERS] = {-0x1p31, 0, -0x1p15, 0, -0x1p63, 0};
    static const double high[INTEGERS] = {0x1p31, 0x1p32, 0x1p15, 0x1p16, 0x1p63, 0x1p64};
    static const int64_t largest[INTEGERS] = {INT32_MAX, UINT32_MAX, INT16_MAX, UINT16_MAX, INT64_MAX, -1};
    if (isnan(x)) return integer >= INTEGER_LL ? INT64_MIN : 0;
    if (x >= high[integer]) return largest[integer];
    if (x < low[integer]) return integer == INTEGER_LL ? INT64_MIN : (int64_t)low[integer];
    return integer == INTEGER_ULL ? (int64_t)(uint64_t)x : (int64_t)x;
}

Test(minifloat, all_numbers_become_integers_by_every_rounding) {
    static uint16_t bits[ALL];
    static int64_t out[ALL];
    all_bits(bits);
    EACH_FORMAT(which, f)
    for (int integer = 0; integer < INTEGERS; integer++)
        for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
            cr_assert_eq(run_to_integer(which, integer, rounding, out, bits, ALL), 0);
            for (int i = 0; i < ALL; i++) {
                int64_t expected = clamped_integer(integer, as_rounding_says(widened(f, bits[i]), rounding));
                cr_assert_eq(out[i], expected, "%s %#x to integer %d, rounding %d: %lld, not %lld", f->name, i, integer,
                             rounding, (long long)out[i], (long long)expected);
            }
        }
}

Test(minifloat, integers_become_numbers_in_one_rounding) {
    enum { COUNT = 4000 };
    static int64_t in[COUNT];
    static uint16_t out[COUNT];
    for (int i = 0; i < COUNT; i++) {
        uint64_t x = (uint64_t)next_random() << 32 | next_random();
        in[i] = (int64_t)(x >> (next_random() & 63));
        if (i % 4 == 0)
            in[i] = (int64_t)((UINT64_C(0x81) << (next_random() & 55)) |
                              (i % 8 == 0)); /* a tie of bfloat16, or just above */
        if (i % 3 == 0) in[i] = -in[i];
    }
    EACH_FORMAT(which, f)
    for (int integer = 0; integer < INTEGERS; integer++)
        for (int rounding = 0; rounding < ROUNDINGS; rounding++) {
            cr_assert_eq(run_from_integer(which, integer, rounding, out, in, COUNT), 0);
            for (int i = 0; i < COUNT; i++) {
                quad exact = integer == INTEGER_INT      ? (int32_t)in[i]
                             : integer == INTEGER_UINT   ? (uint32_t)in[i]
                             : integer == INTEGER_SHORT  ? (int16_t)in[i]
                             : integer == INTEGER_USHORT ? (uint16_t)in[i]
                             : integer == INTEGER_LL     ? (quad)in[i]
                                                         : (quad)(uint64_t)in[i];
                uint16_t expected = rounded(f, exact, 0, rounding, false);
                cr_assert_eq(out[i], expected, "%s of integer %d %lld, rounding %d: %#x, not %#x", f->name, integer,
                             (long long)in[i], rounding, out[i], expected);
            }
        }
}

Test(minifloat, pairs_hold_the_low_number_first) {
    cr_assert_eq(run_pairs(FORMAT_HALF), 0, "check %#x", run_pairs(FORMAT_HALF));
    cr_assert_eq(run_pairs(FORMAT_BFLOAT), 0, "check %#x", run_pairs(FORMAT_BFLOAT));
    expect_none();
}
