#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/elements.h"
#include "common/ops/reference.h"
#include "common/runner/generate.h"
#include "common/status.h"
#include "huge.h"
#include "judge.h"
#include "progress.h"
#include "property.h"

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "grader: out of memory\n");
        exit(EXIT_FAULT);
    }
    return memory;
}

void evidence_init(struct evidence *evidence, const struct op *op, enum op_type type) {
    *evidence = (struct evidence){.op = op, .type = type};
}

static void free_case(struct evidence_case *shown) {
    for (int t = 0; t < OP_MAX_TENSORS; t++) {
        free(shown->given[t]);
        free(shown->got[t]);
        free(shown->expected[t]);
        free(shown->condition[t]);
    }
    free(shown->findings);
    free(shown);
}

void evidence_free(struct evidence *evidence) {
    for (int i = 0; i < evidence->count; i++) { free_case(evidence->cases[i]); }
    evidence->count = 0;
}

/* ---- one call: buffers out and back ---------------------------------------------------------------------------- */

static void pack_buffers(struct exchange *exchange, const struct device *device, const struct op *op,
                         const struct evidence_case *shown) {
    const struct test_case *test = &shown->test;
    struct job *job = &exchange->job;
    *job = job_make(JOB_CALL, op, &test->sizes);
    job->guard = device->guard;
    job->offset = test->offset;
    job->moved = test->moved;
    job->shuffled_order = test->shuffled;
    job->rehearse = test->rehearsed;
    job->refuse_launches = test->refused;
    if (test->in_place) { job->alias_of[test->output] = test->in_place - 1; }
    for (int t = 0; t < op_tensor_count(op); t++) {
        exchange->bytes[t] = job_buffer_bytes(job, op, t);
        exchange->buffer[t] = judge_buffer_make(job, op, t, shown->given[t], test->seed);
        progress_tick(); /* the weights of a model take seconds */
    }
}

static void unpack_buffers(const struct exchange *exchange, const struct op *op, struct evidence_case *shown) {
    for (int t = 0; t < op_tensor_count(op); t++) {
        int from = exchange->job.alias_of[t] >= 0 ? exchange->job.alias_of[t] : t;
        size_t count = op_elements(op, t, &shown->test.sizes);
        if (!op_is_output(op, t)) { continue; }
        shown->got[t] = allocate(count, sizeof(float));
        if (exchange->bytes[from]) {
            size_t lead = job_lead_bytes(&exchange->job, op, from);
            elements_unpack(op->tensor[t].element, shown->test.sizes.type, (char *)exchange->buffer[from] + lead, count,
                            shown->got[t]);
        }
    }
}

/* ---- the cases --------------------------------------------------------------------------------------------------- */

static struct evidence_case *prepare_inputs(const struct op *op, const struct test_case *test) {
    struct evidence_case *shown = allocate(1, sizeof *shown);
    shown->test = *test;
    for (int t = 0; t < op_tensor_count(op); t++) {
        shown->given[t] = allocate(op_elements(op, t, &test->sizes), sizeof(float));
    }
    inputs_fill(op, &test->sizes, test->values, test->seed, shown->given);
    progress_tick();
    if (test->in_place) { /* the output starts with the values of the tensor whose pointer it has */
        size_t bytes = op_elements(op, test->output, &test->sizes) * sizeof(float);
        memcpy(shown->given[test->output], shown->given[test->in_place - 1], bytes);
    }
    return shown;
}

static struct evidence_case *prepare(const struct op *op, const struct test_case *test) {
    struct evidence_case *shown = prepare_inputs(op, test);
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (!op_is_output(op, t)) { continue; }
        size_t count = op_elements(op, t, &test->sizes);
        shown->expected[t] = allocate(count, sizeof(double));
        shown->condition[t] = allocate(count, sizeof(double));
    }
    reference_compute(op, &test->sizes, (const float *const *)shown->given, shown->expected, shown->condition);
    return shown;
}

static const struct device *device_for(const struct device *device, const struct test_case *test) {
    if (test->huge) { return device->huge; }
    return test->small && device->small ? device->small : device;
}

/* Only the CPU backend can refuse launches. */
static bool is_possible(const struct device *device, const struct test_case *test) {
    return !(test->refused && device->guard) && (!test->small || device->small) && (!test->huge || device->huge);
}

static struct evidence_case *run(const struct device *device, const struct test_case *test,
                                 const struct evidence *evidence, struct result *result) {
    device = device_for(device, test);
    const struct op *op = evidence->op;
    if (test->huge) { return huge_call(device, op, test, result); }
    struct evidence_case *shown = prepare(op, test);
    struct exchange exchange = {0};
    pack_buffers(&exchange, device, op, shown);
    enum child_status status =
        device->call(device->context, &exchange.job, exchange.buffer, &exchange.result, &shown->findings);
    if (status == CHILD_OK) {
        shown->finding_count = shown->findings ? exchange.result.finding_count : 0;
        shown->launches = exchange.result.counters.launches;
        shown->returned = exchange.result.returned && !test->refused; /* a refused launch has no result to judge */
        if (shown->returned) { unpack_buffers(&exchange, op, shown); }
        judge_call(&exchange, evidence, shown);
    } else {
        shown->end = status;
        judge_describe(&shown->failure,
                       status == CHILD_TIMED_OUT || status == CHILD_TOO_SLOW ? FAILURE_TIMEOUT : FAILURE_CRASH, test);
        snprintf(shown->failure.text, sizeof shown->failure.text, "%s", device->message(device->context));
    }
    *result = exchange.result;
    for (int t = 0; t < OP_MAX_TENSORS; t++) { free(exchange.buffer[t]); }
    return shown;
}

bool check_only_call(const struct device *device, const struct op *op, const struct test_case *test,
                     struct result *result) {
    device = device_for(device, test);
    struct evidence_case *shown = prepare_inputs(op, test);
    struct exchange exchange = {0};
    pack_buffers(&exchange, device, op, shown);
    enum child_status status =
        device->call(device->context, &exchange.job, exchange.buffer, &exchange.result, &shown->findings);
    *result = exchange.result;
    for (int t = 0; t < OP_MAX_TENSORS; t++) { free(exchange.buffer[t]); }
    free_case(shown);
    return status == CHILD_OK;
}

static void keep(struct evidence *evidence, struct evidence_case *shown) {
    if (evidence->count < EVIDENCE_MAX_CASES) {
        evidence->cases[evidence->count++] = shown;
    } else {
        free_case(shown);
    }
}

static void count_bytes(struct evidence *evidence, const struct result *result) {
    const struct simt_counters *counters = &result->counters;
    evidence->exchanges += counters->barriers + counters->warp_syncs + counters->shuffles + counters->votes +
                           counters->reduces + counters->shared.load_requests;
    const struct simt_traffic *spaces[] = {&result->counters.global, &result->counters.shared};
    for (int i = 0; i < 2; i++) {
        evidence->bytes += spaces[i]->load_bytes + spaces[i]->store_bytes + spaces[i]->atomic_bytes;
    }
}

bool check_case(const struct device *device, const struct test_case *test, struct evidence *evidence) {
    struct result result;
    struct evidence_case *shown = run(device, test, evidence, &result);
    bool right = shown->failure.kind == FAILURE_NONE;
    count_bytes(evidence, &result);
    keep(evidence, shown);
    return right;
}

bool check_count(const struct device *device, const struct op_sizes *sizes, uint64_t seed, struct evidence *evidence,
                 struct result *result, struct failure *failure) {
    struct test_case test = {.sizes = *sizes, .values = VALUES_NORMAL, .seed = generate_mix(seed)};
    struct evidence_case *shown = run(device, &test, evidence, result);
    *failure = shown->failure;
    keep(evidence, shown);
    return failure->kind == FAILURE_NONE;
}

/* An unchanged skeleton: its launcher returns cudaErrorNotSupported and launches nothing. In a model, the course's own
 * kernels are launched. */
static bool not_started(const struct op *op, const struct evidence_case *shown) {
    bool said = shown->failure.kind == FAILURE_STATUS && shown->status == CUDA_NOT_SUPPORTED;
    return said && (shown->launches == 0 || op_is_model(op));
}

/* Failures after which further calls give no information. */
static bool hopeless(enum failure_kind kind) {
    return kind == FAILURE_CRASH || kind == FAILURE_TIMEOUT || kind == FAILURE_MISSING;
}

enum verdict check_run(const struct device *device, enum check_kind kind, uint64_t seed, uint64_t secret,
                       struct evidence *evidence, struct failure *failure) {
    struct test_case cases[EVIDENCE_MAX_CASES];
    int count = cases_of(evidence->op, evidence->type, kind, seed, secret, cases, EVIDENCE_MAX_CASES);
    enum verdict verdict = VERDICT_PASS;
    for (int i = 0; i < count; i++) {
        if (!is_possible(device, &cases[i])) { continue; }
        progress_call(i + 1, count);
        if (check_case(device, &cases[i], evidence)) { continue; }
        const struct evidence_case *shown = evidence->cases[evidence->count - 1];
        if (verdict == VERDICT_PASS) { *failure = shown->failure; }
        verdict = VERDICT_FAIL;
        if (i == 0 && not_started(evidence->op, shown)) { return VERDICT_NOT_STARTED; }
        if (hopeless(shown->failure.kind)) { break; }
    }
    return verdict;
}

/* A mixed call that fails: the same with one kind of values that fails, too, if there is one. */
static struct evidence_case *unmixed(const struct device *device, const struct evidence *evidence,
                                     struct evidence_case *failed) {
    for (int kind = 0; kind < VALUES_MIXED && failed->test.values == VALUES_MIXED; kind++) {
        struct test_case one = failed->test;
        struct result result;
        if (kind != VALUES_NORMAL && !(evidence->op->hard >> kind & 1)) { continue; }
        one.values = (enum input_values)kind;
        struct evidence_case *tried = run(device, &one, evidence, &result);
        bool fails = tried->failure.kind != FAILURE_NONE;
        free_case(fails ? failed : tried);
        if (fails) { failed = tried; }
    }
    return failed;
}

/* The simplest call that still fails: without other values, scalars, moved pointers ..., as long as it fails. */
static struct evidence_case *simplest(const struct device *device, const struct evidence *evidence,
                                      struct evidence_case *failed) {
    failed = unmixed(device, evidence, failed);
    struct test_case simpler = failed->test;
    for (int property = 0; property_without(evidence->op, &simpler, property); property++) {
        struct result result;
        if (memcmp(&simpler, &failed->test, sizeof simpler) == 0) { continue; }
        struct evidence_case *tried = run(device, &simpler, evidence, &result);
        bool fails = tried->failure.kind != FAILURE_NONE;
        free_case(fails ? failed : tried);
        if (fails) { failed = tried; }
        simpler = failed->test;
    }
    return failed;
}

/* A launcher may say that a small device is too small. */
static bool needs_more(const struct evidence_case *shown, const struct result *result) {
    return shown->test.small && shown->end == CHILD_OK && (result->status || result->error) && !shown->test.refused;
}

enum verdict check_cases(const struct device *device, const struct test_case *cases, int count,
                         struct evidence *evidence, struct failure *failure) {
    for (int i = 0; i < count; i++) {
        struct result result;
        if (!is_possible(device, &cases[i])) { continue; }
        progress_call(i + 1, count);
        struct evidence_case *shown = run(device, &cases[i], evidence, &result);
        count_bytes(evidence, &result);
        if (needs_more(shown, &result)) {
            free_case(shown);
            continue;
        }
        bool fails = shown->failure.kind != FAILURE_NONE;
        if (fails && !cases[i].again) { shown = simplest(device, evidence, shown); }
        if (fails) { *failure = shown->failure; }
        keep(evidence, shown);
        if (fails) { return VERDICT_FAIL; }
    }
    return VERDICT_PASS;
}

enum verdict check_again(const struct device *device, const struct test_case *test, struct evidence *evidence,
                         struct failure *failure) {
    struct test_case before = *test;
    before.again = before.shuffled = false;
    if (!is_possible(device, test)) { return VERDICT_NOT_RUN; }
    bool right = (!test->again || check_case(device, &before, evidence)) && check_case(device, test, evidence);
    if (!right) { *failure = evidence->cases[evidence->count - 1]->failure; }
    return right ? VERDICT_PASS : VERDICT_FAIL;
}
