/* diagnose: every known mistake is recognised, and not confused with another one. */
#include <criterion/criterion.h>

#include "diagnosing.h"
#include "labs.h"

TestSuite(diagnose, .timeout = 600);

/* ---- every form of every computed mistake of an op, produced by a fake: one process per op ---- */

static const struct op *played_op;
static const struct op_mistake *played;
static int played_variant;

static int play(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    float *given[OP_MAX_TENSORS] = {0};
    double *out[OP_MAX_TENSORS] = {0};
    int tensors = op_tensor_count(played_op);
    (void)fake;
    for (int t = 0; t < tensors; t++) {
        size_t count = op_elements(played_op, t, sizes);
        given[t] = malloc(count * sizeof(float) + 1);
        out[t] = calloc(count + 1, sizeof(double));
        memcpy(given[t], tensor[t], count * sizeof(float));
    }
    struct op_call call = {.op = played_op, .sizes = sizes, .tensor = (const float *const *)given, .expected = out};
    played->compute(&call, played_variant);
    for (int t = 0; t < tensors; t++) {
        size_t count = played_op->tensor[t].role == ROLE_IN ? 0 : op_elements(played_op, t, sizes);
        for (size_t i = 0; i < count; i++) { tensor[t][i] = (float)out[t][i]; }
        free(given[t]);
        free(out[t]);
    }
    return 0;
}

/* Right, but for calls in place. */
static int play_in_place(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    return tensor[0] == tensor[3] ? play(fake, tensor, sizes) : fake_layernorm(fake, tensor, sizes);
}

/* Right, but for long rows. */
static int play_wide(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    return sizes->C >= 1025 ? play(fake, tensor, sizes) : fake_layernorm(fake, tensor, sizes);
}

/* The types in which some lab marks the op; fp32 where none does. */
static bool is_marked(const struct op *op, enum op_type type) {
    for (const struct step *step = all_labs(); step->name; step++) {
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            bool part_of_model = op_is_on_sequences(op) && type != TYPE_F32; /* roundings of 16 bits hide some */
            if (strcmp(exercise->op, op->name) == 0 && exercise->type == type && !part_of_model) { return true; }
        }
    }
    return type == TYPE_F32;
}

/* An extra rounding to T changes nothing in fp32. */
static bool is_of_16_bits(const char *id) {
    static const char *const ids[] = {"fused-unrounded-sum", "statistics-in-16-bits", "rounded-before-gamma",
                                      "rounded-before-dsum"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (strcmp(ids[i], id) == 0) { return true; }
    }
    return false;
}

/* The further forms of a fixed eps (1e-8, 1e-12) change rstd by less than one rounding to 16 bits changes out. */
static bool is_hidden_by_16_bits(const char *id, int form) {
    return strcmp(id, "layernorm-eps-ignored") == 0 && form >= 2;
}

static void play_mistake(const struct op *op, const struct op_mistake *mistake, enum op_type type) {
    for (int v = 0; v < OP_MAX_VARIANTS && mistake->variant[v]; v++) {
        struct fake fake = {.kernel = play};
        if (type != TYPE_F32 && is_hidden_by_16_bits(mistake->id, v)) { continue; }
        played_op = op;
        played = mistake;
        played_variant = mistake->variant[v];
        struct diagnosis diagnosis;
        const char *found = "", *expected = type == TYPE_F32 && is_of_16_bits(mistake->id) ? "" : mistake->id;
        if (diagnose_fake(&fake, op->name, type, 64, &diagnosis)) {
            found = diagnosis.found ? diagnosis.found->id : "none";
            if (diagnosis.candidates > 2) { continue; } /* rounded to 16 bits, the outputs of several are alike */
            if (diagnosis.other && strcmp(diagnosis.other->id, expected) == 0) { found = expected; }
        }
        cr_expect_str_eq(found, expected, "%s_%s: %s, form %d, was taken for '%s'", op->name, op_type_name(type),
                         mistake->id, mistake->variant[v], found);
    }
}

static bool has_computed_mistakes(const struct op *op) {
    const struct op_reference *reference = reference_of(op);
    for (int i = 0; i < OP_MAX_MISTAKE_LISTS && reference->mistakes[i]; i++) {
        for (const struct op_mistake *mistake = reference->mistakes[i]; mistake->id; mistake++) {
            if (mistake->compute) { return true; }
        }
    }
    return false;
}

ParameterizedTestParameters(diagnose, each_computed_mistake_is_named) {
    int count = 0, kept = 0;
    while (ops[count]) { count++; }
    struct criterion_test_params all = indices(count);
    int *index = all.params;
    for (int i = 0; i < count; i++) {
        if (has_computed_mistakes(ops[i])) { index[kept++] = i; }
    }
    all.length = (size_t)kept;
    return all;
}

ParameterizedTest(int *index, diagnose, each_computed_mistake_is_named) {
    const struct op *op = ops[*index];
    const struct op_reference *reference = reference_of(op);
    int seen = 0;
    for (int i = 0; i < OP_MAX_MISTAKE_LISTS && reference->mistakes[i]; i++) {
        for (const struct op_mistake *mistake = reference->mistakes[i]; mistake->id; mistake++) {
            for (int type = 0; mistake->compute && type < OP_TYPES; type++) {
                if (type == TYPE_F16 && !getenv("TEST_ALL")) { continue; } /* as bf16 */
                if (is_marked(op, (enum op_type)type) && seen++ % EVERY == 0) {
                    play_mistake(op, mistake, (enum op_type)type);
                }
            }
        }
    }
}

static uint64_t played_bytes, played_exchanges; /* counted, as on the CPU backend; 0 bytes: not counted */

static struct diagnosis diagnose_played(const struct op_mistake *mistake, const char *op,
                                        const struct test_case *test) {
    struct fake fake = {.kernel = play};
    struct device device = fake_device(&fake, 64);
    struct evidence evidence;
    struct failure failure;
    played_op = op_find(op);
    played = mistake;
    played_variant = mistake->variant[0];
    evidence_init(&evidence, played_op, TYPE_F32);
    if (test) { cr_assert(!check_case(&device, test, &evidence)); }
    for (int kind = CHECK_SHAPES; kind <= CHECK_VALUES && !test; kind++) {
        check_run(&device, (enum check_kind)kind, 2024, 77, &evidence, &failure);
    }
    evidence.bytes = played_bytes;
    evidence.exchanges = played_exchanges;
    struct diagnosis diagnosis = diagnose(&evidence);
    evidence_free(&evidence);
    return diagnosis;
}

/* The first of the op's mistakes of that id, which computes; the text of the id is in the general lists. */
static const struct op_mistake *computed_mistake(const char *op, const char *id) {
    const struct op_reference *reference = reference_of(op_find(op));
    for (int i = 0; i < OP_MAX_MISTAKE_LISTS && reference->mistakes[i]; i++) {
        for (const struct op_mistake *mistake = reference->mistakes[i]; mistake->id; mistake++) {
            if (mistake->compute && strcmp(mistake->id, id) == 0) { return mistake; }
        }
    }
    cr_assert(false, "%s has no computed mistake %s", op, id);
    return NULL;
}

/* The numbers agree, but a thread for each row passes nothing to another one: lab 1 has no reductions of warps. */
Test(diagnose, what_exchanges_nothing_has_no_mistake_in_an_exchange) {
    const struct op_mistake *lost = computed_mistake("softmax_forward", "other-warps-lost");
    cr_assert_str_eq(diagnose_played(lost, "softmax_forward", NULL).found->id, "other-warps-lost");
    played_bytes = 1;
    struct diagnosis diagnosis = diagnose_played(lost, "softmax_forward", NULL);
    cr_assert(!diagnosis.found || strcmp(diagnosis.found->id, "other-warps-lost") != 0);
    cr_assert(!diagnosis.other || strcmp(diagnosis.other->id, "other-warps-lost") != 0);
    played_exchanges = 1;
    cr_assert_str_eq(diagnose_played(lost, "softmax_forward", NULL).found->id, "other-warps-lost");
    played_bytes = played_exchanges = 0;
}

/* Parts that are merged without being rescaled count each element as 1: their sum is C. */
Test(diagnose, mistakes_that_the_calls_cannot_tell_apart_are_both_named) {
    const struct op_mistake *by_c = diagnosis_find("softmax-divided-by-c");
    struct diagnosis diagnosis = diagnose_played(by_c, "softmax_forward", NULL);
    cr_assert_eq(diagnosis.found, by_c);
    cr_assert_eq(diagnosis.other, diagnosis_find("softmax-merge-without-rescale"));
}

/* With one small call, LayerNorm without eps, with a tiny one, and with max(variance, eps) give the same outputs. With the calls
 * of a check, only the one that was made. */
Test(diagnose, of_three_mistakes_that_agree_none_is_named) {
    const struct op_mistake *without = diagnosis_find("layernorm-no-eps");
    struct test_case test = {.sizes = {.N = 3, .C = 5, .eps = 1e-5f}, .values = VALUES_NORMAL, .seed = 5};
    struct diagnosis diagnosis = diagnose_played(without, "layernorm_forward", &test);
    cr_assert_eq(diagnosis.candidates, 3);
    cr_assert(!diagnosis.found || diagnosis.found->fact, "%s", diagnosis.found->id);
    diagnosis = diagnose_played(without, "layernorm_forward", NULL);
    cr_assert_eq(diagnosis.found, without);
    cr_assert_null(diagnosis.other);
}

/* A mistake on one path: the right calls do not make it, and a property sets the wrong ones apart. In place, an input that is
 * overwritten may look like another mistake. */
Test(diagnose, a_mistake_on_one_path_is_named_with_its_calls) {
    const struct op_mistake *no_bias = diagnosis_find("layernorm-no-bias");
    struct diagnosis diagnosis;
    struct fake fake = {.kernel = play_wide};
    played_op = op_find("layernorm_forward");
    played = no_bias;
    played_variant = no_bias->variant[0];
    cr_assert(diagnose_fake(&fake, "layernorm_forward", TYPE_F32, 64, &diagnosis));
    cr_assert_eq(diagnosis.found, no_bias);
    cr_assert_str_eq(diagnosis.calls, "every wrong call is one with C >= 1025");
    fake.kernel = play_in_place;
    cr_assert(diagnose_fake(&fake, "layernorm_forward", TYPE_F32, 64, &diagnosis));
    cr_assert_neq(diagnosis.found, no_bias);
}

/* Both caches and the output are wrong: no sentence may say that the cache is right. */
Test(diagnose, an_output_that_is_wrong_is_not_called_right) {
    struct evidence_case shown = {.test.sizes = {.N = 1, .C = 8, .B = 1, .H = 1, .T = 1, .S = 4},
                                  .failure.kind = FAILURE_WRONG,
                                  .returned = true};
    struct evidence evidence = {.op = op_find("decode_attention"), .count = 1, .cases = {&shown}};
    float values[64] = {0}, before[64];
    double expected[64], condition[64] = {0};
    for (int i = 0; i < 64; i++) { before[i] = 1.0f, expected[i] = 2.0 + i; }
    for (int t = 0; t < op_tensor_count(evidence.op); t++) {
        shown.given[t] = before;
        if (!op_is_output(evidence.op, t)) { continue; }
        shown.got[t] = values, shown.expected[t] = expected, shown.condition[t] = condition;
        shown.wrong[t] = 8;
    }
    cr_assert_str_eq(diagnose(&evidence).found->id, "wiring-keys-and-values");
    shown.wrong[op_tensor_find(evidence.op, "k")] = shown.wrong[op_tensor_find(evidence.op, "v")] = 0;
    cr_assert_str_eq(diagnose(&evidence).found->id, "wiring-attention");
}

/* ---- findings of the backend ---- */

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
    {SIMT_INVALID_POINTER, "null", "invalid-pointer"},
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
    {SIMT_OUT_OF_BOUNDS, "and is inside the allocation of size 32 bytes that has been freed", "used-after-free"},
    {SIMT_UNINITIALISED, "Uninitialized __shared__ memory read\nAn asynchronous copy to it has not completed",
     "copy-not-awaited"},
    {SIMT_RACE, "race between this Write access of 4 bytes by the host to memory", "overwritten-by-host"},
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
    cr_assert_str_eq(diagnose(&evidence).found->id, "too-slow-or-endless");
    evidence.cases[0] = &large;
    cr_assert_str_eq(diagnose(&evidence).found->id, "endless-loop");
}

Test(diagnose, nothing_is_said_about_right_kernels) {
    struct fake fake = {.kernel = fake_softmax, .lanes = 32};
    cr_assert_str_eq(diagnosis(&fake, "softmax_forward", 64), "");
}

/* ---- the records ---- */

Test(diagnose, records_are_complete) {
    struct diagnosis_place place = {0, 0};
    int count = 0;
    for (const struct op_mistake *m; (m = diagnosis_next(&place)); count++) {
        const struct op_mistake *record = diagnosis_find(m->id);
        cr_assert(record, "%s has no record with a cause", m->id);
        cr_assert(!m->compute == !m->variant[0], "%s: what computes has forms, and nothing else has", m->id);
        cr_assert(!m->compute || !m->predicate, "%s is recognised in two ways", m->id);
        if (!m->cause && !m->fact) {
            cr_assert(!m->hint && !m->kernel, "%s: a further form has the hint and the kernel of its record", m->id);
            cr_assert(m->compute || m->predicate, "%s: a further form is recognised by nothing", m->id);
            continue;
        }
        cr_assert_eq(m, record, "%s is recorded twice", m->id);
        cr_assert(!m->cause != !m->fact, "%s has a cause and a fact", m->id);
        cr_assert(!m->compute || m->cause, "%s is computed, so it has a cause", m->id);
        const char *sentence = m->cause ? m->cause : m->fact;
        cr_assert(strlen(sentence) > 10, "%s has no sentence", m->id);
        cr_assert(strlen(sentence) <= 130, "%s: the sentence is too long for a line", m->id);
        cr_assert(m->hint >= 1 && m->hint <= 3, "%s: hint %d", m->id, m->hint);
    }
    cr_assert(count >= 200, "%d", count);
}
