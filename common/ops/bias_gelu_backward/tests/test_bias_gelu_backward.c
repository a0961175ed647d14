/* bias_gelu_backward: known slopes, finite differences, and the floor. */
#include "common/ops/op_test.h"

TestSuite(bias_gelu_backward, .timeout = 60);

Test(bias_gelu_backward, known_slopes) {
    struct computed c = fill("bias_gelu_backward", (struct op_sizes){.N = 2, .C = 2}, 1);
    give(&c, "x", -1, 20, 29, -40);
    give(&c, "bias", 1, 10); /* u = 0, 30, 30, -30, where the slope is 1/2, 1, 1, 0 */
    give(&c, "dout", 4, 3, 5, 7);
    give(&c, "dbias", 1, 1);
    compute(&c);
    expect(&c, "dx", 0, 2, 3, 5, 0);
    expect(&c, "dbias", 0, 8, 4);
    drop(&c);
}

Test(bias_gelu_backward, agrees_with_finite_differences) {
    expect_gradients(&(struct gradient_rule){
        "bias_gelu_backward", "bias_gelu_forward", {{"dout", "out"}}, {{"dx", "x"}, {"dbias", "bias"}}});
}

Test(bias_gelu_backward, floor_is_two_tensors_read_and_one_written) {
    expect_floor("bias_gelu_backward", floor_sizes, 3 * floor_matrix + FLOOR_C, FLOOR_C);
}
