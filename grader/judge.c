#include "judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/elements.h"
#include "common/ops/reference.h"
#include "common/runner/generate.h"
#include "common/status.h"

unsigned char judge_canary(uint64_t seed, int tensor, size_t i) {
    return (unsigned char)(generate_mix(generate_key(seed ^ 0xca9a51e5u, 1, tensor) + i / 8) >> i % 8 * 8);
}

void judge_describe(struct failure *failure, enum failure_kind kind, const struct test_case *test) {
    failure->kind = kind;
    failure->test = *test;
    failure->sizes = test->sizes;
    failure->values = inputs_name(test->values);
    failure->offset = test->offset;
    failure->in_place = test->in_place != 0;
    failure->output = test->output;
    failure->row = failure->column = -1;
}

/* Row and column of a tensor's element; -1 if the tensor has none. */
static void locate(const struct op *op, int tensor, const struct op_sizes *sizes, size_t i, struct failure *failure) {
    size_t width = op_row_elements(op, tensor, sizes);
    failure->tensor = tensor;
    failure->row = op_shape_is(op, tensor, "C") ? -1 : (long)(i / width);
    failure->column = op_is_list(op, tensor) && !op_shape_is(op, tensor, "C") ? -1 : (long)(i % width);
}

/* An output may have only a few misrounded elements. If there are more, all misrounded ones count as wrong. */
static void judge_rounding(const struct op *op, struct evidence_case *shown, int t) {
    enum op_type type = element_type(op, t, shown->test.sizes.type);
    size_t count = op_elements(op, t, &shown->test.sizes);
    long misrounded = 0;
    for (size_t i = 0; type != TYPE_F32 && i < count; i++) {
        misrounded += reference_misrounded(type, shown->expected[t][i], shown->condition[t][i], shown->got[t][i]);
    }
    shown->misrounded[t] = misrounded > reference_misrounded_allowed(count);
}

static void judge_elements(const struct evidence *evidence, struct evidence_case *shown) {
    struct failure *failure = &shown->failure;
    const struct op *op = evidence->op;
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (!op_is_output(op, t)) { continue; }
        enum op_type type = element_type(op, t, shown->test.sizes.type);
        size_t count = op_elements(op, t, &shown->test.sizes), first = count;
        bool outside = false;
        judge_rounding(op, shown, t);
        for (size_t i = 0; i < count; i++) {
            bool accepted = reference_accepts(type, shown->expected[t][i], shown->condition[t][i], shown->got[t][i]);
            outside = outside || !accepted;
            if (accepted && !evidence_is_wrong(evidence, shown, t, i)) { continue; }
            if (shown->wrong[t]++ == 0) { first = i; }
        }
        shown->misrounded[t] = shown->misrounded[t] && !outside;
        if (first == count || failure->kind != FAILURE_NONE) { continue; }
        judge_describe(failure, FAILURE_WRONG, &shown->test);
        locate(op, t, &shown->test.sizes, first, failure);
        failure->expected = shown->expected[t][first];
        failure->got = shown->got[t][first];
        failure->tolerance = reference_allowance(type, shown->expected[t][first], shown->condition[t][first]);
        failure->wrong = shown->wrong[t];
        failure->total = (long)count;
        failure->misrounded = shown->misrounded[t];
    }
}

unsigned char *judge_buffer_make(const struct job *job, const struct op *op, int tensor, const float *values,
                                 uint64_t seed) {
    size_t bytes = job_buffer_bytes(job, op, tensor), lead = job_lead_bytes(job, op, tensor);
    size_t count = op_elements(op, tensor, &job->sizes),
           end = lead + count * op_element_bytes(op, tensor, job->sizes.type);
    unsigned char *buffer = malloc(bytes + 1);
    if (!buffer) { abort(); }
    for (size_t i = 0; i < bytes; i++) {
        if (i == lead) { i = end; } /* the tensor itself */
        if (i < bytes) { buffer[i] = judge_canary(seed, tensor, i); }
    }
    if (bytes) { elements_pack(op->tensor[tensor].element, job->sizes.type, values, count, buffer + lead); }
    return buffer;
}

/* The value of the element that contains byte `at` of a tensor's buffer, before and after the call. */
static void judge_values(const struct exchange *exchange, const struct op *op, int t, size_t at,
                         const unsigned char *was, struct failure *failure) {
    enum op_type type = exchange->job.sizes.type;
    size_t one = op_element_bytes(op, t, type), first = at / one * one;
    float values[2];
    elements_unpack(op->tensor[t].element, type, was + first, 1, &values[0]);
    elements_unpack(op->tensor[t].element, type, (unsigned char *)exchange->buffer[t] + first, 1, &values[1]);
    failure->expected = values[0];
    failure->got = values[1];
}

/* Inputs and the memory around the tensors must be unchanged. `was`: the whole buffer before the call. */
static void judge_buffer(const struct exchange *exchange, const struct op *op, int t, const unsigned char *was,
                         struct evidence_case *shown) {
    struct failure *failure = &shown->failure;
    const struct op_sizes *sizes = &shown->test.sizes;
    const unsigned char *is = exchange->buffer[t];
    size_t one = op_element_bytes(op, t, sizes->type), count = op_elements(op, t, sizes);
    size_t before = job_lead_bytes(&exchange->job, op, t), end = before + count * one;
    bool written = op->tensor[t].role != ROLE_IN;
    for (int output = 0; output < op_tensor_count(op); output++) {
        written = written || exchange->job.alias_of[output] == t;
    }
    for (size_t i = 0; i < exchange->bytes[t]; i++) {
        bool inside = i >= before && i < end;
        if ((inside && written) || is[i] == was[i]) { continue; }
        judge_describe(failure, inside ? FAILURE_MODIFIED : FAILURE_OVERRUN, &shown->test);
        failure->tensor = t;
        judge_values(exchange, op, t, i, was, failure);
        if (inside) {
            locate(op, t, sizes, (i - before) / one, failure);
            snprintf(failure->text, sizeof failure->text, "the input %s was written", op->tensor[t].name);
        } else {
            size_t away = i < before ? (before - i + one - 1) / one : (i - end) / one + 1;
            snprintf(failure->text, sizeof failure->text, "%s was written %zu element%s %s its %s", op->tensor[t].name,
                     away, away == 1 ? "" : "s", i < before ? "before" : "past", i < before ? "beginning" : "end");
        }
        return;
    }
}

static void judge_memory(const struct exchange *exchange, const struct op *op, struct evidence_case *shown) {
    for (int t = 0; t < op_tensor_count(op) && shown->failure.kind == FAILURE_NONE; t++) {
        if (exchange->bytes[t] == 0) { continue; }
        unsigned char *was = judge_buffer_make(&exchange->job, op, t, shown->given[t], shown->test.seed);
        judge_buffer(exchange, op, t, was, shown);
        free(was);
    }
}

/* One mistake may cause several findings: a missing barrier causes races, and races read stale words. */
static int depth(const struct finding_record *finding) {
    switch (finding->kind) {
        case SIMT_BARRIER_DIVERGENT:
        case SIMT_DEADLOCK:
        case SIMT_ABSENT_LANE: return 2;
        case SIMT_RACE: return 1;
        default: return 0;
    }
}

/* The first error; among errors that may cause each other, the one that explains the others. */
static const struct finding_record *telling_finding(const struct evidence_case *shown) {
    const struct finding_record *telling = NULL;
    for (int i = 0; i < shown->finding_count; i++) {
        const struct finding_record *finding = &shown->findings[i];
        bool follows = telling && (telling->kind == SIMT_UNINITIALISED || depth(telling) > 0);
        if (!finding->is_error) { continue; }
        if (!telling || (follows && depth(finding) > depth(telling))) { telling = finding; }
    }
    return telling;
}

static void judge_findings(struct evidence_case *shown) {
    const struct finding_record *finding = telling_finding(shown);
    struct failure *failure = &shown->failure;
    if (!finding) { return; }
    judge_describe(failure, FAILURE_FINDING, &shown->test);
    failure->finding = finding->kind;
    failure->line = finding->line;
    snprintf(failure->file, sizeof failure->file, "%.*s", (int)sizeof failure->file - 1, finding->file);
    snprintf(failure->text, sizeof failure->text, "%.*s", (int)sizeof finding->text, finding->text);
}

static void judge_status(const struct op *op, const struct result *result, struct evidence_case *shown) {
    struct failure *failure = &shown->failure;
    shown->status = result->status ? result->status : result->error;
    if (result->missing) {
        judge_describe(failure, FAILURE_MISSING, &shown->test);
        char launcher[64];
        op_launcher_name(op, shown->test.sizes.type, launcher, sizeof launcher);
        snprintf(failure->text, sizeof failure->text, "the file does not define %s (see common/ops/%s/contract.h)",
                 launcher, op->name);
    } else if (shown->status == CUDA_NOT_SUPPORTED && failure->kind == FAILURE_NONE) {
        judge_describe(failure, FAILURE_STATUS, &shown->test);
        snprintf(failure->text, sizeof failure->text,
                 "the launcher returned cudaErrorNotSupported, the skeleton's \"not started\", after %llu launches",
                 (unsigned long long)shown->launches);
    } else if (shown->status > BLAS_ERROR && failure->kind == FAILURE_NONE) {
        judge_describe(failure, FAILURE_STATUS, &shown->test);
        snprintf(failure->text, sizeof failure->text,
                 "cuBLAS refused a product with status %d (7: an invalid size, leading dimension or pointer)",
                 shown->status - BLAS_ERROR);
    } else if (shown->status && failure->kind == FAILURE_NONE) {
        judge_describe(failure, FAILURE_STATUS, &shown->test);
        snprintf(failure->text, sizeof failure->text, "%s %d: %.63s: %.159s",
                 result->status ? "the launcher returned" : "after the call CUDA reports", shown->status,
                 result->error_name, result->error_text);
    }
}

void judge_huge(const struct op *op, const struct result *result, struct evidence_case *shown) {
    const int tensor = result->unwritten - 1;
    judge_findings(shown);
    if (shown->failure.kind != FAILURE_NONE) { return; }
    if (tensor >= 0 && tensor < op_tensor_count(op)) {
        judge_describe(&shown->failure, FAILURE_UNWRITTEN, &shown->test);
        shown->failure.tensor = tensor;
        snprintf(shown->failure.text, sizeof shown->failure.text,
                 "nothing of %s is written from element 2^31 on, where half of its elements are",
                 op->tensor[tensor].name);
        return;
    }
    judge_status(op, result, shown);
}

static void judge_repeat(const struct op *op, const struct evidence *evidence, struct evidence_case *shown) {
    if (!shown->test.again || op->order_free || evidence->count == 0) { return; }
    const struct evidence_case *before = evidence->cases[evidence->count - 1];
    for (int t = 0; t < op_tensor_count(op); t++) {
        size_t count = op_elements(op, t, &shown->test.sizes);
        if (!before->got[t] || !shown->got[t]) { continue; }
        for (size_t i = 0; i < count; i++) {
            if (memcmp(&before->got[t][i], &shown->got[t][i], sizeof(float)) == 0) { continue; }
            judge_describe(&shown->failure, FAILURE_REPEAT, &shown->test);
            locate(op, t, &shown->test.sizes, i, &shown->failure);
            shown->failure.expected = before->got[t][i];
            shown->failure.got = shown->got[t][i];
            snprintf(shown->failure.text, sizeof shown->failure.text,
                     "%s gave two different results, but its order of operations must be fixed",
                     shown->test.shuffled ? "the same call with blocks and warps in two orders"
                                          : "the same call twice");
            return;
        }
    }
}

/* Every launch of this call was refused, as on a GPU with fewer registers. The launcher must return the error. */
static void judge_refused(const struct result *result, struct evidence_case *shown) {
    shown->status = result->status;
    if (result->status) { return; }
    judge_describe(&shown->failure, FAILURE_SILENT, &shown->test);
    snprintf(shown->failure.text, sizeof shown->failure.text,
             "the grader made this launch fail, but the launcher returned 0");
}

/* A right result was not computed by a kernel, or was copied to the host and back, by the CPU backend's counters. */
static void judge_where(const struct exchange *exchange, const struct op *op, struct evidence_case *shown) {
    enum { SMALL = 1024 };
    const struct simt_counters *counters = &exchange->result.counters;
    size_t elements = op_elements(op, 0, &shown->test.sizes),
           bytes = elements * op_element_bytes(op, 0, shown->test.sizes.type);
    struct failure *failure = &shown->failure;
    if (exchange->job.guard || elements == 0) { return; }
    if (counters->launches == 0) {
        judge_describe(failure, FAILURE_ON_HOST, &shown->test);
        snprintf(failure->text, sizeof failure->text, "no kernel was launched");
    } else if (!op_is_on_sequences(op) && elements >= SMALL && counters->bytes_to_host >= bytes &&
               counters->bytes_to_device >= bytes) {
        judge_describe(failure, FAILURE_ON_HOST, &shown->test);
        snprintf(failure->text, sizeof failure->text,
                 "the launcher copied %llu bytes to the host and %llu bytes back to the device",
                 (unsigned long long)counters->bytes_to_host, (unsigned long long)counters->bytes_to_device);
    }
}

static bool invariant_holds(const struct op *op, const struct evidence_case *shown, struct failure *broken) {
    return !reference_of(op)->invariant || reference_of(op)->invariant(op, shown, broken);
}

void judge_call(const struct exchange *exchange, const struct evidence *evidence, struct evidence_case *shown) {
    const struct op *op = evidence->op;
    struct failure *failure = &shown->failure;
    if (shown->test.refused) {
        judge_refused(&exchange->result, shown);
        return;
    }
    judge_findings(shown);
    judge_status(op, &exchange->result, shown);
    if (!shown->returned) { return; }
    judge_memory(exchange, op, shown);
    judge_elements(evidence, shown);
    if (failure->kind != FAILURE_NONE) { return; }
    judge_repeat(op, evidence, shown);
    if (failure->kind == FAILURE_NONE && !invariant_holds(op, shown, failure)) {
        struct failure broken = *failure;
        judge_describe(failure, FAILURE_INVARIANT, &shown->test);
        failure->row = broken.row;
    }
    if (failure->kind == FAILURE_NONE) { judge_where(exchange, op, shown); }
}
