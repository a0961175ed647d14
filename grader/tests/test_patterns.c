/* patterns: mistakes of index, extent and state are recognised by the indices and values of the wrong elements. */
#include <criterion/criterion.h>

#include "diagnosing.h"

TestSuite(patterns, .timeout = 120);

/* ---- mistakes of index and extent, applied to a right softmax, LayerNorm or residual ---- */

typedef int kernel(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes);

/* Runs the right softmax into scratch, then stores only the elements that `keep` allows. */
static int keep_some(float *const tensor[], const struct op_sizes *sizes, bool (*keep)(const struct op_sizes *, long)) {
    struct fake plain = {.kernel = fake_softmax};
    long count = (long)sizes->N * sizes->C;
    float *scratch = malloc((size_t)count * sizeof(float));
    float *inner[2] = {scratch, tensor[1]};
    fake_device(&plain, 0);
    fake_softmax(&plain, inner, sizes);
    for (long i = 0; i < count; i++) {
        if (keep(sizes, i)) { tensor[0][i] = scratch[i]; }
    }
    free(scratch);
    return 0;
}

static bool keep_none(const struct op_sizes *s, long i) {
    return (void)s, (void)i, false;
}
static bool keep_block(const struct op_sizes *s, long i) {
    return i % s->C < 256;
}
static bool keep_rows(const struct op_sizes *s, long i) {
    return i / s->C < 32;
}
static bool keep_whole_blocks(const struct op_sizes *s, long i) {
    return i < (long)s->N * s->C / 256 * 256;
}
static bool keep_even(const struct op_sizes *s, long i) {
    return i % s->C % 2 == 0;
}

static int untouched(const struct fake *f, float *const t[], const struct op_sizes *s) {
    return (void)f, keep_some(t, s, keep_none);
}
static int first_256_columns(const struct fake *f, float *const t[], const struct op_sizes *s) {
    return (void)f, keep_some(t, s, keep_block);
}
static int first_32_rows(const struct fake *f, float *const t[], const struct op_sizes *s) {
    return (void)f, keep_some(t, s, keep_rows);
}
static int grid_rounded_down(const struct fake *f, float *const t[], const struct op_sizes *s) {
    return (void)f, keep_some(t, s, keep_whole_blocks);
}
static int every_other_column(const struct fake *f, float *const t[], const struct op_sizes *s) {
    return (void)f, keep_some(t, s, keep_even);
}

static int row_0_everywhere(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    for (int n = 0; n < sizes->N; n++) {
        fake_softmax_row(fake, tensor[0] + (size_t)n * (size_t)sizes->C, tensor[1], sizes->C);
    }
    return 0;
}

static int only_lane_0_has_the_sum(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i < (long)sizes->N * sizes->C; i++) {
        if (i % sizes->C % 32) { tensor[0][i] *= 1.5f + 0.01f * (float)(i % 7); }
    }
    return 0;
}

static int only_warp_0_has_the_sum(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i < (long)sizes->N * sizes->C; i++) {
        if (i % sizes->C % 256 >= 32) { tensor[0][i] *= 1.5f + 0.01f * (float)(i % 7); }
    }
    return 0;
}

static int tail_of_four(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i < (long)sizes->N * sizes->C; i++) {
        if (i % sizes->C >= sizes->C / 4 * 4) { tensor[0][i] = 0.25f; }
    }
    return 0;
}

static int counted_twice(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i < (long)sizes->N * sizes->C; i++) { tensor[0][i] *= 2.0f; }
    return 0;
}

static int scaled(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i < (long)sizes->N * sizes->C; i++) { tensor[0][i] *= 0.3f; }
    return 0;
}

static int one_beside(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    long count = (long)sizes->N * sizes->C;
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i + 1 < count; i++) { tensor[0][i] = tensor[0][i + 1]; }
    return 0;
}

static int transposed(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    long N = sizes->N, C = sizes->C;
    float *right = malloc((size_t)(N * C) * sizeof(float));
    float *inner[2] = {right, tensor[1]};
    fake_softmax(fake, inner, sizes);
    for (long i = 0; i < N * C; i++) { tensor[0][i] = right[i % N * C + i / N]; }
    free(right);
    return 0;
}

static int added_to_output(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    long count = (long)sizes->N * sizes->C;
    float *before = malloc((size_t)count * sizeof(float));
    memcpy(before, tensor[0], (size_t)count * sizeof(float));
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i < count; i++) { tensor[0][i] += before[i]; }
    free(before);
    return 0;
}

static int keeps_state(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i < (long)sizes->N * sizes->C && fake->calls > 1; i++) {
        tensor[0][i] /= 1.0f + 0.37f * (float)(fake->calls * (i / sizes->C + 1));
    }
    return 0;
}

static int nan_everywhere_once(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    bool found = false;
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i < (long)sizes->N * sizes->C; i++) { found = found || isnan(tensor[1][i]); }
    for (long i = 0; i < (long)sizes->N * sizes->C && found; i++) { tensor[0][i] = NAN; }
    return 0;
}

static int empty_lane_is_nan(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i < (long)sizes->N * sizes->C && sizes->C < 32; i++) { tensor[0][i] = NAN; }
    return 0;
}

static int zeros_for_all_masked(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (int n = 0; n < sizes->N; n++) {
        bool masked = true;
        for (int c = 0; c < sizes->C; c++) { masked = masked && tensor[1][n * sizes->C + c] == -INFINITY; }
        for (int c = 0; c < sizes->C && masked; c++) { tensor[0][n * sizes->C + c] = 0.0f; }
    }
    return 0;
}

static int hides_nan(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    for (long i = 0; i < (long)sizes->N * sizes->C; i++) {
        long row = i / sizes->C * sizes->C;
        bool masked = tensor[1][row] == -INFINITY && tensor[1][row + sizes->C - 1] == -INFINITY;
        if (isnan(tensor[0][i]) && !masked) { tensor[0][i] = 0.0f; }
    }
    return 0;
}

static int forgets_statistics(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    float *mean = malloc((size_t)sizes->N * sizeof(float)), *rstd = malloc((size_t)sizes->N * sizeof(float));
    float *inner[6] = {tensor[0], mean, rstd, tensor[3], tensor[4], tensor[5]};
    fake_layernorm(fake, inner, sizes);
    free(mean);
    free(rstd);
    return 0;
}

static int one_pass(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    (void)fake;
    for (int n = 0; n < sizes->N; n++) {
        float sum = 0.0f, squares = 0.0f, C = (float)sizes->C;
        const float *x = tensor[3] + (size_t)n * (size_t)sizes->C;
        for (int c = 0; c < sizes->C; c++) { sum += x[c], squares += x[c] * x[c]; }
        float mean = sum / C, rstd = 1.0f / sqrtf(squares / C - mean * mean + sizes->eps);
        for (int c = 0; c < sizes->C; c++) {
            tensor[0][n * sizes->C + c] = (x[c] - mean) * rstd * tensor[4][c] + tensor[5][c];
        }
        tensor[1][n] = mean;
        tensor[2][n] = rstd;
    }
    return 0;
}

static int coarse(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    struct fake rounded = *fake;
    rounded.input = round_bf16;
    return fake_layernorm(&rounded, tensor, sizes);
}

static int wrong_in_place(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    fake_softmax(fake, tensor, sizes);
    if (tensor[0] == tensor[1]) { tensor[0][sizes->C / 2] *= 1.25f; }
    return 0;
}

static int remembers(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    return fake->rehearsed ? 0 : fake_softmax(fake, tensor, sizes);
}

static int refuses_wide_rows(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    return sizes->C > 1024 ? 9 : fake_softmax(fake, tensor, sizes);
}

static const struct {
    const char *op;
    kernel *kernel;
    const char *id;
} hand_made[] = {
    {"softmax_forward", untouched, "output-untouched"},
    {"softmax_forward", first_256_columns, "columns-past-block"},
    {"softmax_forward", first_32_rows, "rows-past-grid"},
    {"softmax_forward", grid_rounded_down, "last-block-missing"},
    {"softmax_forward", every_other_column, "output-partly-untouched"},
    {"softmax_forward", row_0_everywhere, "only-row-0"},
    {"softmax_forward", only_lane_0_has_the_sum, "only-lane-0"},
    {"softmax_forward", only_warp_0_has_the_sum, "first-warp-right"},
    {"softmax_forward", tail_of_four, "vector-tail"},
    {"softmax_forward", counted_twice, "softmax-row-counted-twice"},
    {"softmax_forward", scaled, "scaled-by-constant"},
    {"softmax_forward", one_beside, "shifted-by-one"},
    {"softmax_forward", transposed, "transposed-index"},
    {"softmax_forward", added_to_output, "output-accumulated"},
    {"softmax_forward", keeps_state, "state-kept-between-calls"},
    {"softmax_forward", nan_everywhere_once, "nan-in-other-rows"},
    {"softmax_forward", empty_lane_is_nan, "softmax-inf-minus-inf"},
    {"softmax_forward", zeros_for_all_masked, "softmax-all-masked-row"},
    {"softmax_forward", hides_nan, "nan-hidden"},
    {"softmax_forward", wrong_in_place, "only-in-place"},
    {"softmax_forward", remembers, "result-cached"},
    {"softmax_forward", refuses_wide_rows, "launch-block-too-large"},
    {"layernorm_forward", forgets_statistics, "stats-not-written"},
    {"layernorm_forward", one_pass, "layernorm-one-pass"},
    {"layernorm_forward", coarse, "low-precision"},
};

ParameterizedTestParameters(patterns, each_pattern_is_named) {
    return indices(sizeof hand_made / sizeof hand_made[0]);
}

ParameterizedTest(int *index, patterns, each_pattern_is_named) {
    struct fake fake = {.kernel = hand_made[*index].kernel};
    const char *found = diagnosis(&fake, hand_made[*index].op, 64);
    cr_assert_str_eq(found, hand_made[*index].id, "%s was taken for '%s'", hand_made[*index].id, found);
}
