/* reference: every op has one, and the comparison that accepts a result. The tests of one op's are in its folder. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/inputs.h"
#include "common/ops/reference.h"

TestSuite(reference, .timeout = 60);

enum { N = 4, C = 37, COUNT = N * C };

static const struct op_sizes sizes = {.N = N, .C = C, .eps = 1e-5f};

Test(reference, every_op_has_one) {
    for (int k = 0; ops[k]; k++) {
        const struct op *op = ops[k];
        float *tensor[OP_MAX_TENSORS] = {0};
        double *expected[OP_MAX_TENSORS] = {0}, *condition[OP_MAX_TENSORS] = {0};
        struct op_sizes shape = sizes;
        if (op_is_on_sequences(op)) {
            shape = op_model_sizes(TYPE_F32, 3, 4, 2, 5, 6);
            shape.V = 9;
        }
        op_sizes_complete(op, &shape);
        for (int t = 0; t < op_tensor_count(op); t++) {
            size_t count = op_elements(op, t, &shape) + COUNT;
            tensor[t] = calloc(count, sizeof(float));
            expected[t] = calloc(count, sizeof(double));
            condition[t] = calloc(count, sizeof(double));
        }
        inputs_fill(op, &shape, VALUES_NORMAL, 1, tensor);
        reference_compute(op, &shape, (const float *const *)tensor, expected, condition);
        for (int t = 0; t < op_tensor_count(op); t++) {
            for (size_t i = 0; op_is_output(op, t) && i < op_elements(op, t, &shape); i++) {
                cr_assert(isfinite(expected[t][i]) && condition[t][i] >= 0.0, "%s: tensor %d", op->name, t);
            }
            free(tensor[t]);
            free(expected[t]);
            free(condition[t]);
        }
    }
}

Test(reference, nan_never_passes_a_tolerance) {
    cr_assert(!reference_accepts(TYPE_F32, 1.0, 1e9, NAN));
    cr_assert(!reference_accepts(TYPE_F32, NAN, 1e9, 1.0f));
    cr_assert(reference_accepts(TYPE_F32, NAN, 0.0, NAN));
    cr_assert(reference_accepts(TYPE_F32, NAN, 0.0, -NAN));
    cr_assert(reference_accepts(TYPE_F32, INFINITY, 1.0, INFINITY));
    cr_assert(!reference_accepts(TYPE_F32, INFINITY, 1.0, -INFINITY));
    cr_assert(!reference_accepts(TYPE_F32, 1.0, 1.0, INFINITY));
    cr_assert(reference_accepts(TYPE_F32, 5.0, INFINITY, NAN), "an open element is not judged");
    cr_assert(reference_accepts(TYPE_F32, 1.0, 1.0, nextafterf(1.0f, 2.0f)));
    cr_assert(!reference_accepts(TYPE_F32, 1.0, 1.0, 1.0f + 0x1p-20f));
}

Test(reference, one_unit_in_the_last_place_passes_and_is_counted) {
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

Test(reference, sixteen_bits_overflow_where_they_should) {
    cr_assert(reference_accepts(TYPE_F16, 70000.0, 1.0, INFINITY));
    cr_assert(!reference_accepts(TYPE_F16, 70000.0, 1.0, 65504.0f));
    cr_assert(reference_accepts(TYPE_F16, 1e-9, 0.0, 0.0f), "an exact result below the least subnormal is 0");
    cr_assert(!reference_accepts(TYPE_F16, 1.0, 1.0, NAN));
}
