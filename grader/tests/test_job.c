/* The parent's end of the protocol: honest answers come through, and no lie does. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "grader/job.h"
#include "hostile.h"

enum { N = 3, C = 5, ELEMENTS = N * C };

static const struct op_sizes sizes = {.N = N, .C = C, .eps = 1e-5f};
static float out[64], x[64];
static struct runner runner;
static struct result result;
static struct finding_record *findings;

static enum child_status call(const char *mode, double seconds) {
    struct limits limits = limits_default;
    limits.call_seconds = seconds;
    cr_assert_eq(runner_start(&runner, hostile_path(mode), &limits), CHILD_OK, "%s", runner.child.message);
    struct job job = job_make(JOB_CALL, op_find("softmax_forward"), &sizes);
    void *buffers[OP_MAX_TENSORS] = {out, x};
    for (int i = 0; i < ELEMENTS; i++) { x[i] = (float)i; }
    return runner_call(&runner, &job, buffers, &result, &findings);
}

static void expect(const char *mode, enum child_status status, const char *words) {
    enum child_status got = call(mode, 1);
    cr_assert_eq(got, status, "%s: %s (%s)", mode, child_status_name(got), runner.child.message);
    cr_assert(strstr(runner.child.message, words), "%s: '%s' does not say '%s'", mode, runner.child.message, words);
    cr_assert_eq(result.nonce, 0u, "%s: a refused result is zeroed", mode);
    cr_assert_null(findings, "%s", mode);
    cr_assert_eq(runner.child.pid, 0, "%s: the liar still runs", mode);
}

Test(job, an_honest_answer_comes_through) {
    cr_assert_eq(call("honest", 5), CHILD_OK, "%s", runner.child.message);
    cr_assert_arr_eq(out, x, sizeof(float) * ELEMENTS);
    cr_assert_eq(result.returned, 1);
    runner_stop(&runner);
    cr_assert_eq(runner.child.pid, 0);
    cr_assert_eq(runner.child.status, CHILD_OK, "%s", runner.child.message);
}

Test(job, a_few_hundred_calls_use_one_process) {
    cr_assert_eq(call("honest", 5), CHILD_OK);
    double start = child_now();
    for (int i = 0; i < 500; i++) {
        struct op_sizes many = {.N = i % 40, .C = 1 + i % 70};
        struct job job = job_make(JOB_CALL, op_find("softmax_forward"), &many);
        job.guard = i % 3 * 16;
        size_t floats = job_buffer_bytes(&job, op_find("softmax_forward"), 1) / sizeof(float);
        float *a = calloc(floats + 1, sizeof *a), *b = malloc((floats + 1) * sizeof *b);
        for (size_t k = 0; k < floats; k++) { b[k] = (float)k; }
        void *buffers[OP_MAX_TENSORS] = {a, b};
        cr_assert_eq(runner_call(&runner, &job, buffers, &result, NULL), CHILD_OK, "%s", runner.child.message);
        cr_assert(memcmp(a, b, floats * sizeof *a) == 0, "call %d", i);
        free(a);
        free(b);
    }
    cr_assert_eq(runner.starts, 1);
    cr_assert(child_now() - start < 2, "500 calls took %g s", child_now() - start);
    runner_stop(&runner);
}

Test(job, large_buffers_come_through) {
    struct op_sizes large = {.N = 4096, .C = 1024};
    size_t floats = (size_t)4096 * 1024;
    float *a = calloc(floats, sizeof *a), *b = malloc(floats * sizeof *b);
    for (size_t k = 0; k < floats; k++) { b[k] = (float)k; }
    cr_assert_eq(runner_start(&runner, hostile_path("honest"), NULL), CHILD_OK);
    struct job job = job_make(JOB_CALL, op_find("softmax_forward"), &large);
    void *buffers[OP_MAX_TENSORS] = {a, b};
    cr_assert_eq(runner_call(&runner, &job, buffers, &result, NULL), CHILD_OK, "%s", runner.child.message);
    cr_assert(memcmp(a, b, floats * sizeof *a) == 0);
    runner_stop(&runner);
    free(a);
    free(b);
}

Test(job, an_aliased_output_has_no_buffer) {
    struct job job = job_make(JOB_CALL, op_find("softmax_forward"), &sizes);
    job.alias_of[0] = 1;
    job.guard = 32;
    job.offset = 2;
    cr_assert_eq(job_buffer_bytes(&job, op_find("softmax_forward"), 0), 0u);
    cr_assert_eq(job_buffer_bytes(&job, op_find("softmax_forward"), 1), 32u + (2 + ELEMENTS) * 4 + 32);
    cr_assert_eq(job_lead_bytes(&job, op_find("softmax_forward"), 1), 32u + 8);
    job.sizes.type = TYPE_BF16;
    cr_assert_eq(job_buffer_bytes(&job, op_find("softmax_forward"), 1), 32u + (2 + ELEMENTS) * 2 + 32);
}

Test(job, a_crash_costs_one_call) {
    expect("crash", CHILD_CRASHED, "SIGSEGV");
    struct job job = job_make(JOB_CALL, op_find("softmax_forward"), &sizes);
    void *buffers[OP_MAX_TENSORS] = {out, x};
    strcpy(runner.path, hostile_path("honest"));
    cr_assert_eq(runner_call(&runner, &job, buffers, &result, &findings), CHILD_OK, "%s", runner.child.message);
    cr_assert_eq(runner.starts, 2);
    runner_stop(&runner);
}

Test(job, a_sticky_error_replaces_the_process) {
    cr_assert_eq(call("sticky", 5), CHILD_OK, "%s", runner.child.message);
    cr_assert_eq(result.error, 700);
    cr_assert_eq(runner.child.pid, 0);
}

Test(job, noise_is_no_result) {
    expect("garbage", CHILD_GARBAGE, "descriptor 3");
}
Test(job, a_wrong_nonce_is_forged) {
    expect("forged", CHILD_FORGED, "secret number");
}
Test(job, a_result_sent_ahead_is_forged) {
    expect("early", CHILD_FORGED, "secret number");
}
Test(job, a_huge_count_is_refused) {
    expect("huge", CHILD_GARBAGE, "findings");
}
Test(job, a_negative_count_is_refused) {
    expect("negative", CHILD_GARBAGE, "findings");
}
Test(job, half_a_result_is_none) {
    expect("short", CHILD_EXITED, "exit status 0");
}
Test(job, a_trickle_does_not_stretch_the_deadline) {
    expect("trickle", CHILD_TIMED_OUT, "within 1 s");
}
Test(job, a_slow_call_has_time_for_its_buffers) {
    cr_assert_eq(call("late", 1), CHILD_OK, "%s", runner.child.message);
}
Test(job, a_constructor_cannot_pass) {
    expect("constructor", CHILD_EXITED, "exit status 0");
}
Test(job, a_hang_is_bounded) {
    expect("hang", CHILD_TIMED_OUT, "within 1 s");
}

Test(job, strings_of_findings_are_ended) {
    cr_assert_eq(call("unterminated", 5), CHILD_OK, "%s", runner.child.message);
    cr_assert_eq(result.finding_count, 2);
    cr_assert_eq(strlen(findings[1].text), sizeof findings[1].text - 1);
    cr_assert_eq(strlen(findings[1].file), sizeof findings[1].file - 1);
    cr_assert(findings[1].kind >= 0 && findings[1].kind < SIMT_FINDING_KINDS);
    free(findings);
    runner_stop(&runner);
}

Test(job, nonces_do_not_repeat) {
    uint64_t first = job_nonce(), second = job_nonce();
    cr_assert(first != second && first != 0);
}

Test(job, an_impossible_job_is_not_sent) {
    cr_assert_eq(runner_start(&runner, hostile_path("honest"), NULL), CHILD_OK);
    struct op_sizes negative = {.N = -1, .C = 5};
    struct job job = job_make(JOB_CALL, op_find("softmax_forward"), &negative);
    cr_assert_eq(runner_call(&runner, &job, NULL, &result, NULL), CHILD_CANNOT_START);
    struct op_sizes enormous = {.N = 1 << 30, .C = 1 << 30};
    job = job_make(JOB_CALL, op_find("softmax_forward"), &enormous);
    cr_assert_eq(runner_call(&runner, &job, NULL, &result, NULL), CHILD_CANNOT_START);
    runner_stop(&runner);
}

Test(job, timing_needs_launches) {
    cr_assert_eq(runner_start(&runner, hostile_path("no_launches"), NULL), CHILD_OK);
    struct job job = job_make(JOB_TIME, op_find("softmax_forward"), &sizes);
    cr_assert_eq(runner_time_begin(&runner, &job, &result), CHILD_GARBAGE);
}

Test(job, a_time_that_is_no_number_is_refused) {
    struct time_request request = {.action = TIME_OP};
    struct time_reply reply;
    cr_assert_eq(runner_start(&runner, hostile_path("time_nan"), NULL), CHILD_OK);
    struct job job = job_make(JOB_TIME, op_find("softmax_forward"), &sizes);
    cr_assert_eq(runner_time_begin(&runner, &job, &result), CHILD_OK, "%s", runner.child.message);
    cr_assert_eq(runner_time_step(&runner, &request, &reply, NULL), CHILD_GARBAGE);
    cr_assert_eq(reply.us, 0);
}

Test(job, samples_have_rows_then_columns) {
    struct op_sizes s = {.N = 100, .C = 7};
    cr_assert_eq(job_sample_bytes(op_find("softmax_forward"), &s, 4), 4 * 4u * 7);
    cr_assert_eq(job_sample_bytes(op_find("layernorm_forward"), &s, 4), 4 * 4u * (7 + 1 + 1));
    cr_assert_eq(job_sample_bytes(op_find("layernorm_backward"), &s, 4), 4 * (4u * 7 + 2 * 7));
    cr_assert_eq(job_sample_bytes(op_find("row_sum"), &s, 4), 4 * 4u);
    s.type = TYPE_F16;
    cr_assert_eq(job_sample_bytes(op_find("layernorm_forward"), &s, 4), 4u * (2 * 7 + 4 + 4));
    cr_assert_eq(job_sample_bytes(op_find("layernorm_backward"), &s, 4), 2 * 4u * 7 + 4 * 2 * 7);
}
