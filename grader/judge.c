#include "judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/reference.h"

float judge_canary(uint64_t seed, int tensor, size_t i) {
    return inputs_poison(seed ^ 0xca9a51e5u, tensor, i);
}

size_t judge_lead(const struct job *job) {
    return (size_t)(job->guard + job->offset);
}

void judge_describe(struct failure *failure, enum failure_kind kind, const struct test_case *test) {
    failure->kind = kind;
    failure->sizes = test->sizes;
    failure->values = inputs_name(test->values);
    failure->offset = test->offset;
    failure->in_place = test->in_place != 0;
    failure->row = failure->column = -1;
}

/* Row and column of a tensor's element; -1 where the tensor has none. */
static void locate(const struct op *op, int tensor, const struct op_sizes *sizes, size_t i, struct failure *failure) {
    enum op_shape shape = op->tensor[tensor].shape;
    failure->tensor = tensor;
    failure->row = shape == SHAPE_C ? -1 : shape == SHAPE_N ? (long)i : (long)(i / (size_t)sizes->C);
    failure->column = shape == SHAPE_N ? -1 : shape == SHAPE_C ? (long)i : (long)(i % (size_t)sizes->C);
}

static void judge_elements(const struct op *op, struct evidence_case *shown) {
    struct failure *failure = &shown->failure;
    for (int t = 0; t < op->tensor_count; t++) {
        if (op->tensor[t].role == ROLE_IN) { continue; }
        size_t count = op_elements(op, t, &shown->test.sizes), first = count;
        for (size_t i = 0; i < count; i++) {
            if (reference_accepts(shown->expected[t][i], shown->condition[t][i], shown->got[t][i])) { continue; }
            if (shown->wrong[t]++ == 0) { first = i; }
        }
        if (first == count || failure->kind != FAILURE_NONE) { continue; }
        judge_describe(failure, FAILURE_WRONG, &shown->test);
        locate(op, t, &shown->test.sizes, first, failure);
        failure->expected = shown->expected[t][first];
        failure->got = shown->got[t][first];
        failure->tolerance = reference_tolerance(shown->condition[t][first]);
        failure->wrong = shown->wrong[t];
        failure->total = (long)count;
    }
}

/* Inputs must hold the same bytes, and so must everything around the tensors. */
static void judge_memory(const struct exchange *exchange, const struct op *op, struct evidence_case *shown) {
    struct failure *failure = &shown->failure;
    const struct test_case *test = &shown->test;
    for (int t = 0; t < op->tensor_count && failure->kind == FAILURE_NONE; t++) {
        size_t count = op_elements(op, t, &test->sizes), before = judge_lead(&exchange->job);
        if (exchange->floats[t] == 0) { continue; }
        bool written = op->tensor[t].role != ROLE_IN || exchange->job.alias_of[0] == t;
        for (size_t i = 0; i < exchange->floats[t]; i++) {
            bool inside = i >= before && i < before + count;
            float was = inside ? shown->given[t][i - before] : judge_canary(test->seed, t, i);
            if ((inside && written) || memcmp(&exchange->buffer[t][i], &was, sizeof was) == 0) { continue; }
            judge_describe(failure, inside ? FAILURE_MODIFIED : FAILURE_OVERRUN, test);
            failure->tensor = t;
            failure->expected = was;
            failure->got = exchange->buffer[t][i];
            if (inside) {
                locate(op, t, &test->sizes, i - before, failure);
                snprintf(failure->text, sizeof failure->text, "the input %s was written", op->tensor[t].name);
            } else {
                long away = i < before ? (long)before - (long)i : (long)i - (long)(before + count) + 1;
                snprintf(failure->text, sizeof failure->text, "%s was written %ld element%s %s its %s",
                         op->tensor[t].name, away, away == 1 ? "" : "s", i < before ? "before" : "past",
                         i < before ? "beginning" : "end");
            }
            break;
        }
    }
}

/* One mistake may show itself in several ways: threads that miss a barrier race, and races read stale words. */
static int depth(const struct finding_record *finding) {
    switch (finding->kind) {
        case SIMT_BARRIER_DIVERGENT:
        case SIMT_DEADLOCK:
        case SIMT_ABSENT_LANE: return 2;
        case SIMT_RACE: return 1;
        default: return 0;
    }
}

/* The first error; of those that may follow from each other, the one that explains the others. */
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
        snprintf(failure->text, sizeof failure->text, "the file does not define %s (see common/contracts/%s.h)",
                 op->launcher, op->name);
    } else if (shown->status && failure->kind == FAILURE_NONE) {
        judge_describe(failure, FAILURE_STATUS, &shown->test);
        snprintf(failure->text, sizeof failure->text, "%s %d: %.63s: %.159s",
                 result->status ? "the launcher returned" : "after the call CUDA reports", shown->status,
                 result->error_name, result->error_text);
    }
}

static void judge_repeat(const struct op *op, const struct evidence *evidence, struct evidence_case *shown) {
    if (!shown->test.again || !op->deterministic || evidence->count == 0) { return; }
    const struct evidence_case *before = evidence->cases[evidence->count - 1];
    for (int t = 0; t < op->tensor_count; t++) {
        size_t count = op_elements(op, t, &shown->test.sizes);
        if (!before->got[t] || !shown->got[t]) { continue; }
        for (size_t i = 0; i < count; i++) {
            if (memcmp(&before->got[t][i], &shown->got[t][i], sizeof(float)) == 0) { continue; }
            judge_describe(&shown->failure, FAILURE_REPEAT, &shown->test);
            locate(op, t, &shown->test.sizes, i, &shown->failure);
            shown->failure.expected = before->got[t][i];
            shown->failure.got = shown->got[t][i];
            snprintf(shown->failure.text, sizeof shown->failure.text,
                     "the same call twice gave two results, though its order of operations should be fixed");
            return;
        }
    }
}

void judge_call(const struct exchange *exchange, const struct evidence *evidence, struct evidence_case *shown) {
    const struct op *op = evidence->op;
    struct failure *failure = &shown->failure;
    judge_findings(shown);
    judge_status(op, &exchange->result, shown);
    if (!shown->returned) { return; }
    judge_memory(exchange, op, shown);
    judge_elements(op, shown);
    if (failure->kind != FAILURE_NONE) { return; }
    judge_repeat(op, evidence, shown);
    if (failure->kind != FAILURE_NONE || invariants_hold(op, shown, failure)) { return; }
    struct failure broken = *failure;
    judge_describe(failure, FAILURE_INVARIANT, &shown->test);
    failure->row = broken.row;
}
