/* types: lab 3's ops in three types. Right computations pass; a rounding too many anywhere, or a lower precision, fails. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "checking.h"
#include "fakes_fused.h"

TestSuite(types, .timeout = 120);

struct variant {
    const char *op;
    const char *name;
    struct fake fake;
};

/* Each in every type. */
static struct variant right[] = {
    {"softmax_forward", "32 lanes", {.kernel = fake_softmax, .lanes = 32}},
    {"softmax_forward", "online, __expf", {.kernel = fake_softmax, .online = true, .approximate = true}},
    {"softmax_backward", "one after the other", {.kernel = fake_softmax_backward}},
    {"softmax_backward", "32 lanes", {.kernel = fake_softmax_backward, .lanes = 32}},
    {"causal_softmax_forward", "one after the other", {.kernel = fake_causal}},
    {"causal_softmax_forward", "32 lanes, __expf", {.kernel = fake_causal, .lanes = 32, .approximate = true}},
    {"causal_softmax_forward", "online", {.kernel = fake_causal, .online = true}},
    {"causal_softmax_backward", "one after the other", {.kernel = fake_causal_backward}},
    {"causal_softmax_backward", "128 threads", {.kernel = fake_causal_backward, .lanes = 128}},
    {"layernorm_forward", "32 lanes, fused", {.kernel = fake_layernorm, .lanes = 32, .fused = true}},
    {"layernorm_backward", "rows in order", {.kernel = fake_backward}},
    {"residual_layernorm_forward", "one after the other", {.kernel = fake_residual_layernorm}},
    {"residual_layernorm_forward", "256, fused", {.kernel = fake_residual_layernorm, .lanes = 256, .fused = true}},
    /* one after the other it drifts: the roundings of values that are multiples of a coarse step are no random walk */
    {"residual_layernorm_forward",
     "Welford, 32 lanes",
     {.kernel = fake_residual_layernorm, .online = true, .lanes = 32}},
    {"residual_layernorm_backward", "rows in order", {.kernel = fake_residual_backward}},
    {"residual_layernorm_backward", "reversed, fused", {.kernel = fake_residual_backward, .lanes = 2, .fused = true}},
    {"layernorm_residual_forward", "32 lanes", {.kernel = fake_layernorm_residual, .lanes = 32}},
    {"layernorm_residual_backward", "rows in order", {.kernel = fake_backward}},
    {"bias_gelu_forward", "tanh", {.kernel = fake_gelu}},
    {"bias_gelu_forward", "as a sigmoid, __expf", {.kernel = fake_gelu, .approximate = true}},
    {"bias_gelu_backward", "tanh", {.kernel = fake_gelu_backward}},
    {"three_way_add", "plain", {.kernel = fake_three_way_add}},
};

/* Criterion hands each parameter to another process by its bytes, so it is an index: pointers would not survive. */
static struct criterion_test_params indices(int count) {
    static int index[128];
    for (int i = 0; i < count; i++) { index[i] = i; }
    return cr_make_param_array(int, index, (size_t)count);
}

ParameterizedTestParameters(types, right_kernels_pass) {
    return indices(OP_TYPES * (int)(sizeof right / sizeof right[0]));
}

ParameterizedTest(int *index, types, right_kernels_pass) {
    struct variant *variant = &right[*index / OP_TYPES];
    enum op_type type = (enum op_type)(*index % OP_TYPES);
    struct failure failure;
    enum check_kind failing = first_failing_of(&variant->fake, variant->op, type, 64, &failure);
    cr_assert(failing == 0,
              "%s_%s, %s: check %d failed at N = %d, C = %d, lengths %d, upper %d, %s, tensor %d [%ld][%ld]: expected "
              "%.9g, got %.9g +- %.3g, %ld of %ld%s, %s",
              variant->op, op_type_name(type), variant->name, (int)failing, failure.sizes.N, failure.sizes.C,
              failure.sizes.lengths, failure.sizes.upper, failure.values ? failure.values : "", failure.tensor,
              failure.row, failure.column, failure.expected, failure.got, failure.tolerance, failure.wrong,
              failure.total, failure.misrounded ? " misrounded" : "", failure.text);
}

/* ---- one rounding too many: right in fp32, where T rounds to float, and not in 16 bits ---- */

static float normalised(const struct op_sizes *sizes, const float *x, int c, float mean, float rstd) {
    return (float)element_round(sizes->type, (x[c] - mean) * rstd);
}

/* xhat is rounded to T before gamma and beta. */
static int rounds_before_gamma(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_residual_layernorm(fake, tensor, sizes);
    for (int n = 0; n < sizes->N; n++) {
        const float *sum = tensor[1] + (size_t)n * (size_t)sizes->C;
        for (int c = 0; c < sizes->C; c++) {
            float normal = normalised(sizes, sum, c, tensor[2][n], tensor[3][n]);
            tensor[0][(size_t)n * (size_t)sizes->C + (size_t)c] = normal * tensor[6][c] + tensor[7][c];
        }
    }
    return 0;
}

/* The statistics are those of the sum before it is rounded, and so is what is normalised. */
static int normalises_the_unrounded_sum(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    struct op_sizes wide = *sizes;
    wide.type = TYPE_F32;
    return fake_residual_layernorm(fake, tensor, &wide);
}

/* Only the statistics are of the unrounded sum. */
static int statistics_of_the_unrounded_sum(const struct fake *fake, float *const tensor[],
                                           const struct op_sizes *sizes) {
    normalises_the_unrounded_sum(fake, tensor, sizes);
    for (int n = 0; n < sizes->N; n++) {
        for (int c = 0; c < sizes->C; c++) {
            size_t i = (size_t)n * (size_t)sizes->C + (size_t)c;
            float sum = (float)element_round(sizes->type, tensor[1][i]);
            tensor[0][i] = (sum - tensor[2][n]) * tensor[3][n] * tensor[6][c] + tensor[7][c];
        }
    }
    return 0;
}

/* mean and rstd are kept in T. */
static int rounds_the_statistics(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_residual_layernorm(fake, tensor, sizes);
    for (int n = 0; n < sizes->N; n++) {
        tensor[2][n] = (float)element_round(sizes->type, tensor[2][n]);
        tensor[3][n] = (float)element_round(sizes->type, tensor[3][n]);
    }
    return 0;
}

/* Scaled in T before the softmax. */
static int rounds_after_scaling(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    size_t count = (size_t)sizes->N * (size_t)sizes->C;
    float *scaled = malloc(count * sizeof *scaled), *const with[] = {tensor[0], scaled, tensor[2]};
    struct op_sizes once = *sizes;
    for (size_t i = 0; i < count; i++) { scaled[i] = (float)element_round(sizes->type, 0.3f * tensor[1][i]); }
    once.scale = sizes->scale / 0.3f;
    fake_causal(fake, with, &once);
    free(scaled);
    return 0;
}

/* exp is rounded to T before it is divided by the sum. */
static int rounds_before_dividing(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_causal(fake, tensor, sizes);
    for (int n = 0; n < sizes->N; n++) {
        size_t at = (size_t)n * (size_t)sizes->C;
        int keys = inputs_keys(sizes, tensor[2], n);
        float largest = 0.0f;
        for (int j = 0; j < keys; j++) { largest = fmaxf(largest, tensor[0][at + (size_t)j]); }
        for (int j = 0; j < keys; j++) {
            float *out = &tensor[0][at + (size_t)j];
            *out = (float)element_round(sizes->type, *out / largest) * largest;
        }
    }
    return 0;
}

static struct variant coarse[] = {
    {"causal_softmax_forward", "scaled in T", {.kernel = rounds_after_scaling}},
    {"causal_softmax_forward", "exp in T", {.kernel = rounds_before_dividing}},
    {"causal_softmax_forward", "sums in fp16", {.kernel = fake_causal, .sum = round_f16}},
    {"causal_softmax_forward", "TF32 sums of 32 lanes", {.kernel = fake_causal, .sum = round_tf32, .lanes = 32}},
    {"causal_softmax_backward", "sums in bf16", {.kernel = fake_causal_backward, .sum = round_bf16}},
    {"residual_layernorm_forward", "rounded before gamma", {.kernel = rounds_before_gamma}},
    {"residual_layernorm_forward", "unrounded sum", {.kernel = normalises_the_unrounded_sum}},
    {"residual_layernorm_forward", "statistics of the unrounded sum", {.kernel = statistics_of_the_unrounded_sum}},
    {"residual_layernorm_forward", "rounded statistics", {.kernel = rounds_the_statistics}},
    {"residual_layernorm_forward", "sums in bf16", {.kernel = fake_residual_layernorm, .sum = round_bf16, .lanes = 32}},
    {"residual_layernorm_backward", "sums in bf16", {.kernel = fake_residual_backward, .sum = round_bf16}},
    {"bias_gelu_forward", "x + bias in bf16", {.kernel = fake_gelu, .input = round_bf16}},
    {"three_way_add", "not rounded in between", {.kernel = fake_three_way_add_at_once}},
};

ParameterizedTestParameters(types, one_rounding_too_many_fails) {
    return indices(2 * (int)(sizeof coarse / sizeof coarse[0]));
}

ParameterizedTest(int *index, types, one_rounding_too_many_fails) {
    struct variant *variant = &coarse[*index / 2];
    enum op_type type = *index % 2 ? TYPE_BF16 : TYPE_F16;
    struct failure failure;
    enum check_kind failing = first_failing_of(&variant->fake, variant->op, type, 0, &failure);
    cr_assert_eq(failing, CHECK_SHAPES, "%s_%s with %s passed the shapes", variant->op, op_type_name(type),
                 variant->name);
    cr_assert_eq(failure.kind, FAILURE_WRONG, "%s, %s: failure %d", variant->op, variant->name, failure.kind);
}
