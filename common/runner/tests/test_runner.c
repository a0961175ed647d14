/* A real runner, built from lab files on the CPU backend: what it uploads, calls, counts, finds and sends back. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/elements.h"
#include "grader/job.h"

enum { MAX_FLOATS = 4096 };

static struct runner runner;
static struct result result;
static struct finding_record *findings;
static float buffer[OP_MAX_TENSORS][MAX_FLOATS];
static const float poison = -12345.5f;

static void start(const char *lab) {
    char path[600];
    static const char *const quiet[] = {"SIMT_QUIET=1", NULL};
    struct limits limits = limits_default;
    limits.environment = quiet;
    snprintf(path, sizeof path, "%s/runner/tests/%s", TEST_BUILD, lab);
    cr_assert_eq(runner_start(&runner, path, &limits), CHILD_OK, "%s", runner.child.message);
}

static struct job job_for(const char *op, int N, int C) {
    struct op_sizes sizes = {.N = N, .C = C, .eps = 1e-5f};
    return job_make(JOB_CALL, op_find(op), &sizes);
}

/* Outputs poisoned, inputs 1, 2, 3, ... */
static enum child_status call(const struct job *job) {
    const struct op *op = op_find(job->op);
    void *buffers[OP_MAX_TENSORS];
    for (int i = 0; i < op_tensor_count(op); i++) {
        size_t floats = job_buffer_bytes(job, op, i) / sizeof(float);
        cr_assert(floats <= MAX_FLOATS);
        for (size_t k = 0; k < floats; k++) { buffer[i][k] = op->tensor[i].role == ROLE_OUT ? poison : (float)(k + 1); }
        buffers[i] = buffer[i];
    }
    return runner_call(&runner, job, buffers, &result, &findings);
}

static void works(const struct job *job) {
    cr_assert_eq(call(job), CHILD_OK, "%s", runner.child.message);
    cr_assert_eq(result.missing, 0);
    cr_assert_eq(result.status, 0, "%s", result.error_name);
    cr_assert_eq(result.error, 0, "%s", result.error_name);
    cr_assert_eq(result.returned, 1);
    cr_assert_eq(result.finding_count, 0, "%s", result.finding_count ? findings[0].text : "");
}

Test(runner, calls_the_launcher_and_sends_everything_back) {
    start("rows");
    struct job job = job_for("row_sum", 3, 4);
    works(&job);
    for (int n = 0; n < 3; n++) { cr_assert_eq(buffer[0][n], 16 * n + 10); }
    for (int k = 0; k < 12; k++) { cr_assert_eq(buffer[1][k], k + 1, "the input came back"); }
    cr_assert_eq(result.backend_is_gpu, 0);
    cr_assert_str_eq(result.device, "CPU backend, checked");
    runner_stop(&runner);
    cr_assert_str_eq(runner.child.output, "row_sum of 3 rows\n");
}

Test(runner, counts_one_call_alone) {
    start("rows");
    struct job job = job_for("row_sum", 32, 8);
    for (int i = 0; i < 3; i++) {
        works(&job);
        /* One block of 64 threads: a warp that works, and one that leaves. A row is one sector. */
        cr_assert_eq(result.counters.launches, 1u);
        cr_assert_eq(result.counters.warps, 2u);
        cr_assert_eq(result.counters.global.load_requests, 8u);
        cr_assert_eq(result.traffic[1].load_requests, 8u);
        cr_assert_eq(result.traffic[1].load_sectors, 8u * 32);
        cr_assert_eq(result.traffic[0].store_sectors, 4u);
        cr_assert_eq(result.traffic[0].load_sectors, 0u);
    }
    runner_stop(&runner);
}

Test(runner, rungs_of_a_ladder) {
    start("rows");
    struct job job = job_for("row_sum", 2, 2);
    job.rung = 2;
    works(&job);
    cr_assert_eq(buffer[0][0], -3);
    job.rung = 3;
    cr_assert_eq(call(&job), CHILD_OK);
    cr_assert_eq(result.status, 1);
    cr_assert_str_eq(result.error_name, "cudaErrorInvalidValue");
    job = job_for("bias_add", 2, 2);
    job.rung = 1;
    cr_assert_eq(call(&job), CHILD_OK);
    cr_assert_eq(result.missing, 1, "bias_add has no ladder");
    runner_stop(&runner);
}

Test(runner, a_launcher_that_is_not_there) {
    start("rows");
    struct job job = job_for("layernorm_forward", 2, 2);
    cr_assert_eq(call(&job), CHILD_OK, "%s", runner.child.message);
    cr_assert_eq(result.missing, 1);
    cr_assert_eq(buffer[0][0], poison, "nothing was called");
    runner_stop(&runner);
}

Test(runner, offset_guard_and_alias) {
    start("rows");
    struct job job = job_for("row_sum", 3, 4);
    job.offset = 3;
    job.guard = 5 * sizeof(float);
    works(&job);
    /* Inputs count from the start of the buffer: the tensor starts at element 8, which holds 9. */
    cr_assert_eq(buffer[0][8], 9 + 10 + 11 + 12);
    for (int k = 0; k < 8; k++) { cr_assert_eq(buffer[0][k], poison, "before"); }
    for (int k = 11; k < 16; k++) { cr_assert_eq(buffer[0][k], poison, "after"); }

    job = job_for("bias_add", 2, 3);
    job.alias_of[0] = 1;
    works(&job);
    cr_assert_eq(buffer[1][0], 1 + 1);
    cr_assert_eq(buffer[1][1], 2);
    cr_assert_eq(buffer[1][3], 4 + 1);
    runner_stop(&runner);
}

Test(runner, what_was_never_written_comes_back_as_it_was) {
    start("rows");
    struct job job = job_for("bias_add", 2, 3);
    works(&job);
    cr_assert_eq(buffer[0][0], 2);
    cr_assert_eq(buffer[0][1], poison);
    cr_assert_eq(buffer[0][4], poison);
    runner_stop(&runner);
}

Test(runner, nothing_to_do) {
    start("rows");
    struct job job = job_for("row_sum", 0, 7);
    works(&job);
    cr_assert_eq(result.counters.launches, 0u);
    runner_stop(&runner);
}

Test(runner, a_launch_error_has_cudas_name) {
    start("rows");
    struct job job = job_for("softmax_forward", 2, 3);
    cr_assert_eq(call(&job), CHILD_OK, "%s", runner.child.message);
    cr_assert_str_eq(result.error_name, "cudaErrorInvalidConfiguration");
    cr_assert_eq(result.sticky, 0);
    free(findings);
    job = job_for("row_sum", 2, 2);
    works(&job); /* and the next call is not harmed */
    cr_assert_eq(runner.starts, 1);
    runner_stop(&runner);
}

Test(runner, out_of_bounds_is_found_with_its_line) {
    start("faults");
    struct job job = job_for("row_sum", 3, 4);
    cr_assert_eq(call(&job), CHILD_OK, "%s", runner.child.message);
    cr_assert_eq(result.status, 700);
    cr_assert_eq(result.sticky, 1);
    cr_assert_eq(result.returned, 0);
    cr_assert_geq(result.finding_count, 1);
    cr_assert_eq(findings[0].kind, SIMT_OUT_OF_BOUNDS);
    cr_assert(strstr(findings[0].file, "faults.cu"), "%s", findings[0].file);
    cr_assert_eq(findings[0].line, 15, "line %d", findings[0].line);
    cr_assert(strstr(findings[0].kernel, "past_the_end"), "%s", findings[0].kernel);
    free(findings);
    cr_assert_eq(runner.child.pid, 0, "a process with a sticky error is replaced");
    job = job_for("row_sum_squares", 3, 4);
    cr_assert_eq(call(&job), CHILD_OK, "%s", runner.child.message);
    cr_assert_eq(runner.starts, 2);
    free(findings);
    runner_stop(&runner);
}

Test(runner, an_output_read_before_it_is_written_is_found) {
    start("faults");
    struct job job = job_for("row_sum_squares", 3, 4);
    cr_assert_eq(call(&job), CHILD_OK, "%s", runner.child.message);
    cr_assert_eq(result.finding_count, 1);
    cr_assert_eq(findings[0].kind, SIMT_UNINITIALISED);
    cr_assert_eq(findings[0].line, 25, "line %d", findings[0].line);
    free(findings);
    runner_stop(&runner);
}

Test(runner, host_faults_cost_one_call) {
    start("faults");
    struct job job = job_for("row_dot", 2, 2);
    cr_assert_eq(call(&job), CHILD_CRASHED, "%s", runner.child.message);
    job = job_for("bias_add", 2, 2);
    cr_assert_eq(call(&job), CHILD_EXITED, "%s", runner.child.message);
    job = job_for("softmax_forward", 2, 2);
    enum child_status status = call(&job);
    cr_assert(status == CHILD_CLOSED || status == CHILD_EXITED, "%s", runner.child.message);
    cr_assert_eq(runner.starts, 3);
}

Test(runner, opens_no_file_for_the_labs_code) {
    start("faults");
    struct job job = job_for("layernorm_forward", 2, 2);
    cr_assert_eq(call(&job), CHILD_OK, "%s", runner.child.message);
    if (!(runner.child.layers & SANDBOX_LANDLOCK)) { cr_skip_test("no Landlock here"); }
    cr_assert_eq(result.status, 0, "%d of the files could be opened", result.status);
    runner_stop(&runner);
}

/* ---- types: buffers hold the tensors' own elements ---- */

static unsigned char bytes[OP_MAX_TENSORS][1024];

/* Every tensor filled with 1, 2, 3, ...; outputs with -1. */
static void call_typed(const struct job *job) {
    const struct op *op = op_find(job->op);
    void *buffers[OP_MAX_TENSORS];
    for (int t = 0; t < op_tensor_count(op); t++) {
        float values[64];
        size_t count = op_elements(op, t, &job->sizes);
        for (size_t i = 0; i < count; i++) { values[i] = op->tensor[t].role == ROLE_IN ? (float)(i + 1) : -1.0f; }
        cr_assert(job_buffer_bytes(job, op, t) <= sizeof bytes[t]);
        if (job_buffer_bytes(job, op, t)) {
            elements_pack(op->tensor[t].element, job->sizes.type, values, count, bytes[t] + job_lead_bytes(job, op, t));
        }
        buffers[t] = bytes[t];
    }
    cr_assert_eq(runner_call(&runner, job, buffers, &result, &findings), CHILD_OK, "%s", runner.child.message);
    cr_assert(result.missing == 0 && result.status == 0, "%s", result.error_name);
    cr_assert_eq(result.finding_count, 0, "%s", result.finding_count ? findings[0].text : "");
}

static float element(const struct job *job, int t, size_t i) {
    const struct op *op = op_find(job->op);
    size_t at = job_lead_bytes(job, op, t) + i * op_element_bytes(op, t, job->sizes.type);
    float value;
    elements_unpack(op->tensor[t].element, job->sizes.type, bytes[t] + at, 1, &value);
    return value;
}

Test(runner, sixteen_bit_tensors_travel_in_their_own_type) {
    start("typed");
    struct op_sizes sizes = {.N = 3, .C = 5, .type = TYPE_BF16};
    struct job job = job_make(JOB_CALL, op_find("three_way_add"), &sizes);
    job.offset = 1;
    call_typed(&job);
    for (size_t i = 0; i < 15; i++) { cr_assert_eq(element(&job, 0, i), 3.0f * (float)(i + 1)); }
    cr_assert_eq(result.traffic[1].load_bytes, 30u);
    job.sizes.type = TYPE_F16;
    void *none[OP_MAX_TENSORS] = {bytes[0], bytes[1], bytes[2], bytes[3]};
    cr_assert_eq(runner_call(&runner, &job, none, &result, NULL), CHILD_OK);
    cr_assert_eq(result.missing, 1, "the file has no launcher of that type");
    runner_stop(&runner);
}

Test(runner, matrices_and_lengths) {
    start("typed");
    for (int lengths = 0; lengths < 2; lengths++) {
        struct op_sizes sizes = op_causal_sizes(TYPE_F16, 3, 1, 4, 0.75f);
        sizes.lengths = lengths;
        sizes.upper = lengths;
        struct job job = job_make(JOB_CALL, op_find("causal_softmax_forward"), &sizes);
        job.guard = lengths ? 0 : 16; /* a pointer that is not given is null all the same */
        call_typed(&job);
        float expected[] = {1, lengths ? 3.0f : -1.0f, 3, 1, 4, 0.75f, (float)lengths};
        for (size_t i = 0; i < 7; i++) { cr_assert_eq(element(&job, 0, i), expected[i], "argument %zu", i); }
    }
    runner_stop(&runner);
}

Test(runner, the_second_output_may_share_a_pointer) {
    start("typed");
    struct op_sizes sizes = {.N = 2, .C = 3, .eps = 1e-5f, .type = TYPE_F16};
    const struct op *op = op_find("residual_layernorm_forward");
    struct job job = job_make(JOB_CALL, op, &sizes);
    job.alias_of[op_tensor_find(op, "sum")] = op_tensor_find(op, "residual");
    call_typed(&job);
    for (size_t i = 0; i < 6; i++) { cr_assert_eq(element(&job, 5, i), 2.0f * (float)(i + 1)); }
    cr_assert_eq(element(&job, 2, 0), 1.0f / 3.0f, "mean is float");
    runner_stop(&runner);
}

Test(runner, no_times_without_a_gpu) {
    start("rows");
    struct job job = job_for("row_sum", 64, 64);
    cr_assert_eq(runner_time_begin(&runner, &job, &result), CHILD_OK, "%s", runner.child.message);
    cr_assert_str_eq(result.error_name, "cudaErrorNotSupported");
    runner_stop(&runner);
}

Test(runner, a_small_call_is_quick) {
    start("rows");
    struct job job = job_for("row_sum", 16, 16);
    works(&job);
    double begin = child_now();
    for (int i = 0; i < 100; i++) { works(&job); }
    cr_assert(child_now() - begin < 3, "100 calls took %g s", child_now() - begin);
    runner_stop(&runner);
    begin = child_now();
    for (int i = 0; i < 10; i++) {
        start("rows");
        works(&job);
        runner_stop(&runner);
    }
    cr_assert(child_now() - begin < 3, "10 lives took %g s", child_now() - begin);
}
