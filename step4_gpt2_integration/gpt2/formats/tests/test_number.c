/* number: every 16-bit pattern, and rounding compared with a search for the nearest one. */
#include "gpt2/formats/number.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static float f32(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

Test(number, every_f16_comes_back) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float value = gpt2_float_of_f16((uint16_t)bits);
        uint16_t back = gpt2_f16_of_float(value);
        if (value != value) {
            cr_assert((bits & 0x7fff) > 0x7c00 && back == (bits | 0x200), "%04x", bits); /* NaN: made quiet */
        } else {
            cr_assert_eq(back, bits, "%04x", bits);
        }
    }
}

Test(number, every_bf16_comes_back) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float value = gpt2_float_of_bf16((uint16_t)bits);
        uint16_t back = gpt2_bf16_of_float(value);
        if (value != value) {
            cr_assert((bits & 0x7fff) > 0x7f80 && back == (bits | 0x40), "%04x", bits);
        } else {
            cr_assert_eq(back, bits, "%04x", bits);
        }
    }
}

/* The value of an f16 from sign, exponent and fraction. */
Test(number, f16_values) {
    cr_assert_eq(gpt2_float_of_f16(0x3c00), 1.0f);
    cr_assert_eq(gpt2_float_of_f16(0xc000), -2.0f);
    cr_assert_eq(gpt2_float_of_f16(0x7bff), 65504.0f);
    cr_assert_eq(gpt2_float_of_f16(0x0001), 0x1p-24f);
    cr_assert_eq(gpt2_float_of_f16(0x03ff), 1023 * 0x1p-24f);
    cr_assert_eq(gpt2_float_of_f16(0x0400), 0x1p-14f);
    cr_assert(isinf(gpt2_float_of_f16(0x7c00)) && signbit(gpt2_float_of_f16(0x8000)));
}

/* Between two neighbours: down below the midpoint, up above it, to even at the midpoint. */
static void check_between(float (*to)(uint16_t), uint16_t (*from)(float), uint16_t lower) {
    double a = to(lower), b = to((uint16_t)(lower + 1));
    float middle = (float)((a + b) / 2); /* exact: a float has many more bits */
    uint16_t even = lower & 1 ? (uint16_t)(lower + 1) : lower;
    cr_assert_eq(from(middle), even, "%04x", lower);
    cr_assert_eq(from(nextafterf(middle, 0)), lower, "%04x", lower);
    cr_assert_eq(from(nextafterf(middle, INFINITY)), lower + 1, "%04x", lower);
    cr_assert_eq(from(-middle), even | 0x8000, "%04x", lower);
}

Test(number, rounding_is_to_nearest_even) {
    for (uint16_t bits = 0; bits < 0x7bff; bits++) { check_between(gpt2_float_of_f16, gpt2_f16_of_float, bits); }
    for (uint16_t bits = 0; bits < 0x7f7f; bits++) { check_between(gpt2_float_of_bf16, gpt2_bf16_of_float, bits); }
}

Test(number, what_is_too_large_becomes_infinite) {
    cr_assert_eq(gpt2_f16_of_float(65519.996f), 0x7bff);
    cr_assert_eq(gpt2_f16_of_float(65520.0f), 0x7c00);
    cr_assert_eq(gpt2_f16_of_float(-1e30f), 0xfc00);
    cr_assert_eq(gpt2_f16_of_float(INFINITY), 0x7c00);
    cr_assert_eq(gpt2_bf16_of_float(f32(0x7f7fffff)), 0x7f80);
    cr_assert_eq(gpt2_bf16_of_float(f32(0x7f7f7fff)), 0x7f7f);
}

Test(number, conversion_counts_what_it_loses) {
    const float values[] = {1.0f, 1e6f, -1e6f, INFINITY, NAN, 65504.0f};
    uint16_t halves[6];
    cr_assert_eq(gpt2_convert(halves, GPT2_F16, values, GPT2_F32, 6), 2);
    cr_assert_eq(gpt2_convert(halves, GPT2_BF16, values, GPT2_F32, 6), 0);
    cr_assert_eq(gpt2_convert(halves, GPT2_F32, values, GPT2_F32, 3), 0);
}

/* Any pair of types, a count that the chunks do not divide, unaligned pointers. */
Test(number, rows_of_any_type) {
    enum { COUNT = 2500 };
    static uint8_t in[COUNT * 4 + 1], out[COUNT * 4 + 1];
    for (int from = GPT2_F32; from <= GPT2_BF16; from++) {
        for (int to = GPT2_F32; to <= GPT2_BF16; to++) {
            float *exact = malloc(COUNT * sizeof *exact), *back = malloc(COUNT * sizeof *back);
            for (int i = 0; i < COUNT; i++) { exact[i] = (float)(i % 255 - 127) / 16.0f; }
            gpt2_convert(in + 1, (enum gpt2_type)from, exact, GPT2_F32, COUNT);
            cr_assert_eq(gpt2_convert(out + 1, (enum gpt2_type)to, in + 1, (enum gpt2_type)from, COUNT), 0);
            gpt2_convert(back, GPT2_F32, out + 1, (enum gpt2_type)to, COUNT);
            cr_assert_eq(memcmp(back, exact, COUNT * sizeof *exact), 0, "%d to %d", from, to);
            free(exact);
            free(back);
        }
    }
}
