/* inputs: repeatable, spread as promised, and with the hard rows where they should be. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/elements.h"
#include "common/ops/inputs.h"
#include "common/ops/reference.h"

TestSuite(inputs, .timeout = 60);

enum { N = 6, C = 771, COUNT = N * C };

static const struct op_sizes sizes = {.N = N, .C = C, .eps = 1e-5f};

struct filled {
    float storage[OP_MAX_TENSORS][COUNT];
    float *tensor[OP_MAX_TENSORS];
};

static struct filled *fill(const char *op, enum input_values values, uint64_t seed) {
    struct filled *filled = calloc(1, sizeof *filled);
    for (int t = 0; t < OP_MAX_TENSORS; t++) { filled->tensor[t] = filled->storage[t]; }
    inputs_fill(op_find(op), &sizes, values, seed, filled->tensor);
    return filled;
}

Test(inputs, the_seed_decides) {
    struct filled *a = fill("softmax_forward", VALUES_NORMAL, 5), *b = fill("softmax_forward", VALUES_NORMAL, 5),
                  *c = fill("softmax_forward", VALUES_NORMAL, 6);
    cr_assert(memcmp(a->storage, b->storage, sizeof a->storage) == 0);
    cr_assert(memcmp(a->storage[1], c->storage[1], sizeof a->storage[1]) != 0);
    free(a), free(b), free(c);
}

Test(inputs, tensors_differ) {
    struct filled *a = fill("residual_forward", VALUES_NORMAL, 5);
    cr_assert(memcmp(a->storage[1], a->storage[2], sizeof a->storage[1]) != 0);
    free(a);
}

static void moments(const float *x, int count, double *mean, double *deviation) {
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < count; i++) { sum += x[i]; }
    *mean = sum / count;
    for (int i = 0; i < count; i++) { squares += (x[i] - *mean) * (x[i] - *mean); }
    *deviation = sqrt(squares / count);
}

Test(inputs, kinds_have_the_moments_that_they_promise) {
    static const struct {
        enum input_values values;
        double mean, deviation;
    } promised[] = {
        {VALUES_NORMAL, 0.0, 1.0},     {VALUES_LARGE, 0.0, 4000.0},     {VALUES_SMALL, 0.0, 1e-3},
        {VALUES_SHIFTED, 1000.0, 1.0}, {VALUES_NEGATIVE, -5000.0, 1.0}, {VALUES_TINY_VARIANCE, 1000.0, 0.1},
        {VALUES_EQUAL, 1.0, 0.0},      {VALUES_DENORMAL, 0.0, 1e-40},
    };
    for (size_t k = 0; k < sizeof promised / sizeof promised[0]; k++) {
        double mean, deviation;
        struct filled *a = fill("softmax_forward", promised[k].values, 9);
        moments(a->storage[1], COUNT, &mean, &deviation);
        cr_assert(fabs(mean - promised[k].mean) <= 0.06 * promised[k].deviation, "%s: mean %g",
                  inputs_name(promised[k].values), mean);
        cr_assert(fabs(deviation - promised[k].deviation) <= 0.05 * promised[k].deviation, "%s: deviation %g",
                  inputs_name(promised[k].values), deviation);
        free(a);
    }
}

Test(inputs, spoiled_values_stand_in_one_row) {
    static const enum input_values kinds[] = {VALUES_ROW_MINUS_INF, VALUES_PLUS_INF, VALUES_NAN};
    static const int expected[] = {C, 1, 1};
    for (int k = 0; k < 3; k++) {
        struct filled *a = fill("softmax_forward", kinds[k], 3);
        int spoiled = 0;
        for (int i = 0; i < COUNT; i++) {
            bool here = !isfinite(a->storage[1][i]);
            cr_assert(!here || i / C == inputs_special_row(&sizes));
            spoiled += here;
        }
        cr_assert_eq(spoiled, expected[k], "%s: %d elements", inputs_name(kinds[k]), spoiled);
        free(a);
    }
}

Test(inputs, masks_leave_a_finite_entry_in_every_row) {
    struct filled *a = fill("softmax_forward", VALUES_MINUS_INF, 3);
    for (int n = 0; n < N; n++) {
        int masked = 0, leading = 0;
        for (int c = 0; c < C; c++) { masked += a->storage[1][n * C + c] == -INFINITY; }
        while (a->storage[1][n * C + leading] == -INFINITY) { leading++; }
        cr_assert(masked > C / 5 && masked < C, "row %d: %d masked", n, masked);
        if (n % 2) { cr_assert(leading >= C / 2, "row %d begins with only %d masked entries", n, leading); }
    }
    free(a);
}

Test(inputs, constant_rows_are_constant_and_sum_exactly) {
    struct filled *a = fill("layernorm_forward", VALUES_CONSTANT_ROWS, 3);
    for (int n = 0; n < N; n++) {
        float sum = 0.0f;
        for (int c = 0; c < C; c++) { sum += a->storage[3][n * C + c]; }
        cr_assert_eq(a->storage[3][n * C], a->storage[3][n * C + C - 1]);
        cr_assert_eq(sum / (float)C, a->storage[3][n * C]);
    }
    cr_assert_neq(a->storage[3][0], a->storage[3][C]);
    free(a);
}

Test(inputs, outputs_hold_poison_that_differs_everywhere) {
    struct filled *a = fill("softmax_forward", VALUES_NORMAL, 3);
    int equal = 0;
    for (int i = 0; i < COUNT; i++) {
        float poison = a->storage[0][i];
        cr_assert(fabsf(poison) >= 16384.0f && fabsf(poison) < 32768.0f);
        cr_assert_eq(poison, inputs_poison(3, 0, (uint64_t)i));
        equal += i > 0 && poison == a->storage[0][i - 1];
    }
    cr_assert_eq(equal, 0);
    free(a);
}

Test(inputs, backward_gets_the_statistics_of_its_x) {
    struct filled *a = fill("layernorm_backward", VALUES_SHIFTED, 3);
    for (int n = 0; n < N; n++) {
        double mean, rstd;
        reference_row_statistics(a->storage[4] + n * C, C, sizes.eps, &mean, &rstd);
        cr_assert_eq(a->storage[6][n], (float)mean);
        cr_assert_eq(a->storage[7][n], (float)rstd);
    }
    free(a);
}

Test(inputs, weights_stay_away_from_zero) {
    struct filled *a = fill("layernorm_forward", VALUES_NORMAL, 3);
    for (int c = 0; c < C; c++) { cr_assert(a->storage[4][c] > 0.2f && a->storage[4][c] < 1.8f); }
    free(a);
}

Test(inputs, every_kind_has_a_name_and_every_op_some_kinds) {
    for (int k = 0; k < VALUES_KINDS; k++) { cr_assert(inputs_name((enum input_values)k)); }
    for (int k = 0; ops[k]; k++) {
        const struct op *op = ops[k];
        if (op_is_on_sequences(op)) { continue; } /* products of large values, or of NaN, say little */
        cr_assert(op->hard >> VALUES_LARGE & 1, "%s", op->name);
        cr_assert(op->hard >> VALUES_NAN & 1, "%s", op->name);
    }
}

/* ---- types, causal matrices ---- */

enum { B = 5, H = 2, T = 19 };

static struct filled *fill_causal(const char *op, enum op_type type, enum input_values values, uint64_t seed) {
    struct filled *filled = calloc(1, sizeof *filled);
    struct op_sizes causal = op_causal_sizes(type, B, H, T, 0.5f);
    causal.lengths = 1;
    for (int t = 0; t < OP_MAX_TENSORS; t++) { filled->tensor[t] = filled->storage[t]; }
    cr_assert(op_elements(op_find(op), 0, &causal) <= COUNT);
    inputs_fill(op_find(op), &causal, values, seed, filled->tensor);
    return filled;
}

Test(inputs, values_are_those_of_the_type) {
    struct op_sizes narrow = sizes;
    for (int type = TYPE_F16; type <= TYPE_BF16; type++) {
        narrow.type = (enum op_type)type;
        for (int k = 0; ops[k]; k++) {
            const struct op *op = ops[k];
            struct filled *a = calloc(1, sizeof *a);
            for (int t = 0; t < OP_MAX_TENSORS; t++) { a->tensor[t] = a->storage[t]; }
            if (op->types >> type & 1 && !op_is_on_matrices(op) && !op_is_on_sequences(op)) {
                inputs_fill(op, &narrow, VALUES_SHIFTED, 4, a->tensor);
            }
            for (int t = 0; t < op_tensor_count(op); t++) {
                for (int i = 0; op->tensor[t].element == ELEMENT_T && i < COUNT; i++) {
                    float value = a->storage[t][i];
                    cr_assert_eq(value, (float)element_round(narrow.type, value), "%s: %s[%d]", op->name,
                                 op->tensor[t].name, i);
                }
            }
            free(a);
        }
    }
}

Test(inputs, lengths_are_of_every_kind) {
    struct filled *a = fill_causal("causal_softmax_forward", TYPE_F32, VALUES_NORMAL, 3);
    bool whole = false, none = false, one = false;
    for (int b = 0; b < B; b++) {
        float length = a->storage[2][b];
        cr_assert(length >= 0.0f && length <= T);
        whole = whole || length == T, none = none || length == 0.0f, one = one || length == 1.0f;
    }
    cr_assert(whole && none && one);
    free(a);
    a = fill_causal("causal_softmax_forward", TYPE_F32, VALUES_LENGTHS, 3);
    bool below = false, above = false;
    for (int b = 0; b < B; b++) { below = below || a->storage[2][b] < 0.0f, above = above || a->storage[2][b] > T; }
    cr_assert(below && above);
    free(a);
}

Test(inputs, nan_stands_where_the_mask_is_and_nowhere_else) {
    struct filled *a = fill_causal("causal_softmax_forward", TYPE_BF16, VALUES_MASKED_NAN, 5);
    struct op_sizes causal = op_causal_sizes(TYPE_BF16, B, H, T, 0.5f);
    causal.lengths = 1;
    for (int i = 0; i < B * H * T * T; i++) {
        bool masked = i % T >= inputs_keys(&causal, a->storage[2], i / T);
        cr_assert_eq(isnan(a->storage[1][i]) != 0, masked, "element %d", i);
    }
    free(a);
}

Test(inputs, spoiled_values_are_never_masked) {
    struct filled *a = fill_causal("causal_softmax_backward", TYPE_F32, VALUES_NAN, 6);
    struct op_sizes causal = op_causal_sizes(TYPE_F32, B, H, T, 0.5f);
    causal.lengths = 1;
    for (int i = 0; i < B * H * T * T; i++) {
        if (isnan(a->storage[1][i])) { cr_assert(i % T < inputs_keys(&causal, a->storage[3], i / T)); }
    }
    free(a);
}

Test(inputs, the_backward_pass_gets_a_softmax) {
    struct filled *a = fill_causal("causal_softmax_backward", TYPE_F32, VALUES_NORMAL, 6);
    struct op_sizes causal = op_causal_sizes(TYPE_F32, B, H, T, 0.5f);
    causal.lengths = 1;
    for (int n = 0; n < B * H * T; n++) {
        int keys = inputs_keys(&causal, a->storage[3], n);
        double sum = 0.0;
        for (int j = 0; j < T; j++) {
            float out = a->storage[2][n * T + j];
            sum += out;
            if (j >= keys) { cr_assert_eq(out, 0.0f); }
        }
        cr_assert(fabs(sum - (keys > 0)) < 1e-6, "row %d sums to %g", n, sum);
    }
    free(a);
}
