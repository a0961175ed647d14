/* block_backward: its gradients, against differences of the forward reference; what it keeps; and the floor. */
#include "common/ops/op_test.h"

TestSuite(block_backward, .timeout = 60);

enum { PARAMETERS = 12 };

/* In the order of the op's gradients. */
static const char *const parameters[PARAMETERS] = {"mlp_weight", "mlp_bias", "fc_weight",        "fc_bias",
                                                   "ln2_weight", "ln2_bias", "attention_weight", "attention_bias",
                                                   "qkv_weight", "qkv_bias", "ln1_weight",       "ln1_bias"};

/* ---- differences of the forward pass ---- */

/* The sum of dout times what the block gives: the stream, and the branch that the next block would add. */
static double loss(struct computed *forward, const float *dout) {
    double sum = 0.0;
    compute(forward);
    for (size_t i = 0; i < elements(forward, "residual"); i++) {
        sum += dout[i] * (output(forward, "residual")[i] + output(forward, "branch")[i]);
    }
    return sum;
}

static double difference(struct computed *forward, const float *dout, float *at, float by) {
    float value = *at, above = value + by, below = value - by;
    *at = above;
    double sum = loss(forward, dout);
    *at = below;
    sum -= loss(forward, dout);
    *at = value;
    return sum / ((double)above - below);
}

static void expect_differences(struct computed *forward, struct computed *backward, const char *of, const double *got,
                               const float *start) {
    const float *dout = tensor(backward, "dout");
    double largest = 0.0;
    for (size_t i = 0; i < elements(forward, of); i++) {
        largest = fmax(largest, fabs(got[i] - (start ? start[i] : 0)));
    }
    cr_assert(largest > 0.01, "%s", of);
    for (size_t i = 0; i < elements(forward, of); i++) {
        float *at = &tensor(forward, of)[i];
        double coarse = difference(forward, dout, at, 0x1p-6f), fine = difference(forward, dout, at, 0x1p-7f);
        double numeric = (4.0 * fine - coarse) / 3.0, own = got[i] - (start ? (double)start[i] : 0.0);
        cr_assert(fabs(own - numeric) < 2e-6 * (1.0 + largest), "%s[%zu]: %.9g, numerically %.9g", of, i, own, numeric);
    }
}

Test(block_backward, agrees_with_finite_differences) {
    struct op_sizes sizes = op_model_sizes(TYPE_F32, 2, 3, 2, 3, 4);
    sizes.L = 0; /* nothing was left to add */
    sizes.eps = 1e-3f;
    struct computed backward = fill("block_backward", sizes, 21), forward = fill("block_forward", sizes, 22);
    for (int t = 0; t < op_tensor_count(forward.op); t++) {
        int same = op_tensor_find(backward.op, forward.op->tensor[t].name);
        if (same < 0) { continue; }
        memcpy(forward.tensor[t], backward.tensor[same], op_elements(forward.op, t, &sizes) * sizeof(float));
    }
    cr_assert(tensor(&backward, "lengths")[1] < 3.0f, "one prompt is shorter");
    compute(&backward);
    for (int i = 0; i < PARAMETERS; i++) {
        expect_differences(&forward, &backward, parameters[i], backward.out[i], backward.tensor[i]);
    }
    expect_differences(&forward, &backward, "residual", output(&backward, "dx"), NULL);
    drop(&forward);
    drop(&backward);
}

/* ---- what is kept is what the forward reference makes, rounded ---- */

Test(block_backward, what_is_kept_is_a_forward_pass) {
    for (int type = 0; type < OP_TYPES; type++) {
        struct op_sizes sizes = op_model_sizes((enum op_type)type, 3, 5, 2, 6, 7);
        struct computed c = fill("block_backward", sizes, 41), next = fill("residual_layernorm_forward", sizes, 1);
        memcpy(tensor(&next, "x"), tensor(&c, "middle"), elements(&c, "middle") * sizeof(float));
        memset(tensor(&next, "residual"), 0, elements(&c, "middle") * sizeof(float));
        memcpy(tensor(&next, "weight"), tensor(&c, "ln2_weight"), elements(&c, "ln2_weight") * sizeof(float));
        memcpy(tensor(&next, "bias"), tensor(&c, "ln2_bias"), elements(&c, "ln2_bias") * sizeof(float));
        compute(&next);
        const char *const pairs[][2] = {{"normalised2", "out"}, {"mean2", "mean"}, {"rstd2", "rstd"}};
        for (int p = 0; p < 3; p++) {
            int t = op_tensor_find(next.op, pairs[p][1]);
            enum op_type of = next.op->tensor[t].element == ELEMENT_FLOAT ? TYPE_F32 : (enum op_type)type;
            for (size_t i = 0; i < elements(&c, pairs[p][0]); i++) {
                cr_assert(reference_accepts(of, next.out[t][i], next.condition[t][i], tensor(&c, pairs[p][0])[i]),
                          "%s: %s[%zu]", op_type_name((enum op_type)type), pairs[p][0], i);
            }
        }
        drop(&next);
        drop(&c);
    }
}

/* ---- known values ---- */

/* The last bias is added to out itself, so its gradient is the sum of dout over the rows. */
Test(block_backward, the_last_bias_gets_the_sum_of_dout) {
    struct computed c = fill("block_backward", op_model_sizes(TYPE_F32, 1, 2, 1, 2, 2), 51);
    give(&c, "dout", 1, 2, 3, 4);
    give(&c, "dmlp_bias", 10, 20);
    compute(&c);
    expect(&c, "dmlp_bias", 0, 14, 26);
    drop(&c);
}

Test(block_backward, floor_counts_every_tensor_once) {
    size_t B = 2, N = 6, C = 10, count = 12 * C * C + 13 * C;
    expect_floor("block_backward", floor_of_model(), 18 * N * C + count, count + 4 * N + B);
}
