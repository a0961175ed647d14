/* check: passes float32 computations in several orders, fails lower precisions and every planted defect. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "fakes.h"

TestSuite(check, .timeout = 120);

static const enum check_kind correctness[] = {CHECK_SHAPES, CHECK_VALUES, CHECK_MEMORY, CHECK_SECRET};

/* The first check that fails, or 0; `failure` says how. */
static enum check_kind first_failing(struct fake *fake, const char *op, int guard, struct failure *failure) {
    struct evidence evidence;
    enum check_kind failing = 0;
    struct device device = fake_device(fake, guard);
    evidence_init(&evidence, op_find(op));
    *failure = (struct failure){0};
    for (int i = 0; i < 4 && !failing; i++) {
        if (check_run(&device, correctness[i], 2024, 77, &evidence, failure) != VERDICT_PASS) { failing = correctness[i]; }
    }
    evidence_free(&evidence);
    return failing;
}

struct variant {
    const char *op;
    const char *name;
    struct fake fake;
};

/* Right: all of these must pass everything. */
static struct variant right[] = {
    {"residual_forward", "plain", {.kernel = fake_residual}},
    {"softmax_forward", "one after the other", {.kernel = fake_softmax}},
    {"softmax_forward", "32 lanes", {.kernel = fake_softmax, .lanes = 32}},
    {"softmax_forward", "256 threads, __expf", {.kernel = fake_softmax, .lanes = 256, .approximate = true}},
    {"softmax_forward", "one after the other, __expf", {.kernel = fake_softmax, .approximate = true}},
    {"softmax_forward", "online", {.kernel = fake_softmax, .online = true}},
    {"softmax_forward", "online, __expf", {.kernel = fake_softmax, .online = true, .approximate = true}},
    {"layernorm_forward", "one after the other", {.kernel = fake_layernorm}},
    {"layernorm_forward", "32 lanes, fused", {.kernel = fake_layernorm, .lanes = 32, .fused = true}},
    {"layernorm_forward", "1024 threads", {.kernel = fake_layernorm, .lanes = 1024}},
    {"layernorm_forward", "Welford", {.kernel = fake_layernorm, .online = true}},
    {"layernorm_backward", "rows in order", {.kernel = fake_backward}},
    {"layernorm_backward", "rows reversed, fused", {.kernel = fake_backward, .lanes = 2, .fused = true}},
    {"row_sum", "one after the other", {.kernel = fake_row_sum}},
    {"row_sum", "128 threads", {.kernel = fake_row_sum, .lanes = 128}},
    {"row_sum_squares", "one after the other", {.kernel = fake_row_sum_squares}},
    {"row_sum_squares", "32 lanes", {.kernel = fake_row_sum_squares, .lanes = 32}},
    {"row_dot", "one after the other", {.kernel = fake_row_dot}},
    {"row_dot", "32 lanes", {.kernel = fake_row_dot, .lanes = 32}},
    {"bias_add", "plain", {.kernel = fake_bias_add}},
};

/* Criterion hands each parameter to another process by its bytes, so it is an index: pointers would not survive. */
static struct criterion_test_params indices(int count) {
    static int index[64];
    for (int i = 0; i < count; i++) { index[i] = i; }
    return cr_make_param_array(int, index, (size_t)count);
}

ParameterizedTestParameters(check, right_kernels_pass) { return indices(sizeof right / sizeof right[0]); }

ParameterizedTest(int *index, check, right_kernels_pass) {
    struct variant *variant = &right[*index];
    struct failure failure;
    enum check_kind failing = first_failing(&variant->fake, variant->op, 64, &failure);
    cr_assert(failing == 0, "%s, %s: check %d failed at N = %d, C = %d, %s: expected %.9g, got %.9g +- %.3g, %s",
              variant->op, variant->name, (int)failing, failure.sizes.N, failure.sizes.C,
              failure.values ? failure.values : "", failure.expected, failure.got, failure.tolerance, failure.text);
}

/* Lower precision: each must fail, and already at the ordinary values. */
static struct variant coarse[] = {
    {"residual_forward", "TF32 inputs", {.kernel = fake_residual, .input = round_tf32}},
    {"softmax_forward", "TF32 inputs", {.kernel = fake_softmax, .input = round_tf32}},
    {"softmax_forward", "bf16 inputs, online", {.kernel = fake_softmax, .input = round_bf16, .online = true}},
    {"softmax_forward", "TF32 sums of 32 lanes", {.kernel = fake_softmax, .sum = round_tf32, .lanes = 32}},
    {"softmax_forward", "bf16 sums of 256", {.kernel = fake_softmax, .sum = round_bf16, .lanes = 256}},
    {"softmax_forward", "TF32 results", {.kernel = fake_softmax, .stored = round_tf32}},
    {"layernorm_forward", "TF32 inputs", {.kernel = fake_layernorm, .input = round_tf32}},
    {"layernorm_forward", "bf16 results", {.kernel = fake_layernorm, .stored = round_bf16}},
    {"layernorm_forward", "TF32 sums of 32 lanes", {.kernel = fake_layernorm, .sum = round_tf32, .lanes = 32}},
    {"layernorm_backward", "TF32 inputs", {.kernel = fake_backward, .input = round_tf32}},
    {"layernorm_backward", "bf16 sums", {.kernel = fake_backward, .sum = round_bf16}},
    {"layernorm_backward", "TF32 sums", {.kernel = fake_backward, .sum = round_tf32}},
    {"row_sum", "TF32 inputs", {.kernel = fake_row_sum, .input = round_tf32}},
    {"row_sum", "TF32 sums of 128", {.kernel = fake_row_sum, .sum = round_tf32, .lanes = 128}},
    {"row_sum_squares", "TF32 sums of 32 lanes", {.kernel = fake_row_sum_squares, .sum = round_tf32, .lanes = 32}},
    {"row_dot", "TF32 sums of 32 lanes", {.kernel = fake_row_dot, .sum = round_tf32, .lanes = 32}},
    {"row_dot", "bf16 inputs", {.kernel = fake_row_dot, .input = round_bf16}},
    {"bias_add", "TF32 results", {.kernel = fake_bias_add, .stored = round_tf32}},
};

ParameterizedTestParameters(check, lower_precision_fails) { return indices(sizeof coarse / sizeof coarse[0]); }

ParameterizedTest(int *index, check, lower_precision_fails) {
    struct variant *variant = &coarse[*index];
    struct failure failure;
    enum check_kind failing = first_failing(&variant->fake, variant->op, 0, &failure);
    cr_assert_eq(failing, CHECK_SHAPES, "%s with %s passed the shapes", variant->op, variant->name);
    cr_assert_eq(failure.kind, FAILURE_WRONG, "%s, %s: failure %d", variant->op, variant->name, failure.kind);
}

/* ---- planted defects ---- */

/* Right but for one element of one shape. */
static int one_element_off(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    if (sizes->N == 37 && sizes->C == 768) { tensor[0][36 * 768 + 767] *= 1.001f; }
    return 0;
}

Test(check, one_wrong_element_is_found_and_located) {
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

Test(check, zeros_nan_and_stale_memory_fail) {
    int (*kernels[])(const struct fake *, float *const[], const struct op_sizes *) = {all_zero, all_nan, nothing};
    for (int i = 0; i < 3; i++) {
        struct fake fake = {.kernel = kernels[i]};
        struct failure failure;
        cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_SHAPES, "kernel %d passed", i);
        cr_assert_eq(failure.column, 0);
        cr_assert_eq(failure.wrong, failure.total);
    }
}

static int nan_where_masked(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (int i = 0; i < sizes->N * sizes->C; i++) {
        if (tensor[0][i] == 0.0f && tensor[1][i] == -INFINITY) { tensor[0][i] = 1e-30f; }
    }
    return 0;
}

Test(check, a_masked_entry_must_be_exactly_zero) {
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

Test(check, nan_must_be_where_it_belongs) {
    struct fake fake = {.kernel = forgets_nan};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_VALUES);
    cr_assert(isnan(failure.expected));
    cr_assert_eq(failure.got, 0.0);
}

Test(check, a_written_input_is_found) {
    struct fake fake = {.kernel = fake_residual, .writes_input = true};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "residual_forward", 0, &failure), CHECK_SHAPES);
    cr_assert_eq(failure.kind, FAILURE_MODIFIED);
    cr_assert_eq(failure.tensor, 2);
    cr_assert_eq(failure.row, 0);
}

Test(check, a_canary_past_the_end_is_watched) {
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

Test(check, two_calls_must_agree_bit_for_bit) {
    struct fake fake = {.kernel = drifts};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_MEMORY);
    cr_assert_eq(failure.kind, FAILURE_REPEAT);
}

static int in_place_reads_late(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    if (tensor[0] != tensor[1]) { return fake_softmax(fake, tensor, sizes); }
    return all_zero(fake, tensor, sizes);
}

Test(check, in_place_calls_are_made) {
    struct fake fake = {.kernel = in_place_reads_late};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_MEMORY);
    cr_assert(failure.in_place);
}

static int eps_is_fixed(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    struct op_sizes fixed = {sizes->N, sizes->C, 1e-5f};
    return fake_layernorm(fake, tensor, &fixed);
}

Test(check, eps_is_an_argument) {
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

Test(check, cancellation_in_the_variance_fails_at_large_means) {
    struct fake fake = {.kernel = one_pass};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "layernorm_forward", 0, &failure), CHECK_VALUES);
    cr_assert(strstr(failure.values, "mean 1000") || strstr(failure.values, "-5000"), "%s", failure.values);
}

/* ---- findings, crashes, skeletons ---- */

Test(check, an_error_of_the_backend_fails_a_right_result) {
    struct finding_record record = {SIMT_RACE, 1, 41, "softmax.cu", "k", "a race\n"};
    struct fake fake = {.kernel = fake_softmax, .finding = &record};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), CHECK_SHAPES);
    cr_assert_eq(failure.kind, FAILURE_FINDING);
    cr_assert_eq(failure.finding, SIMT_RACE);
    cr_assert_eq(failure.line, 41);
    cr_assert_str_eq(failure.file, "softmax.cu");
}

Test(check, a_note_of_the_backend_does_not) {
    struct finding_record record = {SIMT_RACE_SAME_VALUE, 0, 41, "softmax.cu", "k", "a note\n"};
    struct fake fake = {.kernel = fake_softmax, .finding = &record};
    struct failure failure;
    cr_assert_eq(first_failing(&fake, "softmax_forward", 0, &failure), 0);
}

Test(check, a_crash_ends_the_check_at_once) {
    struct fake fake = {.kernel = fake_softmax, .status = CHILD_CRASHED};
    struct device device = fake_device(&fake, 0);
    struct evidence evidence;
    struct failure failure;
    evidence_init(&evidence, op_find("softmax_forward"));
    cr_assert_eq(check_run(&device, CHECK_SHAPES, 1, 2, &evidence, &failure), VERDICT_FAIL);
    cr_assert_eq(failure.kind, FAILURE_CRASH);
    cr_assert_eq(evidence.count, 1);
    cr_assert_str_eq(failure.text, "the fake was told to fail");
    evidence_free(&evidence);
}

static int not_supported(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    (void)fake, (void)tensor, (void)sizes;
    return 801;
}

Test(check, a_skeleton_is_not_started) {
    struct fake fake = {.kernel = not_supported};
    struct device device = fake_device(&fake, 0);
    struct evidence evidence;
    struct failure failure;
    evidence_init(&evidence, op_find("softmax_forward"));
    cr_assert_eq(check_run(&device, CHECK_SHAPES, 1, 2, &evidence, &failure), VERDICT_NOT_STARTED);
    evidence_free(&evidence);
}

Test(check, secret_cases_depend_on_the_secret_alone) {
    struct test_case a[EVIDENCE_MAX_CASES], b[EVIDENCE_MAX_CASES];
    const struct op *op = op_find("softmax_forward");
    int count = cases_of(op, CHECK_SECRET, 1, 100, a, EVIDENCE_MAX_CASES);
    cr_assert_eq(cases_of(op, CHECK_SECRET, 2, 100, b, EVIDENCE_MAX_CASES), count);
    cr_assert(memcmp(a, b, (size_t)count * sizeof a[0]) == 0);
    cases_of(op, CHECK_SECRET, 1, 101, b, EVIDENCE_MAX_CASES);
    cr_assert(memcmp(a, b, (size_t)count * sizeof a[0]) != 0);
    cr_assert(count >= 5);
}

Test(check, published_cases_cover_what_kernels_are_built_of) {
    static const int columns[] = {1, 2, 31, 32, 33, 127, 128, 129, 768, 1023, 1024, 1025, 1600, 50257};
    struct test_case cases[EVIDENCE_MAX_CASES];
    int count = cases_of(op_find("softmax_forward"), CHECK_SHAPES, 1, 1, cases, EVIDENCE_MAX_CASES);
    for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++) {
        bool found = false;
        for (int i = 0; i < count; i++) { found = found || cases[i].sizes.C == columns[k]; }
        cr_assert(found, "no case with %d columns", columns[k]);
    }
}

Test(check, every_list_of_cases_fits) {
    struct test_case cases[EVIDENCE_MAX_CASES];
    for (const struct op *op = ops; op->name; op++) {
        int all = 0;
        for (int i = 0; i < 4; i++) { all += cases_of(op, correctness[i], 1, 1, cases, EVIDENCE_MAX_CASES); }
        cr_assert(all < EVIDENCE_MAX_CASES, "%s has %d cases", op->name, all);
    }
}
