/* block_forward: a block whose every value is known, and the floor. gpt2_forward's test compares blocks of random weights. */
#include "common/ops/op_test.h"

TestSuite(block_forward, .timeout = 60);

/* The linear layers ignore their inputs, but for the attention's projection, which is the identity: attention gives the
 * values, which are qkv's bias. GELU of 30 is 30. */
static struct computed known_block(int layer) {
    struct op_sizes sizes = op_model_sizes(TYPE_F32, 1, 2, 1, 2, 3);
    sizes.L = layer;
    struct computed c = fill("block_forward", sizes, 1);
    give(&c, "residual", 1, 2, 3, 4);
    give(&c, "branch", 10, 20, 30, 40);
    give_all(&c, "qkv_weight", 0.0f);
    give(&c, "qkv_bias", 0.5f, 0.5f, 0.25f, 0.75f, 100, 200);
    give(&c, "attention_weight", 1, 0, 0, 1);
    give(&c, "attention_bias", 1000, 2000);
    give_all(&c, "fc_weight", 0.0f);
    give_all(&c, "fc_bias", 30.0f);
    give_all(&c, "mlp_weight", 1.0f); /* 8 terms of 30 */
    give(&c, "mlp_bias", 1, 2);
    give_all(&c, "k", 9.0f);
    give_all(&c, "v", 9.0f);
    give(&c, "lengths", 2);
    compute(&c);
    return c;
}

Test(block_forward, known_values) {
    struct computed c = known_block(1);
    expect(&c, "residual", 1e-9, 1111, 2222, 1133, 2244);
    expect(&c, "branch", 1e-9, 241, 242, 241, 242);
    expect(&c, "k", 0, 0.25, 0.75, 0.25, 0.75, 9, 9);
    expect(&c, "v", 0, 100, 200, 100, 200, 9, 9);
    drop(&c);
}

Test(block_forward, layer_0_adds_no_branch) {
    struct computed c = known_block(0);
    expect(&c, "residual", 1e-9, 1101, 2202, 1103, 2204);
    expect(&c, "branch", 1e-9, 241, 242, 241, 242);
    drop(&c);
}

Test(block_forward, floor_counts_every_tensor_once) {
    size_t B = 2, T = 3, C = 10, S = 7;
    expect_floor("block_forward", floor_of_model(), 2 * B * S * C + 2 * B * T * C + 12 * C * C + 13 * C, B);
}
