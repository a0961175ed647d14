/* causal_softmax_forward: each row is a softmax of its keys; some rows alone; the floor, which leaves out half a matrix. */
#include "common/ops/op_test.h"

TestSuite(causal_softmax_forward, .timeout = 60);

Test(causal_softmax_forward, a_row_is_a_softmax_of_its_keys) {
    struct op_sizes sizes = op_causal_sizes(TYPE_F32, 2, 1, 3, 2.0f);
    sizes.lengths = 1;
    struct computed c = fill("causal_softmax_forward", sizes, 1);
    float row[] = {0.0f, 0.5f * logf(3.0f), 7.0f};
    for (int i = 0; i < 18; i++) { tensor(&c, "x")[i] = row[i % 3], tensor(&c, "out")[i] = 100.0f + (float)i; }
    give(&c, "lengths", 2, 0);
    compute(&c);
    static const double expected[] = {1, 0, 0, 0.25, 0.75, 0, 0.25, 0.75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const double *out = output(&c, "out");
    for (int i = 0; i < 18; i++) { cr_assert(fabs(out[i] - expected[i]) < 1e-7, "element %d", i); }
    c.sizes.upper = 1;
    compute(&c);
    for (int i = 0; i < 18; i++) {
        bool above = i % 3 > i / 3 % 3;
        double kept = above ? 100.0 + i : expected[i];
        cr_assert(fabs(out[i] - kept) < 1e-7, "kept: element %d", i);
        if (above) { cr_assert_eq(condition(&c, "out")[i], 0.0); }
    }
    drop(&c);
}

Test(causal_softmax_forward, some_rows_are_those_of_the_whole) {
    struct op_sizes sizes = op_causal_sizes(TYPE_BF16, 2, 2, 9, 0.3f), few = sizes;
    few.N = 3;
    struct computed whole = fill("causal_softmax_forward", sizes, 3), part = fill("causal_softmax_forward", sizes, 3);
    int rows[] = {35, 0, 13};
    compute(&whole);
    part.sizes = few;
    for (int i = 0; i < 27; i++) { tensor(&part, "x")[i] = input(&whole, "x")[9 * rows[i / 9] + i % 9]; }
    compute_rows(&part, rows);
    for (int i = 0; i < 27; i++) {
        cr_assert_eq(output(&part, "out")[i], output(&whole, "out")[9 * rows[i / 9] + i % 9], "element %d", i);
    }
    drop(&whole);
    drop(&part);
}

Test(causal_softmax_forward, floor_reads_half_a_matrix) {
    expect_floor("causal_softmax_forward", floor_causal(0), floor_triangle + floor_matrix, 0);
    expect_floor("causal_softmax_forward", floor_causal(1), 2 * floor_triangle, 0);
}

Test(causal_softmax_forward, half_a_matrix_is_counted_to_the_element) {
    const struct op *op = op_find("causal_softmax_forward");
    struct op_sizes sizes = op_causal_sizes(TYPE_F16, 3, 2, 5, 1.0f);
    cr_assert_eq(sizes.N, 30);
    cr_assert_eq(op_needed_elements(op, 1, &sizes), 6u * 15);
    cr_assert_eq(op_needed_elements(op, 0, &sizes), 6u * 25);
    sizes.upper = 1;
    cr_assert_eq(op_needed_elements(op, 0, &sizes), 6u * 15);
    cr_assert_eq(op_floor_bytes(op, &sizes), 2u * 6 * 15 * 2);
}
