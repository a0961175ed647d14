/* huge: calls with more elements than an int counts. The traced program is a function here. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../huge.h"
#include "common/status.h"

TestSuite(huge, .timeout = 30);

Test(huge, some_tensor_has_more_elements_than_an_int_counts) {
    int tried = 0;
    for (int o = 0; ops[o]; o++) {
        const struct op *op = ops[o];
        struct test_case cases[HUGE_CASES];
        int count = huge_cases(op, TYPE_F32, cases);
        cr_expect_eq(count, op_is_on_sequences(op) ? 0 : HUGE_CASES, "%s", op->name);
        for (int i = 0; i < count; i++, tried++) {
            size_t most = 0;
            for (int t = 0; t < op_tensor_count(op); t++) {
                size_t elements = op_elements(op, t, &cases[i].sizes);
                most = elements > most ? elements : most;
            }
            cr_expect(cases[i].huge && cases[i].sizes.N > 0, "%s", op->name);
            cr_expect_gt(most, (size_t)INT_MAX / 10 * 19, "%s: nearly half of them are beyond", op->name);
            cr_expect_lt(most, (size_t)UINT_MAX, "%s: the index wraps once", op->name);
        }
    }
    cr_assert_gt(tried, 20);
}

static enum child_status answers = CHILD_OK;
static int found, unwritten, status;

static enum child_status call(void *context, const struct job *job, void *const buffers[], struct result *result,
                              struct finding_record **findings) {
    (void)context;
    const struct op *op = op_find(job->op);
    for (int t = 0; t < op_tensor_count(op); t++) {
        cr_expect_null(buffers[t]);
        cr_expect_eq(job_buffer_bytes(job, op, t), 0, "nothing is sent");
    }
    memset(result, 0, sizeof *result);
    result->finding_count = found, result->unwritten = unwritten, result->status = status;
    *findings = found ? calloc(1, sizeof **findings) : NULL;
    if (found) { **findings = (struct finding_record){.kind = SIMT_OUT_OF_BOUNDS, .is_error = 1, .line = 7}; }
    return answers;
}

static enum failure_kind failure_of_call(void) {
    struct device device = {.call = call};
    struct test_case cases[HUGE_CASES];
    struct result result;
    const struct op *op = op_find("residual_forward");
    huge_cases(op, TYPE_F32, cases);
    struct evidence_case *shown = huge_call(&device, op, &cases[0], &result);
    enum failure_kind kind = shown->failure.kind;
    free(shown->findings);
    free(shown);
    return kind;
}

Test(huge, a_finding_fails_and_silence_does_not) {
    cr_assert_eq(failure_of_call(), FAILURE_NONE);
    unwritten = 1;
    cr_assert_eq(failure_of_call(), FAILURE_UNWRITTEN);
    found = 1;
    cr_assert_eq(failure_of_call(), FAILURE_FINDING, "which says more");
    found = unwritten = 0;
    status = CUDA_INVALID_CONFIGURATION;
    cr_assert_eq(failure_of_call(), FAILURE_STATUS);
    answers = CHILD_CRASHED;
    cr_assert_eq(failure_of_call(), FAILURE_NONE);
}
