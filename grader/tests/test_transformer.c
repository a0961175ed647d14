/* transformer: lab 4's references, against gpt2/reference.c and each other; and their mistakes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../diagnose.h"
#include "common/ops/elements.h"
#include "common/ops/reference.h"
#include "common/ops/transformer/transformer.h"
#include "gpt2/reference.h"
#include "model_calls.h"

TestSuite(transformer, .timeout = 60);

/* Compares each state with its part of `hidden`, and the logits. */
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

Test(transformer, hidden_states_are_those_of_the_models_reference) {
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

Test(transformer, losses_are_those_of_the_logits) {
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

/* A prompt and single tokens after it give the same last row as one prompt of all tokens. */
Test(transformer, decoding_gives_what_prompts_give) {
    enum { T = 3, S = 8, B = 3 };
    struct computed decode = fill("gpt2_decode", model_sizes(B, T, S, 2), 7);
    float *next = decode.tensor[op_tensor_find(decode.op, "next")];
    next[1] = -1; /* sequence 1 skips the first step */
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
            drop(&whole);
        }
    }
    drop(&decode);
}

/* ---- mistakes are detected ---- */

static bool accepted(const struct computed *c, double *const *other) {
    for (int t = 0; t < op_tensor_count(c->op); t++) {
        for (size_t i = 0; op_is_output(c->op, t) && i < op_elements(c->op, t, &c->sizes); i++) {
            enum op_type type = element_type(c->op, t, c->sizes.type);
            float got = (float)element_round(type, other[t][i]);
            if (!reference_accepts(type, c->out[t][i], c->condition[t][i], got)) { return false; }
        }
    }
    return true;
}

/* Enough sequences, positions and layers for each of them to matter. */
static struct computed telling_call(const char *op, enum op_type type) {
    struct op_sizes sizes = op_model_sizes(type, 3, 5, 2, 6, 9);
    sizes.L = 2;
    sizes.V = 19;
    op_sizes_complete(op_find(op), &sizes);
    return fill(op, sizes, 11);
}

static void expect_outside(const struct op *op, const struct op_mistake *mistake, int variant, enum op_type type) {
    struct computed c = telling_call(op->name, type), wrong = telling_call(op->name, type);
    struct op_call call = {op, &wrong.sizes, NULL, (const float *const *)wrong.tensor, wrong.out, NULL};
    bool tiny =
        variant == TRANSFORMER_GELU_ERF && type != TYPE_F32; /* the two GELUs differ by less than bf16's precision */
    if (variant == TRANSFORMER_BRANCH_IN_LAYER_0) { c.sizes.L = wrong.sizes.L = 0; }
    if (variant == TRANSFORMER_EPS_FIXED) { c.sizes.eps = wrong.sizes.eps = 0.125f; }
    compute(&c);
    cr_assert(accepted(&c, c.out), "%s", op->name);
    mistake->compute(&call, variant);
    cr_assert(tiny || !accepted(&c, wrong.out), "%s, %s: %s would pass", op->name, op_type_name(type), mistake->id);
    drop(&c);
    drop(&wrong);
}

Test(transformer, every_mistake_is_outside_the_tolerance_in_every_type) {
    int tried = 0;
    for (int i = 0; ops[i]; i++) {
        const struct op_reference *reference = reference_of(ops[i]);
        int types = op_is_model(ops[i]) ? 1 : OP_TYPES; /* the roundings of a bf16 model hide some mistakes */
        for (int list = 0; op_is_of_model(ops[i]) && list < OP_MAX_MISTAKE_LISTS && reference->mistakes[list]; list++) {
            for (const struct op_mistake *mistake = reference->mistakes[list]; mistake->id; mistake++) {
                for (int v = 0; v < OP_MAX_VARIANTS && mistake->variant[v]; v++) {
                    for (int type = 0; type < types; type++, tried++) {
                        expect_outside(ops[i], mistake, mistake->variant[v], (enum op_type)type);
                    }
                }
            }
        }
    }
    cr_assert(tried > 150, "%d", tried);
}

Test(transformer, lower_precision_is_outside_the_tolerance) {
    static const char *const names[] = {"attention_forward", "block_forward", "block_backward", "decode_attention",
                                        "gpt2_forward"};
    for (int i = 0; i < 5; i++) {
        struct computed c = telling_call(names[i], TYPE_F32), low = telling_call(names[i], TYPE_F32);
        compute(&c);
        for (int t = 0; t < op_tensor_count(low.op); t++) { /* TF32 keeps as many bits as fp16 */
            bool values = low.op->tensor[t].role == ROLE_IN && low.op->tensor[t].element == ELEMENT_T;
            for (size_t k = 0; values && k < op_elements(low.op, t, &low.sizes); k++) {
                low.tensor[t][k] = (float)element_round(TYPE_F16, low.tensor[t][k]);
            }
        }
        compute(&low);
        cr_assert(!accepted(&c, low.out), "%s", names[i]);
        drop(&c);
        drop(&low);
    }
}
