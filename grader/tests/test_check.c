/* check: passes float32 computations in several orders, fails lower precisions and every planted defect. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "checking.h"

TestSuite(check, .timeout = 120);

struct variant {
    const char *op;
    const char *name;
    struct fake fake;
};

/* Right kernels, which must pass every check. */
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

/* Criterion copies parameters byte by byte to another process, so they are indices, not pointers. */
static struct criterion_test_params indices(int count) {
    static int index[64];
    for (int i = 0; i < count; i++) { index[i] = i; }
    return cr_make_param_array(int, index, (size_t)count);
}

ParameterizedTestParameters(check, right_kernels_pass) {
    return indices(sizeof right / sizeof right[0]);
}

ParameterizedTest(int *index, check, right_kernels_pass) {
    struct variant *variant = &right[*index];
    struct failure failure;
    enum check_kind failing = first_failing(&variant->fake, variant->op, 64, &failure);
    cr_assert(failing == 0, "%s, %s: check %d failed at N = %d, C = %d, %s: expected %.9g, got %.9g +- %.3g, %s",
              variant->op, variant->name, (int)failing, failure.sizes.N, failure.sizes.C,
              failure.values ? failure.values : "", failure.expected, failure.got, failure.tolerance, failure.text);
}

/* Kernels of lower precision, each of which must fail at the ordinary values. */
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

ParameterizedTestParameters(check, lower_precision_fails) {
    return indices(sizeof coarse / sizeof coarse[0]);
}

ParameterizedTest(int *index, check, lower_precision_fails) {
    struct variant *variant = &coarse[*index];
    struct failure failure;
    enum check_kind failing = first_failing(&variant->fake, variant->op, 0, &failure);
    cr_assert_eq(failing, CHECK_SHAPES, "%s with %s passed the shapes", variant->op, variant->name);
    cr_assert_eq(failure.kind, FAILURE_WRONG, "%s, %s: failure %d", variant->op, variant->name, failure.kind);
}

/* ---- crashes, skeletons, cases ---- */

Test(check, a_crash_ends_the_check_at_once) {
    struct fake fake = {.kernel = fake_softmax, .status = CHILD_CRASHED};
    struct device device = fake_device(&fake, 0);
    struct evidence evidence;
    struct failure failure;
    evidence_init(&evidence, op_find("softmax_forward"), TYPE_F32);
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
    evidence_init(&evidence, op_find("softmax_forward"), TYPE_F32);
    cr_assert_eq(check_run(&device, CHECK_SHAPES, 1, 2, &evidence, &failure), VERDICT_NOT_STARTED);
    evidence_free(&evidence);
}

Test(check, secret_cases_depend_on_the_secret_alone) {
    struct test_case a[EVIDENCE_MAX_CASES], b[EVIDENCE_MAX_CASES];
    const struct op *op = op_find("softmax_forward");
    int count = cases_of(op, TYPE_F32, CHECK_SECRET, 1, 100, a, EVIDENCE_MAX_CASES);
    cr_assert_eq(cases_of(op, TYPE_F32, CHECK_SECRET, 2, 100, b, EVIDENCE_MAX_CASES), count);
    cr_assert(memcmp(a, b, (size_t)count * sizeof a[0]) == 0);
    cases_of(op, TYPE_F32, CHECK_SECRET, 1, 101, b, EVIDENCE_MAX_CASES);
    cr_assert(memcmp(a, b, (size_t)count * sizeof a[0]) != 0);
    cr_assert(count >= 5);
}

Test(check, published_cases_cover_what_kernels_are_built_of) {
    static const int columns[] = {1, 2, 31, 32, 33, 127, 128, 129, 768, 1023, 1024, 1025, 1600, 50257};
    struct test_case cases[EVIDENCE_MAX_CASES];
    int count = cases_of(op_find("softmax_forward"), TYPE_F32, CHECK_SHAPES, 1, 1, cases, EVIDENCE_MAX_CASES);
    for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++) {
        bool found = false;
        for (int i = 0; i < count; i++) { found = found || cases[i].sizes.C == columns[k]; }
        cr_assert(found, "no case with %d columns", columns[k]);
    }
}

Test(check, every_list_of_cases_fits) {
    struct test_case cases[EVIDENCE_MAX_CASES];
    for (int k = 0; ops[k]; k++) {
        const struct op *op = ops[k];
        int all = 0;
        for (int i = 0; i < 4; i++) { all += cases_of(op, TYPE_F32, correctness[i], 1, 1, cases, EVIDENCE_MAX_CASES); }
        cr_assert(all < EVIDENCE_MAX_CASES, "%s has %d cases", op->name, all);
    }
}
