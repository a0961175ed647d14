/* bias_add: exact sums with one value per column, and the floor. */
#include "common/ops/op_test.h"

TestSuite(bias_add, .timeout = 60);

Test(bias_add, sums_are_exact) {
    const float x[] = {1.0f, 16777216.0f, -0.5f, 1e-40f}, y[] = {0.25f, 1.0f, 0.5f, 1e-40f};
    struct computed c = fill("bias_add", (struct op_sizes){.N = 1, .C = 4}, 1);
    give_values(&c, "x", x, 4);
    give_values(&c, "bias", y, 4);
    compute(&c);
    for (int i = 0; i < 4; i++) {
        double out = output(&c, "out")[i];
        cr_assert_eq(condition(&c, "out")[i], 0.0);
        cr_assert(reference_accepts(TYPE_F32, out, 0.0, x[i] + y[i]));
        cr_assert(!reference_accepts(TYPE_F32, out, 0.0, nextafterf(x[i] + y[i], INFINITY)));
    }
    drop(&c);
}

Test(bias_add, every_row_gets_the_same_vector) {
    struct computed c = fill("bias_add", (struct op_sizes){.N = 2, .C = 2}, 1);
    give(&c, "x", 1, 2, 3, 4);
    give(&c, "bias", 10, 20);
    compute(&c);
    expect(&c, "out", 0, 11, 22, 13, 24);
    drop(&c);
}

Test(bias_add, floor_is_one_tensor_read_and_one_written) {
    expect_floor("bias_add", floor_sizes, 2 * floor_matrix + FLOOR_C, 0);
}
