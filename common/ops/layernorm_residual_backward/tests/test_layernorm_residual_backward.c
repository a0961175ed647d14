/* layernorm_residual_backward: a known row, finite differences, and the floor. */
#include "common/ops/op_test.h"

TestSuite(layernorm_residual_backward, .timeout = 60);

Test(layernorm_residual_backward, known_row) {
    struct computed c = fill("layernorm_residual_backward", (struct op_sizes){.N = 1, .C = 3}, 1);
    give(&c, "dout", 1, 0, 0);
    give(&c, "weight", 3, 1, 1);
    give(&c, "x", -1, 0, 1);
    give(&c, "mean", 0);
    give(&c, "rstd", 2); /* xhat = -2, 0, 2; the means of g and g * xhat are 1 and -2 */
    give(&c, "dweight", 0.5f, 0.5f, 0.5f);
    give(&c, "dbias", 1, 1, 1);
    compute(&c);
    expect(&c, "dinp", 0, -4, -2, 6);
    expect(&c, "dweight", 0, -1.5, 0.5, 0.5);
    expect(&c, "dbias", 0, 2, 1, 1);
    drop(&c);
}

Test(layernorm_residual_backward, agrees_with_finite_differences) {
    expect_gradients(&(struct gradient_rule){"layernorm_residual_backward",
                                             "layernorm_residual_forward",
                                             {{"dout", "out"}},
                                             {{"dinp", "x"}, {"dweight", "weight"}, {"dbias", "bias"}}});
}

Test(layernorm_residual_backward, floor_is_two_tensors_read_and_one_written) {
    expect_floor("layernorm_residual_backward", floor_sizes, 3 * floor_matrix + FLOOR_C, 2 * FLOOR_C + 2 * FLOOR_N);
}
