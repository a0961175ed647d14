/* The inputs of timed calls: what the device makes is what the parent regenerates, so a few values are fixed here. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "common/runner/generate.h"

enum { SAMPLES = 100000 };

Test(generate, values_are_fixed) {
    /* splitmix64's published outputs for seed 0 and 1: the finaliser of the counter times the golden ratio. */
    cr_assert_eq(generate_mix(0x9e3779b97f4a7c15u), 0xe220a8397b1dcdafu);
    cr_assert_eq(generate_mix(2 * 0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}

Test(generate, tensors_are_triangular_around_zero) {
    uint64_t key = generate_key(7, 3, 1);
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        float x = generate_float(key, true, i);
        cr_assert(x > -2 && x < 2);
        cr_assert_eq(x * 0x1p21f, floorf(x * 0x1p21f), "a multiple of 2^-21");
        sum += x;
        squares += (double)x * x;
    }
    cr_assert_float_eq(sum / SAMPLES, 0, 0.02);
    cr_assert_float_eq(squares / SAMPLES, 2.0 / 3, 0.02, "variance of a difference of two uniforms on [0, 2)");
}

Test(generate, vectors_are_positive) {
    uint64_t key = generate_key(7, 0, 2);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        float weight = generate_float(key, false, i), rstd = generate_float(key, false, i);
        cr_assert(weight >= 0.5f && weight < 1.5f);
        cr_assert_eq(weight, rstd);
    }
}

Test(generate, every_tensor_of_every_set_differs) {
    uint64_t keys[4 * OP_MAX_TENSORS * 2];
    int count = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        for (int set = 0; set < 4; set++) {
            for (int tensor = 0; tensor < OP_MAX_TENSORS; tensor++) { keys[count++] = generate_key(seed, set, tensor); }
        }
    }
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i; k++) { cr_assert_neq(keys[i], keys[k], "%d and %d", i, k); }
    }
}

Test(generate, poison_is_no_number) {
    uint64_t key = generate_key(7, 0, 0);
    int same = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint32_t bits = generate_poison(key, i);
        float value;
        memcpy(&value, &bits, sizeof value);
        cr_assert(isnan(value));
        same += bits == generate_poison(key, i + 1);
    }
    cr_assert(same < 3);
}
