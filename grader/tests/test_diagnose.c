/* diagnose: every known mistake is recognised, and not taken for another one. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "../diagnose.h"
#include "../mistakes.h"
#include "fakes.h"

TestSuite(diagnose, .timeout = 120);

static const enum check_kind correctness[] = {CHECK_SHAPES, CHECK_VALUES, CHECK_MEMORY, CHECK_SECRET};

/* The id that a learner would read, "" when no check fails, "none" when nothing matches. */
static const char *diagnosis(struct fake *fake, const char *op, int guard) {
    struct evidence evidence;
    struct failure failure;
    struct device device = fake_device(fake, guard);
    const struct signature *signature = NULL;
    bool failed = false;
    evidence_init(&evidence, op_find(op));
    for (int i = 0; i < 4 && !failed; i++) {
        failed = check_run(&device, correctness[i], 2024, 77, &evidence, &failure) != VERDICT_PASS;
    }
    if (failed) { signature = diagnose(&evidence); }
    evidence_free(&evidence);
    return !failed ? "" : signature ? signature->id : "none";
}

/* ---- the mistakes of mistakes.c, each played by a fake ---- */

static const struct mistake *played;

static int play(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    const struct op *op = op_find(played->op);
    float *given[OP_MAX_TENSORS] = {0};
    double *out[OP_MAX_TENSORS] = {0};
    (void)fake;
    for (int t = 0; t < op->tensor_count; t++) {
        size_t count = op_elements(op, t, sizes);
        given[t] = malloc(count * sizeof(float) + 1);
        out[t] = calloc(count + 1, sizeof(double));
        memcpy(given[t], tensor[t], count * sizeof(float));
    }
    played->compute(played->variant, sizes, (const float *const *)given, out);
    for (int t = 0; t < op->tensor_count; t++) {
        for (size_t i = 0; op->tensor[t].role != ROLE_IN && i < op_elements(op, t, sizes); i++) {
            tensor[t][i] = (float)out[t][i];
        }
        free(given[t]);
        free(out[t]);
    }
    return 0;
}

/* Criterion hands parameters over by their bytes, so they are indices. */
static struct criterion_test_params indices(int count) {
    static int index[128];
    for (int i = 0; i < count; i++) { index[i] = i; }
    return cr_make_param_array(int, index, (size_t)count);
}

ParameterizedTestParameters(diagnose, each_mistake_is_named) {
    int count = 0;
    while (mistakes[count].id) { count++; }
    return indices(count);
}

ParameterizedTest(int *index, diagnose, each_mistake_is_named) {
    struct fake fake = {.kernel = play};
    played = &mistakes[*index];
    const char *found = diagnosis(&fake, played->op, 64);
    cr_assert_str_eq(found, played->id, "%s, variant %d, was taken for '%s'", played->id, played->variant, found);
}

/* ---- mistakes of index and extent, played by hand on a right softmax, LayerNorm or residual ---- */

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

static bool keep_none(const struct op_sizes *s, long i) { return (void)s, (void)i, false; }
static bool keep_block(const struct op_sizes *s, long i) { return i % s->C < 256; }
static bool keep_rows(const struct op_sizes *s, long i) { return i / s->C < 32; }
static bool keep_whole_blocks(const struct op_sizes *s, long i) { return i < (long)s->N * s->C / 256 * 256; }
static bool keep_even(const struct op_sizes *s, long i) { return i % s->C % 2 == 0; }

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
    {"softmax_forward", only_warp_0_has_the_sum, "other-warps-lost"},
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
    {"softmax_forward", wrong_in_place, "in-place-hazard"},
    {"softmax_forward", remembers, "result-cached"},
    {"softmax_forward", refuses_wide_rows, "launch-block-too-large"},
    {"layernorm_forward", forgets_statistics, "stats-not-written"},
    {"layernorm_forward", one_pass, "layernorm-one-pass"},
    {"layernorm_forward", coarse, "low-precision"},
};

ParameterizedTestParameters(diagnose, each_pattern_is_named) {
    return indices(sizeof hand_made / sizeof hand_made[0]);
}

ParameterizedTest(int *index, diagnose, each_pattern_is_named) {
    struct fake fake = {.kernel = hand_made[*index].kernel};
    const char *found = diagnosis(&fake, hand_made[*index].op, 64);
    cr_assert_str_eq(found, hand_made[*index].id, "%s was taken for '%s'", hand_made[*index].id, found);
}

/* ---- what the backend says ---- */

static const struct {
    int kind;
    const char *text, *id;
} findings[] = {
    {SIMT_RACE, "Error: race", "race"},
    {SIMT_BARRIER_DIVERGENT, "Barrier error detected.", "barrier-divergent"},
    {SIMT_DEADLOCK, "deadlock", "deadlock"},
    {SIMT_ABSENT_LANE, "absent", "absent-lane"},
    {SIMT_MISALIGNED, "misaligned", "misaligned-vector"},
    {SIMT_ENDLESS, "endless", "endless-loop"},
    {SIMT_HOST_POINTER, "host", "host-pointer"},
    {SIMT_STACK_OVERFLOW, "stack", "stack-overflow"},
    {SIMT_ASSERT, "assert", "device-assert"},
    {SIMT_LEAK, "leak", "leak"},
    {SIMT_UNINITIALISED, "Uninitialized __shared__ memory read", "uninitialised-read"},
    {SIMT_UNINITIALISED, "Uninitialized __global__ memory read", "uninitialised-output-read"},
    {SIMT_OUT_OF_BOUNDS, "and is 1 bytes after the nearest allocation", "out-of-bounds-by-one"},
    {SIMT_OUT_OF_BOUNDS, "read of size 4 bytes is 1 bytes after the nearest allocation of size 256 bytes", "small-tensor-index"},
    {SIMT_OUT_OF_BOUNDS, "and is 4097 bytes after the nearest allocation", "out-of-bounds"},
};

ParameterizedTestParameters(diagnose, each_finding_is_named) { return indices(sizeof findings / sizeof findings[0]); }

ParameterizedTest(int *index, diagnose, each_finding_is_named) {
    struct finding_record record = {findings[*index].kind, 1, 7, "softmax.cu", "k", ""};
    strcpy(record.text, findings[*index].text);
    struct fake fake = {.kernel = fake_softmax, .finding = &record};
    bool small = strcmp(findings[*index].id, "small-tensor-index") == 0; /* softmax has no such tensor */
    fake.kernel = small ? fake_layernorm : fake_softmax;
    cr_assert_str_eq(diagnosis(&fake, small ? "layernorm_forward" : "softmax_forward", 0), findings[*index].id);
}

Test(diagnose, crashes_and_timeouts_are_named) {
    struct fake crashes = {.kernel = fake_softmax, .status = CHILD_CRASHED};
    struct fake hangs = {.kernel = fake_softmax, .status = CHILD_TIMED_OUT};
    struct fake writes = {.kernel = fake_softmax, .writes_input = true};
    struct fake overruns = {.kernel = fake_softmax, .overruns = true};
    cr_assert_str_eq(diagnosis(&crashes, "softmax_forward", 0), "crash");
    cr_assert_str_eq(diagnosis(&hangs, "softmax_forward", 0), "endless-loop");
    cr_assert_str_eq(diagnosis(&writes, "softmax_forward", 0), "input-modified");
    cr_assert_str_eq(diagnosis(&overruns, "softmax_forward", 64), "buffer-overrun");
}

Test(diagnose, nothing_is_said_about_right_kernels) {
    struct fake fake = {.kernel = fake_softmax, .lanes = 32};
    cr_assert_str_eq(diagnosis(&fake, "softmax_forward", 64), "");
}

/* ---- the table ---- */

Test(diagnose, table_is_complete) {
    int count = 0;
    for (const struct signature *s = signatures; s->id; s++, count++) {
        cr_assert(s->cause && strlen(s->cause) > 10, "%s has no cause", s->id);
        cr_assert(strlen(s->cause) <= 125, "%s: the cause is too long for a line", s->id);
        cr_assert(s->hint >= 1 && s->hint <= 3, "%s: hint %d", s->id, s->hint);
        cr_assert(s->match, "%s has no match", s->id);
    }
    cr_assert(count >= 60);
    for (const struct mistake *m = mistakes; m->id; m++) {
        cr_assert(signature_find(m->id), "mistake %s has no signature", m->id);
        cr_assert(op_find(m->op), "mistake %s is of an unknown op %s", m->id, m->op);
    }
}
