/* attention_forward: known weights, attention written as plain loops, and the floor. */
#include "common/ops/op_test.h"

TestSuite(attention_forward, .timeout = 60);

/* One head of 4 channels. The second query's scores are 0 and 2 log(3) / sqrt(4), so its weights are 1/4 and 3/4; where the
 * prompt has one token, it sees that one alone. */
Test(attention_forward, known_values) {
    struct computed c = fill("attention_forward", op_model_sizes(TYPE_F32, 2, 2, 1, 4, 3), 1);
    float log3 = logf(3.0f);
    give(&c, "qkv", 0, 0, 0, 0, /**/ 0, 0, 0, 0, /**/ 4, 0, 0, 1, /* sequence 0: q, k, v of token 0 */
         2, 0, 0, 0, /**/ log3, 0, 0, 0, /**/ 8, 4, 0, 1,         /* of token 1 */
         0, 0, 0, 0, /**/ 0, 0, 0, 0, /**/ 4, 0, 0, 1,            /* sequence 1 is the same */
         2, 0, 0, 0, /**/ log3, 0, 0, 0, /**/ 8, 4, 0, 1);
    give(&c, "lengths", 2, 1);
    give_all(&c, "k", 9.0f);
    give_all(&c, "v", 9.0f);
    compute(&c);
    expect(&c, "out", 1e-6, 4, 0, 0, 1, 7, 3, 0, 1, 4, 0, 0, 1, 4, 0, 0, 1);
    expect(&c, "k", 0, 0, 0, 0, 0, log3, 0, 0, 0, 9, 9, 9, 9, 0, 0, 0, 0, log3, 0, 0, 0, 9, 9, 9, 9);
    expect(&c, "v", 0, 4, 0, 0, 1, 8, 4, 0, 1, 9, 9, 9, 9, 4, 0, 0, 1, 8, 4, 0, 1, 9, 9, 9, 9);
    drop(&c);
}

Test(attention_forward, is_what_plain_loops_compute) {
    enum { B = 2, T = 4, H = 3, D = 2, C = H * D };
    struct computed c = fill("attention_forward", op_model_sizes(TYPE_F32, B, T, H, D, T), 2);
    give(&c, "lengths", 4, 2);
    compute(&c);
    for (int row = 0; row < B * T * H; row++) {
        int b = row / H / T, i = row / H % T, h = row % H;
        const float *qkv = input(&c, "qkv") + b * T * 3 * C + h * D;
        double sum = 0.0, out[D] = {0.0};
        for (int j = 0; j <= i && j < (int)input(&c, "lengths")[b]; j++) {
            double score = 0.0;
            for (int d = 0; d < D; d++) { score += (double)qkv[i * 3 * C + d] * qkv[j * 3 * C + C + d]; }
            sum += exp(score / sqrt(D));
            for (int d = 0; d < D; d++) { out[d] += exp(score / sqrt(D)) * qkv[j * 3 * C + 2 * C + d]; }
        }
        for (int d = 0; d < D; d++) {
            cr_assert(fabs(output(&c, "out")[(b * T + i) * C + h * D + d] - out[d] / sum) < 1e-12, "row %d", row);
        }
    }
    drop(&c);
}

/* The scratch tensors, query and scores, do not count. */
Test(attention_forward, floor_counts_inputs_and_outputs_once) {
    size_t B = 2, T = 3, C = 10, S = 7;
    expect_floor("attention_forward", floor_of_model(), 2 * B * S * C + B * T * C + 3 * B * T * C, B);
}
