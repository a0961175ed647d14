/* layernorm_residual_forward: known values, LayerNorm and then the residual, and the floor. */
#include "common/ops/op_test.h"

TestSuite(layernorm_residual_forward, .timeout = 60);

Test(layernorm_residual_forward, known_values) {
    struct computed c = fill("layernorm_residual_forward", (struct op_sizes){.N = 1, .C = 2, .eps = 12.0f}, 1);
    give(&c, "x", 2, 6); /* the variance is 4, and 4 + eps is 16 */
    give(&c, "residual", 10, 20);
    give(&c, "weight", 2, 4);
    give(&c, "bias", 1, 1);
    compute(&c);
    expect(&c, "mean", 0, 4);
    expect(&c, "rstd", 0, 0.25);
    expect(&c, "out", 0, 10, 23);
    drop(&c);
}

Test(layernorm_residual_forward, adds_the_residual_after_layernorm) {
    struct op_sizes sizes = {.N = 3, .C = 40, .eps = 1e-5f, .type = TYPE_F32};
    struct computed other = fill("layernorm_residual_forward", sizes, 5), plain = fill("layernorm_forward", sizes, 1);
    compute(&other);
    give_from(&plain, "x", &other, "x");
    give_from(&plain, "weight", &other, "weight");
    give_from(&plain, "bias", &other, "bias");
    compute(&plain);
    for (int i = 0; i < 120; i++) {
        double added = output(&other, "out")[i] - output(&plain, "out")[i];
        cr_assert(fabs(added - input(&other, "residual")[i]) < 1e-12);
    }
    drop(&other);
    drop(&plain);
}

Test(layernorm_residual_forward, floor_is_two_tensors_read_and_one_written) {
    expect_floor("layernorm_residual_forward", floor_sizes, 3 * floor_matrix + 2 * FLOOR_C, 2 * FLOOR_N);
}
