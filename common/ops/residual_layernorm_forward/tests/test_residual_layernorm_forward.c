/* residual_layernorm_forward: known values, the LayerNorm of the rounded sum, and the floor. */
#include "common/ops/elements.h"
#include "common/ops/op_test.h"

TestSuite(residual_layernorm_forward, .timeout = 60);

Test(residual_layernorm_forward, known_values) {
    struct computed c = fill("residual_layernorm_forward", (struct op_sizes){.N = 1, .C = 2, .eps = 12.0f}, 1);
    give(&c, "x", 1, 2);
    give(&c, "residual", 1, 4); /* the variance of 2, 6 is 4, and 4 + eps is 16 */
    give(&c, "weight", 2, 4);
    give(&c, "bias", 1, 1);
    compute(&c);
    expect(&c, "sum", 0, 2, 6);
    expect(&c, "mean", 0, 4);
    expect(&c, "rstd", 0, 0.25);
    expect(&c, "out", 0, 0, 3);
    drop(&c);
}

Test(residual_layernorm_forward, is_layernorm_of_the_rounded_sum) {
    struct op_sizes sizes = {.N = 3, .C = 40, .eps = 1e-5f, .type = TYPE_BF16};
    struct computed fused = fill("residual_layernorm_forward", sizes, 5), plain = fill("layernorm_forward", sizes, 1);
    compute(&fused);
    for (int i = 0; i < 120; i++) {
        double sum = element_round(TYPE_BF16, (double)input(&fused, "x")[i] + input(&fused, "residual")[i]);
        cr_assert_eq(output(&fused, "sum")[i], sum);
        tensor(&plain, "x")[i] = (float)sum;
    }
    give_from(&plain, "weight", &fused, "weight");
    give_from(&plain, "bias", &fused, "bias");
    compute(&plain);
    for (int i = 0; i < 120; i++) { cr_assert_eq(output(&fused, "out")[i], output(&plain, "out")[i]); }
    for (int n = 0; n < 3; n++) { cr_assert_eq(output(&fused, "rstd")[n], output(&plain, "rstd")[n]); }
    drop(&fused);
    drop(&plain);
}

Test(residual_layernorm_forward, floor_is_two_tensors_read_and_two_written) {
    expect_floor("residual_layernorm_forward", floor_sizes, 4 * floor_matrix + 2 * FLOOR_C, 2 * FLOOR_N);
}
