/* block_forward: a block whose every value is known; one of random weights, against the ops of its parts; and the floor. */
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

/* ---- the same from other ops: each takes the rounded results of the one before ---- */

static void normalise(const struct computed *c, float *x, const char *weight, const char *bias) {
    struct op_sizes sizes = {.N = c->sizes.N, .C = c->sizes.C, .eps = c->sizes.eps};
    struct computed norm = fill("layernorm_forward", sizes, 1);
    give_values(&norm, "x", x, elements(&norm, "x"));
    give_from(&norm, "weight", c, weight);
    give_from(&norm, "bias", c, bias);
    compute(&norm);
    for (size_t i = 0; i < elements(&norm, "x"); i++) { x[i] = (float)output(&norm, "out")[i]; }
    drop(&norm);
}

/* out (N, OC) from x (N, C) */
static void multiply(const struct computed *c, float *out, const float *x, const char *weight, const char *bias) {
    size_t N = (size_t)c->sizes.N, OC = elements(c, bias), C = elements(c, weight) / OC;
    for (size_t i = 0; i < N * OC; i++) {
        double sum = input(c, bias)[i % OC];
        for (size_t k = 0; k < C; k++) { sum += (double)x[i / OC * C + k] * input(c, weight)[i % OC * C + k]; }
        out[i] = (float)sum;
    }
}

static void attend(const struct computed *c, float *out, const float *qkv) {
    struct computed attention = fill("attention_forward", c->sizes, 1);
    give_values(&attention, "qkv", qkv, elements(&attention, "qkv"));
    give_from(&attention, "lengths", c, "lengths");
    compute(&attention);
    for (size_t i = 0; i < elements(&attention, "out"); i++) { out[i] = (float)output(&attention, "out")[i]; }
    drop(&attention);
}

static void activate(float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double u = x[i];
        x[i] = (float)(0.5 * u * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (u + 0.044715 * pow(u, 3)))));
    }
}

Test(block_forward, is_what_its_parts_compute) {
    enum { B = 3, T = 4, H = 2, D = 3, C = H * D, COUNT = B * T * C };
    struct op_sizes sizes = op_model_sizes(TYPE_F32, B, T, H, D, 5);
    float x[COUNT], normal[COUNT], wide[4 * COUNT], branch[COUNT];
    sizes.eps = 0.01f;
    struct computed c = fill("block_forward", sizes, 3);
    const float *lengths = input(&c, "lengths");
    cr_assert(lengths[0] < T || lengths[1] < T || lengths[2] < T, "one prompt is shorter");
    compute(&c);
    for (int i = 0; i < COUNT; i++) { normal[i] = x[i] = input(&c, "residual")[i] + input(&c, "branch")[i]; }
    normalise(&c, normal, "ln1_weight", "ln1_bias");
    multiply(&c, wide, normal, "qkv_weight", "qkv_bias");
    attend(&c, normal, wide);
    multiply(&c, branch, normal, "attention_weight", "attention_bias");
    for (int i = 0; i < COUNT; i++) { normal[i] = x[i] += branch[i]; }
    normalise(&c, normal, "ln2_weight", "ln2_bias");
    multiply(&c, wide, normal, "fc_weight", "fc_bias");
    activate(wide, 4 * COUNT);
    multiply(&c, branch, wide, "mlp_weight", "mlp_bias");
    for (int i = 0; i < COUNT; i++) {
        cr_assert(fabs(output(&c, "residual")[i] - x[i]) < 1e-5, "residual[%d]: %g, not %g", i,
                  output(&c, "residual")[i], x[i]);
        cr_assert(fabs(output(&c, "branch")[i] - branch[i]) < 1e-5, "branch[%d]: %g, not %g", i,
                  output(&c, "branch")[i], branch[i]);
    }
    drop(&c);
}

Test(block_forward, floor_counts_every_tensor_once) {
    size_t B = 2, T = 3, C = 10, S = 7;
    expect_floor("block_forward", floor_of_model(), 2 * B * S * C + 2 * B * T * C + 12 * C * C + 13 * C, B);
}
