/* rmsnorm_forward: known values, and the floor. */
#include "common/ops/op_test.h"

TestSuite(rmsnorm_forward, .timeout = 60);

Test(rmsnorm_forward, known_values) {
    struct computed c = fill("rmsnorm_forward", (struct op_sizes){.N = 2, .C = 2, .eps = 39.0f}, 1);
    give(&c, "x", 1, 7, NAN, 1); /* the mean square is 25, and 25 + eps is 64 */
    give(&c, "weight", 2, 4);
    compute(&c);
    const double *out = output(&c, "out"), *rstd = output(&c, "rstd");
    cr_assert_eq(rstd[0], 0.125);
    cr_assert_eq(out[0], 0.25);
    cr_assert_eq(out[1], 3.5);
    cr_assert(isnan(rstd[1]) && isnan(out[2]) && isnan(out[3]), "a row with a NaN is NaN");
    drop(&c);
}

Test(rmsnorm_forward, floor_is_one_tensor_read_and_one_written) {
    expect_floor("rmsnorm_forward", floor_sizes, 2 * floor_matrix + FLOOR_C, FLOOR_N);
}
