/* residual_forward: exact sums, and the floor. */
#include "common/ops/op_test.h"

TestSuite(residual_forward, .timeout = 60);

Test(residual_forward, sums_are_exact) {
    const float x[] = {1.0f, 16777216.0f, -0.5f, 1e-40f}, y[] = {0.25f, 1.0f, 0.5f, 1e-40f};
    struct computed c = fill("residual_forward", (struct op_sizes){.N = 1, .C = 4}, 1);
    give_values(&c, "x", x, 4);
    give_values(&c, "residual", y, 4);
    compute(&c);
    for (int i = 0; i < 4; i++) {
        double out = output(&c, "out")[i];
        cr_assert_eq(condition(&c, "out")[i], 0.0);
        cr_assert(reference_accepts(TYPE_F32, out, 0.0, x[i] + y[i]));
        cr_assert(!reference_accepts(TYPE_F32, out, 0.0, nextafterf(x[i] + y[i], INFINITY)));
    }
    drop(&c);
}

Test(residual_forward, floor_is_two_tensors_read_and_one_written) {
    expect_floor("residual_forward", floor_sizes, 3 * floor_matrix, 0);
}
