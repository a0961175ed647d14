/* reference, lab 3's ops: closed forms, equalities between ops, and what passes in 16 bits. */
#include <criterion/criterion.h>
#include <math.h>

#include "common/ops/elements.h"
#include "common/ops/inputs.h"
#include "common/ops/reference.h"

TestSuite(reference_types, .timeout = 60);

enum { COUNT = 512 };

struct call {
    const struct op *op;
    struct op_sizes sizes;
    float value[OP_MAX_TENSORS][COUNT];
    double expected[OP_MAX_TENSORS][COUNT], condition[OP_MAX_TENSORS][COUNT];
};

static struct call call_of(const char *op, struct op_sizes sizes) {
    struct call call = {.op = op_find(op), .sizes = sizes};
    return call;
}

static void compute(struct call *call, const int *rows) {
    const float *value[OP_MAX_TENSORS];
    double *expected[OP_MAX_TENSORS], *condition[OP_MAX_TENSORS];
    for (int t = 0; t < OP_MAX_TENSORS; t++) {
        value[t] = call->value[t];
        expected[t] = call->expected[t];
        condition[t] = call->condition[t];
    }
    reference_compute_rows(call->op, &call->sizes, rows, value, expected, condition);
}

static void fill(struct call *call, uint64_t seed) {
    float *value[OP_MAX_TENSORS];
    for (int t = 0; t < OP_MAX_TENSORS; t++) { value[t] = call->value[t]; }
    inputs_fill(call->op, &call->sizes, VALUES_NORMAL, seed, value);
}

Test(reference_types, three_way_add_rounds_twice) {
    struct call call = call_of("three_way_add", (struct op_sizes){.N = 1, .C = 2, .type = TYPE_F16});
    float a[] = {2048.0f, 1.0f}, b[] = {1.0f, 1.0f}, c[] = {1.0f, 2048.0f};
    for (int i = 0; i < 2; i++) { call.value[1][i] = a[i], call.value[2][i] = b[i], call.value[3][i] = c[i]; }
    compute(&call, NULL);
    cr_assert(reference_accepts(TYPE_F16, call.expected[0][0], 0.0, 2048.0f), "(2048 + 1) + 1");
    cr_assert(!reference_accepts(TYPE_F16, call.expected[0][0], 0.0, 2050.0f));
    cr_assert(reference_accepts(TYPE_F16, call.expected[0][1], 0.0, 2050.0f), "(1 + 1) + 2048");
}

Test(reference_types, gelu_of_known_values) {
    struct call call = call_of("bias_gelu_forward", (struct op_sizes){.N = 1, .C = 4});
    float x[] = {0.0f, 0.5f, -2.0f, 30.0f}, bias[] = {0.0f, 0.5f, 1.0f, 0.0f};
    for (int i = 0; i < 4; i++) { call.value[1][i] = x[i], call.value[2][i] = bias[i]; }
    compute(&call, NULL);
    cr_assert_eq(call.expected[0][0], 0.0);
    cr_assert(fabs(call.expected[0][1] - 0.841191990) < 1e-8, "%.9f", call.expected[0][1]);
    cr_assert(fabs(call.expected[0][2] + 0.158808010) < 1e-8, "%.9f", call.expected[0][2]);
    cr_assert_eq(call.expected[0][3], 30.0);
}

Test(reference_types, a_causal_row_is_a_softmax_of_its_keys) {
    struct op_sizes sizes = op_causal_sizes(TYPE_F32, 2, 1, 3, 2.0f);
    sizes.lengths = 1;
    struct call call = call_of("causal_softmax_forward", sizes);
    float row[] = {0.0f, 0.5f * logf(3.0f), 7.0f};
    for (int i = 0; i < 18; i++) { call.value[1][i] = row[i % 3], call.value[0][i] = 100.0f + (float)i; }
    call.value[2][0] = 2.0f, call.value[2][1] = 0.0f;
    compute(&call, NULL);
    static const double expected[] = {1, 0, 0, 0.25, 0.75, 0, 0.25, 0.75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < 18; i++) { cr_assert(fabs(call.expected[0][i] - expected[i]) < 1e-7, "element %d", i); }
    call.sizes.upper = 1;
    compute(&call, NULL);
    for (int i = 0; i < 18; i++) {
        bool above = i % 3 > i / 3 % 3;
        double kept = above ? 100.0 + i : expected[i];
        cr_assert(fabs(call.expected[0][i] - kept) < 1e-7, "kept: element %d", i);
        if (above) { cr_assert_eq(call.condition[0][i], 0.0); }
    }
}

Test(reference_types, some_rows_are_those_of_the_whole) {
    struct op_sizes sizes = op_causal_sizes(TYPE_BF16, 2, 2, 9, 0.3f);
    struct call whole = call_of("causal_softmax_forward", sizes), part = whole;
    int rows[] = {35, 0, 13};
    fill(&whole, 3);
    compute(&whole, NULL);
    part.sizes.N = 3;
    for (int r = 0; r < 3; r++) {
        for (int j = 0; j < 9; j++) { part.value[1][9 * r + j] = whole.value[1][9 * rows[r] + j]; }
    }
    compute(&part, rows);
    for (int i = 0; i < 27; i++) {
        cr_assert_eq(part.expected[0][i], whole.expected[0][9 * rows[i / 9] + i % 9], "element %d", i);
    }
}

Test(reference_types, residual_layernorm_is_layernorm_of_the_rounded_sum) {
    struct op_sizes sizes = {.N = 3, .C = 40, .eps = 1e-5f, .type = TYPE_BF16};
    struct call fused = call_of("residual_layernorm_forward", sizes), plain = call_of("layernorm_forward", sizes);
    fill(&fused, 5);
    compute(&fused, NULL);
    for (int i = 0; i < 120; i++) {
        double sum = element_round(TYPE_BF16, (double)fused.value[4][i] + fused.value[5][i]);
        cr_assert_eq(fused.expected[1][i], sum);
        plain.value[3][i] = (float)sum;
        plain.value[4][i % 40] = fused.value[6][i % 40], plain.value[5][i % 40] = fused.value[7][i % 40];
    }
    compute(&plain, NULL);
    for (int i = 0; i < 120; i++) { cr_assert_eq(fused.expected[0][i], plain.expected[0][i]); }
    for (int n = 0; n < 3; n++) { cr_assert_eq(fused.expected[3][n], plain.expected[2][n]); }
}

Test(reference_types, the_other_order_is_another_function) {
    struct op_sizes sizes = {.N = 3, .C = 40, .eps = 1e-5f, .type = TYPE_F32};
    struct call other = call_of("layernorm_residual_forward", sizes), plain = call_of("layernorm_forward", sizes);
    fill(&other, 5);
    compute(&other, NULL);
    for (int i = 0; i < 120; i++) {
        plain.value[3][i] = other.value[3][i];
        plain.value[4][i % 40] = other.value[5][i % 40], plain.value[5][i % 40] = other.value[6][i % 40];
    }
    compute(&plain, NULL);
    for (int i = 0; i < 120; i++) {
        cr_assert(fabs(other.expected[0][i] - plain.expected[0][i] - other.value[4][i]) < 1e-12);
    }
}

Test(reference_types, one_unit_in_the_last_place_passes_and_is_counted) {
    double expected = 1.0 + 0x1p-9; /* a quarter of the way from 1 to bf16's next value */
    cr_assert(reference_accepts(TYPE_BF16, expected, 1.0, 1.0f));
    cr_assert(!reference_misrounded(TYPE_BF16, expected, 1.0, 1.0f));
    cr_assert(reference_accepts(TYPE_BF16, expected, 1.0, 1.0f + 0x1p-7f));
    cr_assert(reference_misrounded(TYPE_BF16, expected, 1.0, 1.0f + 0x1p-7f));
    cr_assert(!reference_accepts(TYPE_BF16, expected, 1.0, 1.0f + 0x1p-6f));
    /* in the middle, give or take the float32 tolerance, both neighbours are right */
    double middle = 1.0 + 0x1p-8 + 0x1p-24;
    cr_assert(!reference_misrounded(TYPE_BF16, middle, 1.0, 1.0f));
    cr_assert(!reference_misrounded(TYPE_BF16, middle, 1.0, 1.0f + 0x1p-7f));
    cr_assert(reference_misrounded(TYPE_BF16, middle + 0x1p-20, 1.0, 1.0f));
    cr_assert(!reference_misrounded(TYPE_F32, 1.0, 1.0, 2.0f), "float32 has its tolerance alone");
    cr_assert_eq(reference_misrounded_allowed(99), 1);
    cr_assert_eq(reference_misrounded_allowed(1000), 11);
}

Test(reference_types, sixteen_bits_overflow_where_they_should) {
    cr_assert(reference_accepts(TYPE_F16, 70000.0, 1.0, INFINITY));
    cr_assert(!reference_accepts(TYPE_F16, 70000.0, 1.0, 65504.0f));
    cr_assert(reference_accepts(TYPE_F16, 1e-9, 0.0, 0.0f), "an exact result below the least subnormal is 0");
    cr_assert(!reference_accepts(TYPE_F16, 1.0, 1.0, NAN));
}
