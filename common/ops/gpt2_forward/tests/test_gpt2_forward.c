/* gpt2_forward: its hidden states, against the model's own reference (gpt2/reference.c); its losses; and the floor. */
#include "common/ops/transformer/model_test.h"
#include "gpt2/reference.h"

TestSuite(gpt2_forward, .timeout = 60);

/* Compares each state with its place in `hidden`, and the logits. */
struct comparison {
    const struct computed *c;
    int compared;
};

static void compare_state(void *context, const char *stage, int layer, const double *values, int64_t rows,
                          int64_t columns) {
    struct comparison *comparison = context;
    const struct computed *c = comparison->c;
    const double *own = NULL, *hidden = output(c, "hidden");
    size_t count = (size_t)(rows * columns);
    if (strcmp(stage, "residual after attention") == 0) { own = hidden + (size_t)(2 * layer) * count; }
    if (strcmp(stage, "mlp projection") == 0) { own = hidden + (size_t)(2 * layer + 1) * count; }
    if (strcmp(stage, "final layernorm") == 0) { own = hidden + (size_t)(2 * layer) * count; }
    if (strcmp(stage, "logits") == 0) { own = output(c, "logits"); }
    for (size_t i = 0; own && i < count; i++) {
        cr_assert(fabs(own[i] - values[i]) <= 1e-9 * (1.0 + fabs(values[i])), "%s of layer %d, element %zu", stage,
                  layer, i);
    }
    comparison->compared += own != NULL;
}

Test(gpt2_forward, hidden_states_are_those_of_the_models_reference) {
    struct computed c = fill("gpt2_forward", model_sizes(1, 7, 9, 3), 5);
    struct comparison comparison = {&c, 0};
    int32_t tokens[7];
    struct gpt2_error error;
    for (int t = 0; t < 7; t++) { tokens[t] = (int32_t)input(&c, "tokens")[t]; }
    compute(&c);
    struct gpt2_source source = {
        .config = {c.sizes.S, c.sizes.V, c.sizes.V, c.sizes.L, c.sizes.H, c.sizes.C, c.sizes.eps},
        .read = read_packed,
        .context = &c};
    cr_assert(gpt2_reference(&source, tokens, 7, compare_state, &comparison, &error), "%s", error.text);
    cr_assert_eq(comparison.compared, 2 * 3 + 2);
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
