/* gpt2_decode: its logits, against those of whole prompts; the likeliest tokens; and the floor. */
#include "common/ops/op_test.h"

TestSuite(gpt2_decode, .timeout = 60);

/* A prompt, and tokens after it one by one, give what the whole as one prompt gives in its last row. */
Test(gpt2_decode, decoding_gives_what_prompts_give) {
    enum { T = 3, S = 8, B = 3 };
    struct computed decode = fill("gpt2_decode", model_sizes(B, T, S, 2), 7);
    float *next = decode.tensor[op_tensor_find(decode.op, "next")];
    next[1] = -1; /* sequence 1 rests in the first step */
    for (int i = 0; i < (S - T) * B; i++) { next[i] = i == 1 ? -1.0f : fabsf(next[i]); }
    compute(&decode);
    for (int b = 0; b < B; b++) {
        int length = (int)input(&decode, "lengths")[b];
        float tokens[S];
        for (int t = 0; t < length; t++) { tokens[t] = input(&decode, "tokens")[b * T + t]; }
        for (int step = 0; step <= S - T; step++) {
            bool rests = step > 0 && next[(step - 1) * B + b] < 0;
            if (step > 0 && !rests) { tokens[length++] = next[(step - 1) * B + b]; }
            struct computed whole = fill("gpt2_forward", model_sizes(1, length, S, 2), 7);
            memcpy(whole.tensor[op_tensor_find(whole.op, "tokens")], tokens, (size_t)length * sizeof(float));
            whole.tensor[op_tensor_find(whole.op, "lengths")][0] = (float)length;
            memcpy(whole.tensor[op_tensor_find(whole.op, "weights")], input(&decode, "weights"),
                   op_elements(whole.op, op_tensor_find(whole.op, "weights"), &whole.sizes) * sizeof(float));
            compute(&whole);
            for (int v = 0; v < decode.sizes.V; v++) {
                size_t i = (size_t)((step * B + b) * decode.sizes.V + v);
                double expected = output(&whole, "logits")[(length - 1) * whole.sizes.V + v];
                double condition = decode.condition[op_tensor_find(decode.op, "logits")][i];
                cr_assert_eq(isinf(condition), rests, "step %d, sequence %d", step, b);
                cr_assert(rests || fabs(output(&decode, "logits")[i] - expected) < 1e-9, "step %d, sequence %d", step,
                          b);
            }
            size_t C = (size_t)decode.sizes.C, last = (size_t)(4 * length + length - 1) * C; /* of 2 L + 1 states */
            for (size_t ch = 0; ch < C && !rests; ch++) {
                double own = output(&decode, "hidden")[(size_t)(step * B + b) * C + ch];
                cr_assert(fabs(own - output(&whole, "hidden")[last + ch]) < 1e-9, "step %d, sequence %d", step, b);
            }
            drop(&whole);
        }
    }
    drop(&decode);
}

Test(gpt2_decode, greedy_is_the_likeliest_token) {
    struct computed c = fill("gpt2_decode", model_sizes(3, 3, 8, 2), 7);
    compute(&c);
    for (size_t i = 0; i < elements(&c, "greedy"); i++) {
        const double *row = output(&c, "logits") + i * (size_t)c.sizes.V;
        for (int v = 0; v < c.sizes.V; v++) { cr_assert(row[v] <= row[(int)output(&c, "greedy")[i]], "row %zu", i); }
    }
    drop(&c);
}

Test(gpt2_decode, floor_counts_every_tensor_once) {
    struct op_sizes sizes = floor_of_model();
    size_t B = 2, N = 6, C = 10, S = 7, K = 4, L = 3, V = 11;
    sizes.L = (int)L;
    sizes.V = (int)V;
    size_t weights = (V + S) * C + L * (12 * C * C + 13 * C) + 2 * C;
    expect_floor("gpt2_decode", sizes, (K + 1) * B * C + weights, (K + 1) * B * V + (K + 1) * B + N + K * B + B);
}
