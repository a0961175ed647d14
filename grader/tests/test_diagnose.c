/* diagnose: every known mistake is recognised, and not taken for another one. */
#include <criterion/criterion.h>

#include "../mistakes.h"
#include "diagnosing.h"

TestSuite(diagnose, .timeout = 120);

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

/* Each in fp32 and in the 16-bit types that its op has. */
static const enum op_type types[] = {TYPE_F32, TYPE_BF16, TYPE_F16};
enum { TYPES = sizeof types / sizeof *types };

/* Mistake index / TYPES in type index % TYPES: only lab 3's ops have 16-bit types. */
static bool is_in_a_lab(int index) {
    const char *op = mistakes[index / TYPES].op;
    return types[index % TYPES] == TYPE_F32 || strncmp(op, "causal", 6) == 0 || strncmp(op, "residual_l", 10) == 0;
}

ParameterizedTestParameters(diagnose, each_mistake_is_named) {
    int count = 0, kept = 0, seen = 0;
    while (mistakes[count].id) { count++; }
    struct criterion_test_params all = indices(TYPES * count);
    int *index = all.params;
    for (int i = 0; i < TYPES * count; i++) {
        if (is_in_a_lab(i) && seen++ % EVERY == 0) { index[kept++] = i; }
    }
    all.length = (size_t)kept;
    return all;
}

/* A rounding to T too many is none in fp32. */
static bool is_of_16_bits(const char *id) {
    static const char *const ids[] = {"fused-unrounded-sum", "statistics-in-16-bits", "rounded-before-gamma",
                                      "rounded-before-dsum"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (strcmp(ids[i], id) == 0) { return true; }
    }
    return false;
}

ParameterizedTest(int *index, diagnose, each_mistake_is_named) {
    struct fake fake = {.kernel = play};
    enum op_type type = types[*index % TYPES];
    played = &mistakes[*index / TYPES];
    const char *found = diagnosis_of(&fake, played->op, type, 64);
    const char *expected = type == TYPE_F32 && is_of_16_bits(played->id) ? "" : played->id;
    cr_assert_str_eq(found, expected, "%s_%s: %s, variant %d, was taken for '%s'", played->op, op_type_name(type),
                     played->id, played->variant, found);
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
    {SIMT_STREAM, "k was launched on the default stream", "stream-ignored"},
    {SIMT_RACE, "race between this Write access of 4 bytes to __global__ memory", "race-in-global-memory"},
    {SIMT_OUT_OF_BOUNDS, "Invalid __shared__ write of size 4 bytes", "shared-out-of-bounds"},
    {SIMT_LAUNCH, "gridDim.y is 66001, allowed: 1 to 65535", "grid-too-tall"},
    {SIMT_UNINITIALISED, "Uninitialized __shared__ memory read", "uninitialised-read"},
    {SIMT_UNINITIALISED, "Uninitialized __global__ memory read", "uninitialised-output-read"},
    {SIMT_OUT_OF_BOUNDS, "and is 1 bytes after the nearest allocation", "out-of-bounds-by-one"},
    {SIMT_OUT_OF_BOUNDS, "read of size 4 bytes is 1 bytes after the nearest allocation of size 256 bytes",
     "small-tensor-index"},
    {SIMT_OUT_OF_BOUNDS, "and is 4097 bytes after the nearest allocation", "out-of-bounds"},
};

ParameterizedTestParameters(diagnose, each_finding_is_named) {
    return indices(sizeof findings / sizeof findings[0]);
}

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
    struct fake silent = {.kernel = fake_softmax, .silent = true}, on_host = {.kernel = fake_softmax, .on_host = true};
    cr_assert_str_eq(diagnosis(&silent, "softmax_forward", 0), "launch-error-not-returned");
    cr_assert_str_eq(diagnosis(&on_host, "softmax_forward", 0), "computed-on-host");
    cr_assert_str_eq(diagnosis(&crashes, "softmax_forward", 0), "crash");
    cr_assert_str_eq(diagnosis(&hangs, "softmax_forward", 0), "endless-loop");
    cr_assert_str_eq(diagnosis(&writes, "softmax_forward", 0), "input-modified");
    cr_assert_str_eq(diagnosis(&overruns, "softmax_forward", 64), "buffer-overrun");
}

Test(diagnose, endings_are_told_apart) {
    static const struct {
        enum child_status status;
        const char *id;
    } endings[] = {{CHILD_EXITED, "exited"},          {CHILD_FORGED, "forged-answer"},
                   {CHILD_GARBAGE, "forged-answer"},  {CHILD_CLOSED, "connection-closed"},
                   {CHILD_MEMORY, "too-much-memory"}, {CHILD_FLOODED, "too-much-output"}};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        struct fake fake = {.kernel = fake_softmax, .status = endings[i].status};
        cr_assert_str_eq(diagnosis(&fake, "softmax_forward", 0), endings[i].id);
    }
}

Test(diagnose, a_timeout_after_right_calls_may_be_slowness) {
    struct evidence_case small = {.test.sizes = {.N = 4, .C = 64}, .returned = true};
    struct evidence_case large = {.test.sizes = {.N = 40, .C = 1024}, .failure.kind = FAILURE_TIMEOUT};
    struct evidence evidence = {.op = op_find("softmax_forward"), .count = 2, .cases = {&small, &large}};
    cr_assert_str_eq(diagnose(&evidence)->id, "too-slow-or-endless");
    evidence.cases[0] = &large;
    cr_assert_str_eq(diagnose(&evidence)->id, "endless-loop");
}

Test(diagnose, nothing_is_said_about_right_kernels) {
    struct fake fake = {.kernel = fake_softmax, .lanes = 32};
    cr_assert_str_eq(diagnosis(&fake, "softmax_forward", 64), "");
}

/* ---- the table ---- */

static int check_table(const struct signature *table) {
    int count = 0;
    for (const struct signature *s = table; s->id; s++, count++) {
        cr_assert(s->cause && strlen(s->cause) > 10, "%s has no cause", s->id);
        cr_assert(strlen(s->cause) <= 125, "%s: the cause is too long for a line", s->id);
        cr_assert(s->hint >= 1 && s->hint <= 3, "%s: hint %d", s->id, s->hint);
        cr_assert(s->match, "%s has no match", s->id);
        cr_assert(signature_find(s->id));
    }
    return count;
}

Test(diagnose, tables_are_complete) {
    cr_assert(check_table(signatures_reported) >= 30);
    cr_assert(check_table(signatures_shown) >= 60);
    for (const struct mistake *m = mistakes; m->id; m++) {
        cr_assert(signature_find(m->id), "mistake %s has no signature", m->id);
        cr_assert(op_find(m->op), "mistake %s is of an unknown op %s", m->id, m->op);
    }
}
