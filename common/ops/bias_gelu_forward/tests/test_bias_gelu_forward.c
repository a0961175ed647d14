/* bias_gelu_forward: known values, GELU as a logistic function, and the floor. */
#include "common/ops/op_test.h"

TestSuite(bias_gelu_forward, .timeout = 60);

Test(bias_gelu_forward, known_values) {
    struct computed c = fill("bias_gelu_forward", (struct op_sizes){.N = 1, .C = 4}, 1);
    give(&c, "x", 0, 0.5f, -2, 30);
    give(&c, "bias", 0, 0.5f, 1, 0);
    compute(&c);
    const double *out = output(&c, "out");
    cr_assert_eq(out[0], 0.0);
    cr_assert(fabs(out[1] - 0.841191990) < 1e-8, "%.9f", out[1]);
    cr_assert(fabs(out[2] + 0.158808010) < 1e-8, "%.9f", out[2]);
    cr_assert_eq(out[3], 30.0);
    drop(&c);
}

/* 0.5 (1 + tanh(a)) = 1 / (1 + exp(-2 a)) */
Test(bias_gelu_forward, is_a_logistic_function) {
    struct computed c = fill("bias_gelu_forward", (struct op_sizes){.N = 3, .C = 5}, 2);
    compute(&c);
    for (int i = 0; i < 15; i++) {
        double u = (double)input(&c, "x")[i] + input(&c, "bias")[i % 5];
        double expected = u / (1.0 + exp(-2.0 * sqrt(2.0 / acos(-1.0)) * (u + 0.044715 * pow(u, 3))));
        cr_assert(fabs(output(&c, "out")[i] - expected) < 1e-14, "element %d", i);
    }
    drop(&c);
}

Test(bias_gelu_forward, floor_is_one_tensor_read_and_one_written) {
    expect_floor("bias_gelu_forward", floor_sizes, 2 * floor_matrix + FLOOR_C, 0);
}
