/* judge: every planted defect is found and described: elements, canaries, inputs, repetition, findings. */
#include <criterion/criterion.h>

#include "checking.h"
#include "fakes_fused.h"

TestSuite(judge, .timeout = 120);

/* ---- planted defects ---- */

/* Right except for one element of one shape. */
static int one_element_off(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    if (sizes->N == 37 && sizes->C == 768) { tensor[0][36 * 768 + 767] *= 1.001f; }
    return 0;
}

Test(judge, one_wrong_element_is_found_and_located) {
    struct fake fake = {.kernel = one_element_off};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_SHAPES);
    cr_assert_eq(failure.kind, FAILURE_WRONG);
    cr_assert_eq(failure.sizes.C, 768);
    cr_assert_eq(failure.row, 36);
    cr_assert_eq(failure.column, 767);
    cr_assert_eq(failure.wrong, 1);
    cr_assert_eq(failure.total, 37 * 768);
    cr_assert(fabs(failure.got / failure.expected - 1.001) < 1e-4);
}

static int all_zero(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    (void)fake;
    for (size_t i = 0; i < (size_t)sizes->N * (size_t)sizes->C; i++) { tensor[0][i] = 0.0f; }
    return 0;
}

static int all_nan(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    (void)fake;
    for (size_t i = 0; i < (size_t)sizes->N * (size_t)sizes->C; i++) { tensor[0][i] = NAN; }
    return 0;
}

static int nothing(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    (void)fake, (void)tensor, (void)sizes;
    return 0;
}

Test(judge, zeros_nan_and_stale_memory_fail) {
    int (*kernels[])(const struct fake *, float *const[], const struct op_sizes *) = {all_zero, all_nan, nothing};
    for (int i = 0; i < 3; i++) {
        struct fake fake = {.kernel = kernels[i]};
        struct failure failure;
        cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_SHAPES, "kernel %d passed", i);
        cr_assert_eq(failure.column, 0);
        cr_assert_eq(failure.wrong, failure.total);
    }
}

static int one_key_off(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_causal(fake, tensor, sizes);
    if (sizes->C == 1) { tensor[0][1] = 0.5f; }
    return 0;
}

Test(judge, an_element_of_a_row_of_one_has_a_column) {
    struct fake fake = {.kernel = one_key_off};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "causal_softmax_forward", 0, &failure), CHECK_SHAPES);
    cr_assert_eq(failure.row, 1);
    cr_assert_eq(failure.column, 0);
}

static int nan_where_masked(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (int i = 0; i < sizes->N * sizes->C; i++) {
        if (tensor[0][i] == 0.0f && tensor[1][i] == -INFINITY) { tensor[0][i] = 1e-30f; }
    }
    return 0;
}

Test(judge, a_masked_entry_must_be_exactly_zero) {
    struct fake fake = {.kernel = nan_where_masked};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_VALUES);
    cr_assert_eq(failure.expected, 0.0);
    cr_assert_eq(failure.tolerance, 0.0);
}

static int forgets_nan(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (int i = 0; i < sizes->N * sizes->C; i++) {
        if (isnan(tensor[0][i])) { tensor[0][i] = 0.0f; }
    }
    return 0;
}

Test(judge, nan_must_be_where_it_belongs) {
    struct fake fake = {.kernel = forgets_nan};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_VALUES);
    cr_assert(isnan(failure.expected));
    cr_assert_eq(failure.got, 0.0);
}

Test(judge, a_written_input_is_found) {
    struct fake fake = {.kernel = fake_residual, .writes_input = true};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "residual_forward", 0, &failure), CHECK_SHAPES);
    cr_assert_eq(failure.kind, FAILURE_MODIFIED);
    cr_assert_eq(failure.tensor, 2);
    cr_assert_eq(failure.row, 0);
}

Test(judge, a_canary_past_the_end_is_watched) {
    struct fake fake = {.kernel = fake_residual, .overruns = true};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "residual_forward", 64, &failure), CHECK_SHAPES);
    cr_assert_eq(failure.kind, FAILURE_OVERRUN);
    cr_assert(strstr(failure.text, "out was written 1 element past its end"), "%s", failure.text);
}

static int drifts(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    tensor[0][0] = nextafterf(tensor[0][0], fake->calls % 2 ? 2.0f : 0.0f);
    return 0;
}

Test(judge, two_calls_must_agree_bit_for_bit) {
    struct fake fake = {.kernel = drifts};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_MEMORY);
    cr_assert_eq(failure.kind, FAILURE_REPEAT);
}

static int in_place_reads_late(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    if (tensor[0] != tensor[1]) { return fake_softmax(fake, tensor, sizes); }
    return all_zero(fake, tensor, sizes);
}

Test(judge, in_place_calls_are_made) {
    struct fake fake = {.kernel = in_place_reads_late};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_MEMORY);
    cr_assert(failure.in_place);
}

static int eps_is_fixed(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    struct op_sizes fixed = {.N = sizes->N, .C = sizes->C, .eps = 1e-5f};
    return fake_layernorm(fake, tensor, &fixed);
}

Test(judge, eps_is_an_argument) {
    struct fake fake = {.kernel = eps_is_fixed};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "layernorm_forward", 0, &failure), CHECK_VALUES);
}

static int one_pass(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_layernorm(fake, tensor, sizes);
    for (int n = 0; n < sizes->N; n++) {
        float sum = 0.0f, squares = 0.0f, C = (float)sizes->C;
        const float *x = tensor[3] + (size_t)n * (size_t)sizes->C;
        for (int c = 0; c < sizes->C; c++) { sum += x[c], squares += x[c] * x[c]; }
        float variance = squares / C - sum / C * (sum / C), rstd = 1.0f / sqrtf(variance + sizes->eps);
        for (int c = 0; c < sizes->C; c++) {
            tensor[0][n * sizes->C + c] = (x[c] - sum / C) * rstd * tensor[4][c] + tensor[5][c];
        }
        tensor[2][n] = rstd;
    }
    return 0;
}

Test(judge, cancellation_in_the_variance_fails_at_large_means) {
    struct fake fake = {.kernel = one_pass};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "layernorm_forward", 0, &failure), CHECK_VALUES);
    cr_assert(strstr(failure.values, "mean 1000") || strstr(failure.values, "-5000"), "%s", failure.values);
}

/* ---- findings ---- */

Test(judge, an_error_of_the_backend_fails_a_right_result) {
    struct finding_record record = {SIMT_RACE, 1, 41, "softmax.cu", "k", "a race\n"};
    struct fake fake = {.kernel = fake_softmax, .finding = &record};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_SHAPES);
    cr_assert_eq(failure.kind, FAILURE_FINDING);
    cr_assert_eq(failure.finding, SIMT_RACE);
    cr_assert_eq(failure.line, 41);
    cr_assert_str_eq(failure.file, "softmax.cu");
}

Test(judge, a_note_of_the_backend_does_not) {
    struct finding_record record = {SIMT_RACE_SAME_VALUE, 0, 41, "softmax.cu", "k", "a note\n"};
    struct fake fake = {.kernel = fake_softmax, .finding = &record};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), 0);
}
