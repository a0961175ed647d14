/* judge, lab 3's ops: masked and unwritten elements, misrounded elements, and second outputs. */
#include <criterion/criterion.h>

#include "checking.h"
#include "fakes_fused.h"

TestSuite(judge_types, .timeout = 60);

static struct failure failure;

static enum check_kind failing(int (*kernel)(const struct fake *, float *const[], const struct op_sizes *),
                               const char *op, enum op_type type) {
    struct fake fake = {.kernel = kernel};
    return first_failing_of(&fake, op, type, 64, &failure);
}

/* Zeros above the diagonal, also with CAUSAL_UPPER_KEEP. */
static int writes_above(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    struct op_sizes zeroing = *sizes;
    zeroing.upper = 0;
    return fake_causal(fake, tensor, &zeroing);
}

Test(judge_types, what_is_to_be_kept_may_not_be_written) {
    cr_assert_eq(failing(writes_above, "causal_softmax_forward", TYPE_BF16), CHECK_SHAPES);
    cr_assert_eq(failure.kind, FAILURE_WRONG);
    cr_assert_eq(failure.sizes.upper, 1);
    cr_assert(failure.column > failure.row % failure.sizes.T, "[%ld][%ld]", failure.row, failure.column);
    cr_assert(fabs(failure.expected) >= 16384.0, "the poison was expected, not %g", failure.expected);
    cr_assert_eq(failure.got, 0.0);
    cr_assert_eq(failure.tolerance, 0.0);
}

/* A masked entry that is nearly 0. */
static int nearly_zero(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_causal(fake, tensor, sizes);
    if (sizes->C > 1 && !sizes->upper) { tensor[0][1] = 1e-7f; }
    return 0;
}

Test(judge_types, a_masked_entry_is_exactly_zero) {
    cr_assert_eq(failing(nearly_zero, "causal_softmax_forward", TYPE_F32), CHECK_SHAPES);
    cr_assert_eq(failure.row, 0);
    cr_assert_eq(failure.column, 1);
    cr_assert_eq(failure.expected, 0.0);
    cr_assert_eq(failing(nearly_zero, "causal_softmax_forward", TYPE_F16), CHECK_SHAPES);
}

/* Truncated instead of rounded. */
static int truncates(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_residual_layernorm(fake, tensor, sizes);
    for (size_t i = 0; i < (size_t)sizes->N * (size_t)sizes->C; i++) {
        float out = tensor[0][i], rounded = (float)element_round(sizes->type, out);
        bool away = isfinite(out) && fabsf(rounded) > fabsf(out);
        if (away) { tensor[0][i] = (float)(rounded - copysign(element_ulp(sizes->type, out), out)); }
    }
    return 0;
}

Test(judge_types, too_many_misrounded_elements_are_a_failure) {
    cr_assert_eq(failing(truncates, "residual_layernorm_forward", TYPE_BF16), CHECK_SHAPES);
    cr_assert_eq(failure.kind, FAILURE_WRONG);
    cr_assert(failure.misrounded);
    cr_assert(failure.wrong * 10 > failure.total * 3 && failure.wrong * 10 < failure.total * 7, "%ld of %ld",
              failure.wrong, failure.total);
}

/* One element is the neighbour of its nearest value. */
static int one_misrounded(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_causal(fake, tensor, sizes);
    double out = element_round(sizes->type, tensor[0][0]);
    if (sizes->C > 64 && isfinite(out)) { tensor[0][0] = (float)(out - element_ulp(sizes->type, 0.75 * out)); }
    return 0;
}

Test(judge_types, one_misrounded_element_is_accepted) {
    cr_assert_eq(failing(one_misrounded, "causal_softmax_forward", TYPE_F16), 0, "%s [%ld][%ld] %g for %g",
                 failure.text, failure.row, failure.column, failure.got, failure.expected);
    cr_assert_eq(failing(one_misrounded, "causal_softmax_forward", TYPE_F32), 0);
}

/* The sum is off by one unit of T. */
static int sum_is_off(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_residual_layernorm(fake, tensor, sizes);
    tensor[1][0] += (float)element_ulp(sizes->type, tensor[1][0]);
    return 0;
}

Test(judge_types, the_sum_is_bit_exact) {
    for (int type = 0; type < OP_TYPES; type++) {
        cr_assert_eq(failing(sum_is_off, "residual_layernorm_forward", (enum op_type)type), CHECK_SHAPES);
        cr_assert_eq(failure.tensor, 1);
        cr_assert_eq(failure.wrong, 1);
    }
}

/* The residual is read again after the sum is written. */
static int reads_late(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    size_t count = (size_t)sizes->N * (size_t)sizes->C;
    float *x = malloc(count * sizeof *x);
    memcpy(x, tensor[4], count * sizeof *x);
    fake_residual_layernorm(fake, tensor, sizes);
    for (size_t i = 0; i < count; i++) { tensor[1][i] = (float)element_round(sizes->type, x[i] + tensor[5][i]); }
    free(x);
    return 0;
}

Test(judge_types, the_second_output_in_place) {
    cr_assert_eq(failing(reads_late, "residual_layernorm_forward", TYPE_F32), CHECK_MEMORY);
    cr_assert(failure.in_place);
    cr_assert_eq(failure.output, 1);
}

Test(judge_types, canaries_of_halves) {
    struct fake fake = {.kernel = fake_causal, .overruns = true};
    cr_assert_eq(first_failing_of(&fake, "causal_softmax_forward", TYPE_F16, 64, &failure), CHECK_SHAPES);
    cr_assert_eq(failure.kind, FAILURE_OVERRUN);
    cr_assert_str_eq(failure.text, "out was written 1 element past its end");
}
