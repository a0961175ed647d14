/* elements: rounding against every value of the 16-bit types, and there and back again. */
#include <criterion/criterion.h>
#include <math.h>

#include "common/ops/elements.h"

TestSuite(elements, .timeout = 60);

static const enum op_type narrow[] = {TYPE_F16, TYPE_BF16};

static float value_of(enum op_type type, uint16_t bits) {
    float value;
    elements_unpack(ELEMENT_T, type, &bits, 1, &value);
    return value;
}

Test(elements, known_values) {
    cr_assert_eq(value_of(TYPE_F16, 0x3c00), 1.0f);
    cr_assert_eq(value_of(TYPE_F16, 0xc500), -5.0f);
    cr_assert_eq(value_of(TYPE_F16, 0x7bff), 65504.0f);
    cr_assert_eq(value_of(TYPE_F16, 0x0001), 0x1p-24f);
    cr_assert_eq(value_of(TYPE_F16, 0x0400), 0x1p-14f);
    cr_assert_eq(value_of(TYPE_F16, 0xfc00), -INFINITY);
    cr_assert_eq(value_of(TYPE_BF16, 0x3f80), 1.0f);
    cr_assert_eq(value_of(TYPE_BF16, 0x0001), 0x1p-133f);
    cr_assert_eq(value_of(TYPE_BF16, 0x7f80), INFINITY);
    cr_assert(isnan(value_of(TYPE_F16, 0x7e01)) && isnan(value_of(TYPE_BF16, 0x7fc0)));
}

Test(elements, every_value_survives_the_way_there_and_back) {
    for (int k = 0; k < 2; k++) {
        for (uint32_t bits = 0; bits < 65536; bits++) {
            float value = value_of(narrow[k], (uint16_t)bits);
            uint16_t again;
            elements_pack(ELEMENT_T, narrow[k], &value, 1, &again);
            if (isnan(value)) {
                cr_assert(isnan(value_of(narrow[k], again)));
            } else {
                cr_assert_eq(again, bits, "%s: %04x became %04x", op_type_name(narrow[k]), bits, again);
                cr_assert_eq(element_round(narrow[k], value), value);
            }
        }
    }
}

/* Between two neighbours the nearer one, and from the middle the even one. */
Test(elements, rounds_to_nearest_even_once) {
    for (int k = 0; k < 2; k++) {
        uint32_t infinity = narrow[k] == TYPE_F16 ? 0x7c00 : 0x7f80;
        for (uint32_t bits = 0; bits + 1 < infinity; bits++) {
            double low = value_of(narrow[k], (uint16_t)bits), high = value_of(narrow[k], (uint16_t)(bits + 1));
            double middle = (low + high) / 2, even = bits % 2 ? high : low;
            cr_assert_eq(element_round(narrow[k], middle), even, "%s: after %04x", op_type_name(narrow[k]), bits);
            cr_assert_eq(element_round(narrow[k], -middle), -even);
            cr_assert_eq(element_round(narrow[k], nextafter(middle, high)), high);
            cr_assert_eq(element_round(narrow[k], nextafter(middle, low)), low);
            cr_assert_eq(element_ulp(narrow[k], low), high - low);
        }
    }
}

Test(elements, what_is_too_large_is_infinite) {
    cr_assert_eq(element_round(TYPE_F16, 65519.0), 65504.0);
    cr_assert_eq(element_round(TYPE_F16, 65520.0), INFINITY);
    cr_assert_eq(element_round(TYPE_BF16, -3.4e38), -INFINITY);
    cr_assert_eq(element_round(TYPE_F32, 3.4e38), (double)3.4e38f);
    cr_assert_eq(element_round(TYPE_F32, 1e39), INFINITY);
    cr_assert(isnan(element_round(TYPE_BF16, NAN)));
    cr_assert_eq(element_ulp(TYPE_F32, INFINITY), 0.0);
}

Test(elements, float_rounds_as_the_language_does) {
    double value = 1.0;
    for (int i = 0; i < 100000; i++) {
        value *= i % 2 ? -1.000123456789 : 0.998;
        cr_assert_eq(element_round(TYPE_F32, value), (double)(float)value);
    }
    cr_assert_eq(element_round(TYPE_F32, 1.5e-45), (double)1.5e-45f);
}

Test(elements, ints_and_floats_keep_their_bytes) {
    float values[] = {0.0f, 5.0f, -3.0f, 1024.0f}, back[4];
    int32_t ints[4];
    elements_pack(ELEMENT_INT, TYPE_BF16, values, 4, ints);
    for (int i = 0; i < 4; i++) { cr_assert_eq(ints[i], (int32_t)values[i]); }
    elements_unpack(ELEMENT_INT, TYPE_BF16, ints, 4, back);
    for (int i = 0; i < 4; i++) { cr_assert_eq(back[i], values[i]); }
    elements_pack(ELEMENT_FLOAT, TYPE_F16, (float[]){1.2345678f}, 1, back);
    cr_assert_eq(back[0], 1.2345678f);
}
