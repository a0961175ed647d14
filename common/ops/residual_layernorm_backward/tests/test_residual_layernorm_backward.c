/* residual_layernorm_backward: a known row, finite differences, and the floor. */
#include "common/ops/op_test.h"

TestSuite(residual_layernorm_backward, .timeout = 60);

Test(residual_layernorm_backward, known_row) {
    struct computed c = fill("residual_layernorm_backward", (struct op_sizes){.N = 1, .C = 3}, 1);
    give(&c, "dout", 1, 0, 0);
    give(&c, "dsum", 1, 2, 3);
    give(&c, "weight", 3, 1, 1);
    give(&c, "sum", -1, 0, 1);
    give(&c, "mean", 0);
    give(&c, "rstd", 2); /* xhat = -2, 0, 2; the means of g and g * xhat are 1 and -2 */
    give(&c, "dweight", 0.5f, 0.5f, 0.5f);
    give(&c, "dbias", 1, 1, 1);
    compute(&c);
    expect(&c, "dinp", 0, -3, 0, 9);
    expect(&c, "dweight", 0, -1.5, 0.5, 0.5);
    expect(&c, "dbias", 0, 2, 1, 1);
    drop(&c);
}

Test(residual_layernorm_backward, agrees_with_finite_differences) {
    expect_gradients(
        &(struct gradient_rule){"residual_layernorm_backward",
                                "residual_layernorm_forward",
                                {{"dout", "out"}, {"dsum", "sum"}},
                                {{"dinp", "x"}, {"dinp", "residual"}, {"dweight", "weight"}, {"dbias", "bias"}}});
}

Test(residual_layernorm_backward, floor_is_three_tensors_read_and_one_written) {
    expect_floor("residual_layernorm_backward", floor_sizes, 4 * floor_matrix + FLOOR_C, 2 * FLOOR_C + 2 * FLOOR_N);
}
