/* gpt2_forward: its hidden states, against those of block_forward and layernorm_forward; its losses; and the floor. */
#include "common/ops/op_test.h"

TestSuite(gpt2_forward, .timeout = 60);

/* The other ops take floats, so each state is computed from the rounded one before. */
static void expect_near(const double *got, const double *expected, size_t count, const char *what, int layer) {
    for (size_t i = 0; i < count; i++) {
        cr_assert(fabs(got[i] - expected[i]) <= 1e-5 * (1.0 + fabs(expected[i])),
                  "%s of layer %d, element %zu: %g, not %g", what, layer, i, got[i], expected[i]);
    }
}

/* The tensors of a block, all layers of each: the next one's place in the weights. */
static void give_layer(struct computed *block, const float **weights, int layer, int layers) {
    for (int t = tensor_index(block, "ln1_weight"), i = 0; i < 12; t++, i++) {
        size_t count = op_elements(block->op, t, &block->sizes);
        memcpy(block->tensor[t], *weights + (size_t)layer * count, count * sizeof(float));
        *weights += (size_t)layers * count;
    }
}

Test(gpt2_forward, hidden_states_are_those_of_its_parts) {
    enum { B = 2, T = 5, S = 7, L = 3 };
    struct computed c = fill("gpt2_forward", model_sizes(B, T, S, L), 5);
    size_t C = (size_t)c.sizes.C, V = (size_t)c.sizes.V, count = B * T * C;
    const float *wte = input(&c, "weights"), *wpe = wte + V * C, *blocks = wpe + S * C, *end = blocks;
    compute(&c);
    struct computed block = fill("block_forward", op_model_sizes(TYPE_F32, B, T, 2, 6, S), 1);
    give_from(&block, "lengths", &c, "lengths");
    for (size_t i = 0; i < count; i++) {
        tensor(&block, "residual")[i] =
            wte[(size_t)input(&c, "tokens")[i / C] * C + i % C] + wpe[i / C % T * C + i % C];
    }
    for (int layer = 0; layer < L; layer++) {
        const double *hidden = output(&c, "hidden") + 2 * (size_t)layer * count;
        end = blocks;
        block.sizes.L = layer;
        give_layer(&block, &end, layer, L);
        compute(&block);
        expect_near(output(&block, "residual"), hidden, count, "residual", layer);
        expect_near(output(&block, "branch"), hidden + count, count, "branch", layer);
        for (size_t i = 0; i < count; i++) {
            tensor(&block, "residual")[i] = (float)output(&block, "residual")[i];
            tensor(&block, "branch")[i] = (float)output(&block, "branch")[i];
        }
    }
    struct op_sizes rows = {.N = B * T, .C = c.sizes.C, .eps = c.sizes.eps};
    struct computed norm = fill("layernorm_forward", rows, 1);
    for (size_t i = 0; i < count; i++) {
        tensor(&norm, "x")[i] = tensor(&block, "residual")[i] + tensor(&block, "branch")[i];
    }
    give_values(&norm, "weight", end, C);
    give_values(&norm, "bias", end + C, C);
    compute(&norm);
    expect_near(output(&norm, "out"), output(&c, "hidden") + 2 * L * count, count, "final LayerNorm", L);
    for (size_t i = 0; i < B * T * V; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < C; k++) { sum += output(&norm, "out")[i / V * C + k] * wte[i % V * C + k]; }
        expect_near(&sum, &output(&c, "logits")[i], 1, "logits", L);
    }
    drop(&norm);
    drop(&block);
    drop(&c);
}

Test(gpt2_forward, losses_are_those_of_the_logits) {
    struct computed c = fill("gpt2_forward", model_sizes(2, 4, 5, 1), 6);
    compute(&c);
    for (int n = 0; n < c.sizes.N; n++) {
        const double *row = output(&c, "logits") + n * c.sizes.V;
        int target = (int)input(&c, "targets")[n];
        double sum = 0.0;
        for (int v = 0; v < c.sizes.V; v++) { sum += exp(row[v]); }
        double expected = target < 0 ? 0.0 : log(sum) - row[target];
        cr_assert(fabs(output(&c, "losses")[n] - expected) < 1e-9);
    }
    drop(&c);
}

Test(gpt2_forward, floor_counts_every_tensor_once) {
    struct op_sizes sizes = floor_of_model();
    size_t B = 2, N = 6, C = 10, S = 7, L = 3, V = 11;
    sizes.L = (int)L;
    sizes.V = (int)V;
    size_t weights = (V + S) * C + L * (12 * C * C + 13 * C) + 2 * C;
    expect_floor("gpt2_forward", sizes, (2 * L + 1) * N * C + weights, N * V + N + 2 * N + B);
}
