/* softmax_backward: a known row, finite differences, and the floor. */
#include "common/ops/op_test.h"

TestSuite(softmax_backward, .timeout = 60);

Test(softmax_backward, known_row) {
    struct computed c = fill("softmax_backward", (struct op_sizes){.N = 1, .C = 2}, 1);
    give(&c, "out", 0.25f, 0.75f);
    give(&c, "dout", 1, 3); /* s = 0.25 + 2.25 */
    compute(&c);
    expect(&c, "dx", 0, -0.375, 0.375);
    drop(&c);
}

Test(softmax_backward, agrees_with_finite_differences) {
    expect_gradients(&(struct gradient_rule){"softmax_backward", "softmax_forward", {{"dout", "out"}}, {{"dx", "x"}}});
}

Test(softmax_backward, floor_is_two_tensors_read_and_one_written) {
    expect_floor("softmax_backward", floor_sizes, 3 * floor_matrix, 0);
}
