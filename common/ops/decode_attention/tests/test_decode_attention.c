/* decode_attention: known weights, attention written as plain loops, and the floor. */
#include "common/ops/op_test.h"

TestSuite(decode_attention, .timeout = 60);

/* One head of 4 channels; the new token is the second. Its scores are 0 and 2 log(3) / sqrt(4). */
Test(decode_attention, known_values) {
    struct computed c = fill("decode_attention", op_model_sizes(TYPE_F32, 1, 1, 1, 4, 3), 1);
    float log3 = logf(3.0f);
    give(&c, "qkv", 2, 0, 0, 0, /**/ log3, 0, 0, 0, /**/ 8, 4, 0, 1);
    give(&c, "positions", 1);
    give(&c, "k", 0, 0, 0, 0, NAN, NAN, NAN, NAN, 5, 5, 5, 5);
    give(&c, "v", 4, 0, 0, 1, NAN, NAN, NAN, NAN, NAN, 5, 5, 5);
    compute(&c);
    expect(&c, "out", 1e-6, 7, 3, 0, 1);
    expect(&c, "k", 0, 0, 0, 0, 0, log3, 0, 0, 0, 5, 5, 5, 5);
    for (int i = 0; i < 8; i++) { cr_assert_eq(output(&c, "v")[i], ((double[]){4, 0, 0, 1, 8, 4, 0, 1})[i]); }
    cr_assert(isnan(output(&c, "v")[8]), "no position behind the token's is touched");
    drop(&c);
}

Test(decode_attention, is_what_plain_loops_compute) {
    enum { B = 3, H = 2, D = 3, C = H * D, S = 5 };
    struct computed c = fill("decode_attention", op_model_sizes(TYPE_F32, B, 1, H, D, S), 2);
    give(&c, "positions", 4, 0, 2);
    compute(&c);
    for (int row = 0; row < B * H; row++) {
        int b = row / H, h = row % H;
        const float *q = input(&c, "qkv") + b * 3 * C + h * D;
        const double *k = output(&c, "k") + row * S * D, *v = output(&c, "v") + row * S * D;
        double sum = 0.0, out[D] = {0.0};
        for (int j = 0; j <= (int)input(&c, "positions")[b]; j++) {
            double score = 0.0;
            for (int d = 0; d < D; d++) { score += q[d] * k[j * D + d]; }
            sum += exp(score / sqrt(D));
            for (int d = 0; d < D; d++) { out[d] += exp(score / sqrt(D)) * v[j * D + d]; }
        }
        for (int d = 0; d < D; d++) {
            cr_assert(fabs(output(&c, "out")[row * D + d] - out[d] / sum) < 1e-12, "row %d", row);
        }
    }
    drop(&c);
}

Test(decode_attention, floor_counts_every_tensor_once) {
    size_t B = 2, C = 10, S = 7;
    struct op_sizes sizes = floor_of_model();
    op_sizes_complete(op_find("decode_attention"), &sizes); /* N = B */
    expect_floor("decode_attention", sizes, B * C + 2 * B * S * C + 3 * B * C, B);
}
