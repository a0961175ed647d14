/* three_way_add: it rounds after each addition; and the floor. */
#include "common/ops/op_test.h"

TestSuite(three_way_add, .timeout = 60);

Test(three_way_add, rounds_twice) {
    struct computed call = fill("three_way_add", (struct op_sizes){.N = 1, .C = 2, .type = TYPE_F16}, 1);
    give(&call, "a", 2048, 1);
    give(&call, "b", 1, 1);
    give(&call, "c", 1, 2048);
    compute(&call);
    const double *out = output(&call, "out");
    cr_assert(reference_accepts(TYPE_F16, out[0], 0.0, 2048.0f), "(2048 + 1) + 1");
    cr_assert(!reference_accepts(TYPE_F16, out[0], 0.0, 2050.0f));
    cr_assert(reference_accepts(TYPE_F16, out[1], 0.0, 2050.0f), "(1 + 1) + 2048");
    drop(&call);
}

Test(three_way_add, floor_is_three_tensors_read_and_one_written) {
    expect_floor("three_way_add", floor_sizes, 4 * floor_matrix, 0);
}
