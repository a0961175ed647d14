/* row_dot: known rows, and the floor. */
#include "common/ops/op_test.h"

TestSuite(row_dot, .timeout = 60);

Test(row_dot, known_rows) {
    struct computed c = fill("row_dot", (struct op_sizes){.N = 2, .C = 3}, 1);
    give(&c, "x", 1, -2, 3, 4, 5, -INFINITY);
    give(&c, "weight", 2, 0.5f, -1);
    compute(&c);
    expect(&c, "out", 0, -2, INFINITY);
    drop(&c);
}

Test(row_dot, floor_is_one_tensor_read) {
    expect_floor("row_dot", floor_sizes, floor_matrix + FLOOR_C + FLOOR_N, 0);
}
