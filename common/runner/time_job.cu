/* time_job.cu — JOB_TIME on a GPU: opens the timing, then answers the grader's steps one by one (see protocol.h). */
#include <stdlib.h>
#include <unistd.h>

#include "jobs.h"
#include "timing.h"
#include "wire.h"

static size_t sample_bytes(const struct op *op, const struct op_sizes *sizes, int rows) {
    size_t bytes = 0;
    for (int i = 0; i < op_tensor_count(op); i++) {
        size_t one = op_element_bytes(op, i, sizes->type), C = (size_t)sizes->C;
        if (op->tensor[i].role == ROLE_IN) { continue; }
        bytes += one * (op_shape_is(op, i, "C") ? C : (size_t)rows * (op_has_rows(op, i) ? C : 1));
    }
    return bytes;
}

static void answer_sample(struct timing *t, const struct time_request *request, struct time_reply *reply) {
    int rows = request->row_count;
    if (rows < 0 || rows > TIME_MAX_ROWS) { _exit(1); }
    size_t bytes = sample_bytes(t->op, &t->sizes, rows);
    char *data = (char *)malloc(bytes);
    if (!data) { _exit(1); }
    reply->error = timing_sample(t, request->set, request->rows, rows, data);
    wire_write(reply, sizeof *reply);
    if (reply->error == 0) { wire_write(data, bytes); }
    free(data);
}

static void answer_plan(struct timing *t, const struct job *job, struct time_reply *reply) {
    reply->error = timing_set_rung(t, job->rung, job->launches);
    reply->launches = t->op_batch.launches;
}

static void dialogue(struct timing *t, const struct job *job) {
    for (;;) {
        struct time_request request;
        wire_read(&request, sizeof request);
        if (request.magic != PROTOCOL_MAGIC) { _exit(1); }
        struct time_reply reply = {PROTOCOL_MAGIC, 0, request.nonce, 0, 0};
        switch (request.action) {
            case TIME_PREPARE: reply.error = timing_prepare(t, request.seed); break;
            case TIME_PLAN: answer_plan(t, job, &reply); break;
            case TIME_OP: reply.error = timing_op(t, &reply.us); break;
            case TIME_COPY: reply.error = timing_copy(t, &reply.us); break;
            case TIME_SAMPLE: answer_sample(t, &request, &reply); continue;
            case TIME_END: break;
        }
        wire_write(&reply, sizeof reply);
        if (request.action == TIME_END) { return; }
    }
}

void run_timing(const struct job *job) {
    struct result result = result_make(job);
    struct timing t = {};
    const struct op *op = op_find(job->op);
    if (!op) { _exit(1); }
    result.missing = !launcher_find(job->op, job->sizes.type, job->rung);
    int status = result.missing ? 0 : timing_open(&t, op, &job->sizes, job->launches);
    cudaError_t error = cudaGetLastError();
    result_set_error(&result, status, error);
    cudaGetLastError();
    result.sticky = (status || error) && cudaDeviceSynchronize() != cudaSuccess;
    result.copy_launches = t.copy_batch.launches;
    result.sets = t.sets;
    result.peak_bytes_per_us = t.peak_bytes_per_us;
    result.l2_bytes = t.l2_bytes;
    result.set_bytes = t.set_bytes;
    if (status == 0 && !result.missing) {
        copy_describe(t.copy_variant, t.reads, t.writes, result.copy_name, sizeof result.copy_name);
    }
    wire_write(&result, sizeof result);
    if (status == 0 && error == cudaSuccess && !result.missing) { dialogue(&t, job); }
    timing_close(&t);
}
