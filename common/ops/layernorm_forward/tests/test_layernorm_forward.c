/* layernorm_forward: known rows, their mean and variance, and the floor. */
#include "common/ops/op_test.h"

TestSuite(layernorm_forward, .timeout = 60);

enum { N = 4, C = 37 };

static const struct op_sizes sizes = {.N = N, .C = C, .eps = 1e-5f};

Test(layernorm_forward, known_values) {
    struct computed c = fill("layernorm_forward", (struct op_sizes){.N = 1, .C = 2, .eps = 12.0f}, 1);
    give(&c, "x", 2, 6); /* the variance is 4, and 4 + eps is 16 */
    give(&c, "weight", 2, 4);
    give(&c, "bias", 1, 1);
    compute(&c);
    expect(&c, "mean", 0, 4);
    expect(&c, "rstd", 0, 0.25);
    expect(&c, "out", 0, 0, 3);
    drop(&c);
}

Test(layernorm_forward, rows_have_mean_0_and_variance_1) {
    struct computed l = fill("layernorm_forward", sizes, 3);
    give_all(&l, "weight", 1.0f);
    give_all(&l, "bias", 0.0f);
    compute(&l);
    const double *out = output(&l, "out"), *rstd = output(&l, "rstd");
    for (int n = 0; n < N; n++) {
        double sum = 0.0, squares = 0.0, variance = 1.0 / (rstd[n] * rstd[n]) - sizes.eps;
        for (int c = 0; c < C; c++) { sum += out[n * C + c], squares += out[n * C + c] * out[n * C + c]; }
        cr_assert(fabs(sum / C) < 1e-13);
        cr_assert(fabs(squares / C - variance / (variance + sizes.eps)) < 1e-12);
    }
    drop(&l);
}

Test(layernorm_forward, known_row) {
    struct computed l = fill("layernorm_forward", sizes, 3);
    for (int c = 0; c < C; c++) { tensor(&l, "x")[c] = c < C / 2 ? -1.0f : 1.0f; } /* C is odd: one 1 more */
    compute(&l);
    double mean = 1.0 / C, rstd = 1.0 / sqrt(1.0 - mean * mean + (double)sizes.eps);
    double out = (-1.0 - mean) * rstd * input(&l, "weight")[3] + input(&l, "bias")[3];
    cr_assert(fabs(output(&l, "mean")[0] - mean) < 1e-15);
    cr_assert(fabs(output(&l, "rstd")[0] - rstd) < 1e-14);
    cr_assert(fabs(output(&l, "out")[3] - out) < 1e-13);
    drop(&l);
}

Test(layernorm_forward, floor_is_one_tensor_read_and_one_written) {
    expect_floor("layernorm_forward", floor_sizes, 2 * floor_matrix + 2 * FLOOR_C, 2 * FLOOR_N);
}
