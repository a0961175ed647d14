/* row_sum: known rows, and the floor. */
#include "common/ops/op_test.h"

TestSuite(row_sum, .timeout = 60);

Test(row_sum, known_rows) {
    struct computed c = fill("row_sum", (struct op_sizes){.N = 2, .C = 3}, 1);
    give(&c, "x", 1, -2, 3, 4, 5, -INFINITY);
    compute(&c);
    expect(&c, "out", 0, 2, -INFINITY);
    drop(&c);
}

Test(row_sum, floor_is_one_tensor_read) {
    expect_floor("row_sum", floor_sizes, floor_matrix + FLOOR_N, 0);
}
