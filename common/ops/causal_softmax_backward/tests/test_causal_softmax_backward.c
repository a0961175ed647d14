/* causal_softmax_backward: a known matrix, finite differences, the floor, and lengths that may be missing. */
#include "common/ops/op_test.h"

TestSuite(causal_softmax_backward, .timeout = 60);

Test(causal_softmax_backward, known_matrix) {
    struct computed c = fill("causal_softmax_backward", op_causal_sizes(TYPE_F32, 1, 1, 2, 0.5f), 1);
    give(&c, "out", 1, NAN, 0.25f, 0.75f); /* what is masked has no influence */
    give(&c, "dout", 5, NAN, 1, 3);        /* in row 1, s = 0.25 + 2.25 */
    compute(&c);
    expect(&c, "dx", 0, 0, 0, -0.1875, 0.1875);
    drop(&c);
}

Test(causal_softmax_backward, agrees_with_finite_differences) {
    expect_gradients(
        &(struct gradient_rule){"causal_softmax_backward", "causal_softmax_forward", {{"dout", "out"}}, {{"dx", "x"}}});
}

Test(causal_softmax_backward, floor_reads_half_of_each_matrix) {
    expect_floor("causal_softmax_backward", floor_causal(0), 2 * floor_triangle + floor_matrix, 0);
    expect_floor("causal_softmax_backward", floor_causal(1), 3 * floor_triangle, 0);
}

Test(causal_softmax_backward, lengths_are_given_or_not) {
    const struct op *op = op_find("causal_softmax_backward");
    struct op_sizes sizes = op_causal_sizes(TYPE_BF16, 3, 2, 5, 1.0f);
    int lengths = op_tensor_find(op, "lengths");
    cr_assert_eq(lengths, 3);
    cr_assert(!op_is_given(op, lengths, &sizes));
    cr_assert_eq(op_elements(op, lengths, &sizes), 0u);
    sizes.lengths = 1;
    cr_assert(op_is_given(op, lengths, &sizes));
    cr_assert_eq(op_elements(op, lengths, &sizes), 3u);
    cr_assert_eq(op_element_bytes(op, lengths, TYPE_BF16), 4u);
}
