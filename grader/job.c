#include "job.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clean.h"

static const double quit_seconds = 1;
static const size_t max_buffer_bytes = (size_t)8 << 30;

uint64_t job_nonce(void) {
    uint64_t nonce = 0;
    while (getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce) {}
    return nonce;
}

struct job job_make(enum job_kind kind, const struct op *op, const struct op_sizes *sizes) {
    struct job job = {.magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION, .kind = kind};
    if (op) { memccpy(job.op, op->name, 0, sizeof job.op - 1); }
    if (sizes) { job.sizes = *sizes; }
    for (int i = 0; i < OP_MAX_TENSORS; i++) { job.alias_of[i] = -1; }
    return job;
}

size_t job_lead_bytes(const struct job *job, const struct op *op, int tensor) {
    int offset = job->moved == 0 || job->moved == 1 + tensor ? job->offset : 0;
    return (size_t)job->guard + (size_t)offset * op_element_bytes(op, tensor, job->sizes.type);
}

size_t job_buffer_bytes(const struct job *job, const struct op *op, int tensor) {
    size_t elements = op_elements(op, tensor, &job->sizes);
    if (job->huge || job->alias_of[tensor] >= 0 || !op_is_given(op, tensor, &job->sizes)) { return 0; }
    return job_lead_bytes(job, op, tensor) + elements * op_element_bytes(op, tensor, job->sizes.type) +
           (size_t)job->guard;
}

enum child_status runner_start(struct runner *runner, const char *path, const struct limits *limits) {
    memset(runner, 0, sizeof *runner);
    runner->limits = limits ? *limits : limits_default;
    if (strlen(path) >= sizeof runner->path) {
        return child_kill(&runner->child, CHILD_CANNOT_START, "%s: the path is too long", path);
    }
    strcpy(runner->path, path);
    runner->starts = 1;
    return child_start(&runner->child, runner->path, NULL, &runner->limits);
}

static enum child_status restart_if_gone(struct runner *runner) {
    if (runner->child.pid > 0) { return CHILD_OK; }
    runner->starts++;
    return child_start(&runner->child, runner->path, NULL, &runner->limits);
}

void runner_stop(struct runner *runner) {
    struct job quit = job_make(JOB_QUIT, NULL, NULL);
    if (runner->child.pid > 0 &&
        child_send(&runner->child, &quit, sizeof quit, child_now() + quit_seconds) == CHILD_OK) {
        child_finish(&runner->child, child_now() + quit_seconds);
    }
}

static enum child_status garbage(struct runner *runner, const char *what) {
    return child_kill(&runner->child, CHILD_GARBAGE,
                      "answered with something that is not a result (%s): did the lab code write to descriptor 3?",
                      what);
}

/* Every result is validated here before it is used. */
static enum child_status accept_result(struct runner *runner, struct result *result) {
    if (result->magic != PROTOCOL_MAGIC || result->version != PROTOCOL_VERSION) { return garbage(runner, "no header"); }
    if (result->nonce != runner->nonce) {
        return child_kill(&runner->child, CHILD_FORGED,
                          "answered without the secret number of this job: a result was forged or replayed");
    }
    if (result->finding_count < 0 || result->finding_count > RESULT_MAX_FINDINGS) {
        return garbage(runner, "number of findings");
    }
    if (result->atom_count < 0 || result->atom_count > RESULT_MAX_ATOMS || result->comparison_count < 0 ||
        result->comparison_count > RESULT_MAX_COMPARISONS) {
        return garbage(runner, "size of the trace");
    }
    if (result->sets < 0 || result->sets > TIME_MAX_SETS || result->copy_launches < 0 ||
        result->copy_launches > result->sets) {
        return garbage(runner, "number of launches");
    }
    if (!isfinite(result->peak_bytes_per_us) || !isfinite(result->l2_bytes) || !isfinite(result->set_bytes) ||
        result->peak_bytes_per_us < 0 || result->l2_bytes < 0 || result->set_bytes < 0) {
        return garbage(runner, "properties of the device");
    }
    result->error_name[sizeof result->error_name - 1] = '\0';
    result->error_text[sizeof result->error_text - 1] = '\0';
    result->device[sizeof result->device - 1] = '\0';
    result->copy_name[sizeof result->copy_name - 1] = '\0';
    clean_text(result->error_name);
    clean_text(result->error_text);
    clean_text(result->device);
    clean_text(result->copy_name);
    return CHILD_OK;
}

static void bound_finding(struct finding_record *finding) {
    finding->file[sizeof finding->file - 1] = '\0';
    finding->kernel[sizeof finding->kernel - 1] = '\0';
    finding->text[sizeof finding->text - 1] = '\0';
    clean_text(finding->file);
    clean_text(finding->kernel);
    clean_text(finding->text);
    if (finding->kind < 0 || finding->kind >= SIMT_FINDING_KINDS) { finding->kind = SIMT_LAUNCH; }
    if (finding->line < 0) { finding->line = 0; }
    finding->is_error = finding->is_error != 0;
}

static enum child_status receive_findings(struct runner *runner, int count, struct finding_record **findings,
                                          double deadline) {
    if (count == 0) { return CHILD_OK; }
    size_t bytes = (size_t)count * sizeof **findings;
    struct finding_record *records = malloc(bytes);
    if (!records) { return child_kill(&runner->child, CHILD_CANNOT_START, "no memory for %d findings", count); }
    enum child_status status = child_receive(&runner->child, records, bytes, deadline);
    if (status != CHILD_OK || !findings) {
        free(records);
        return status;
    }
    for (int i = 0; i < count; i++) { bound_finding(&records[i]); }
    *findings = records;
    return CHILD_OK;
}

/* The op of a job, or NULL for a job that is a mistake of the grader. */
static const struct op *checked_op(struct runner *runner, const struct job *job) {
    const struct op *op = op_find(job->op);
    const struct op_sizes *sizes = &job->sizes;
    bool sane = op && sizes->N >= 0 && sizes->C >= 1 && job->guard >= 0 && job->offset >= 0;
    sane = sane && sizes->type < OP_TYPES && op->types >> sizes->type & 1;
    if (sane && op_is_on_matrices(op)) {
        sane = sizes->T == sizes->C && (long long)sizes->B * sizes->H * sizes->T == sizes->N;
    }
    if (sane && op_is_on_sequences(op)) { sane = sizes->H >= 1 && sizes->C % sizes->H == 0 && sizes->S >= sizes->T; }
    for (int i = 0; sane && i < op_tensor_count(op); i++) {
        sane = job->alias_of[i] < op_tensor_count(op) && job_buffer_bytes(job, op, i) <= max_buffer_bytes;
    }
    if (sane) { return op; }
    runner->child.status = CHILD_CANNOT_START;
    snprintf(runner->child.message, sizeof runner->child.message, "the grader asked for an impossible job: %.48s",
             job->op);
    return NULL;
}

static enum child_status receive_trace(struct runner *runner, const struct result *result, double deadline) {
    struct trace ignored, *trace = runner->trace ? runner->trace : &ignored;
    trace->atom_count = result->atom_count;
    trace->comparison_count = result->comparison_count;
    enum child_status status =
        child_receive(&runner->child, trace->atoms, (size_t)trace->atom_count * sizeof *trace->atoms, deadline);
    if (status != CHILD_OK) { return status; }
    return child_receive(&runner->child, trace->comparisons,
                         (size_t)trace->comparison_count * sizeof *trace->comparisons, deadline);
}

static enum child_status call(struct runner *runner, const struct job *job, void *const buffers[],
                              struct result *result, struct finding_record **findings) {
    const struct op *op = checked_op(runner, job);
    if (!op) { return CHILD_CANNOT_START; }
    enum child_status status = restart_if_gone(runner);
    double deadline = child_now() + runner->limits.call_seconds;
    struct job sent = *job;
    sent.magic = PROTOCOL_MAGIC;
    sent.version = PROTOCOL_VERSION;
    sent.kind = JOB_CALL;
    sent.nonce = runner->nonce = job_nonce();
    if (status == CHILD_OK) { status = child_send(&runner->child, &sent, sizeof sent, deadline); }
    for (int i = 0; status == CHILD_OK && i < op_tensor_count(op); i++) {
        size_t bytes = job_buffer_bytes(job, op, i);
        status = child_send(&runner->child, buffers[i], bytes, deadline);
    }
    if (status == CHILD_OK) { status = child_receive(&runner->child, result, sizeof *result, deadline); }
    if (status == CHILD_OK) { status = accept_result(runner, result); }
    deadline = child_now() + runner->limits.call_seconds; /* a slow call may have outlasted its own */
    for (int i = 0; status == CHILD_OK && result->returned && i < op_tensor_count(op); i++) {
        size_t bytes = job_buffer_bytes(job, op, i);
        status = child_receive(&runner->child, buffers[i], bytes, deadline);
    }
    if (status == CHILD_OK) { status = receive_findings(runner, result->finding_count, findings, deadline); }
    if (status == CHILD_OK && result->atom_count > 0) { status = receive_trace(runner, result, deadline); }
    return status;
}

enum child_status runner_call(struct runner *runner, const struct job *job, void *const buffers[],
                              struct result *result, struct finding_record **findings) {
    if (findings) { *findings = NULL; }
    enum child_status status = call(runner, job, buffers, result, findings);
    if (status != CHILD_OK) {
        memset(result, 0, sizeof *result);
    } else if (result->sticky) {
        child_kill(&runner->child, CHILD_OK, "%s",
                   ""); /* after a sticky error the process is unusable; the next call starts a new one */
    }
    return status;
}

int runner_lines(struct runner *runner, struct line_record **lines) {
    struct job job = job_make(JOB_LINES, NULL, NULL);
    struct result result;
    double deadline = child_now() + runner->limits.call_seconds;
    *lines = NULL;
    if (runner->child.pid <= 0 || runner->starts != 1) { return -1; }
    job.nonce = runner->nonce = job_nonce();
    if (child_send(&runner->child, &job, sizeof job, deadline) != CHILD_OK ||
        child_receive(&runner->child, &result, sizeof result, deadline) != CHILD_OK ||
        accept_result(runner, &result) != CHILD_OK) {
        return -1;
    }
    if (result.line_count < 0 || result.line_count > RESULT_MAX_LINES) {
        garbage(runner, "number of lines");
        return -1;
    }
    size_t bytes = (size_t)result.line_count * sizeof **lines;
    *lines = malloc(bytes + 1);
    if (!*lines || child_receive(&runner->child, *lines, bytes, deadline) != CHILD_OK) {
        free(*lines);
        *lines = NULL;
        return -1;
    }
    for (int i = 0; i < result.line_count; i++) {
        struct line_record *line = &(*lines)[i];
        line->file[sizeof line->file - 1] = '\0';
    }
    return result.line_count;
}

/* ---- the timing dialogue ---- */

enum child_status runner_time_begin(struct runner *runner, const struct job *job, struct result *result) {
    const struct op *op = checked_op(runner, job);
    if (!op) { return CHILD_CANNOT_START; }
    enum child_status status = restart_if_gone(runner);
    double deadline = child_now() + runner->limits.call_seconds;
    runner->timing = *job;
    runner->timing.magic = PROTOCOL_MAGIC;
    runner->timing.version = PROTOCOL_VERSION;
    runner->timing.kind = JOB_TIME;
    runner->timing.nonce = runner->nonce = job_nonce();
    if (status == CHILD_OK) { status = child_send(&runner->child, &runner->timing, sizeof runner->timing, deadline); }
    if (status == CHILD_OK) { status = child_receive(&runner->child, result, sizeof *result, deadline); }
    if (status == CHILD_OK) { status = accept_result(runner, result); }
    bool will_run = !result->missing && !result->status && !result->error;
    if (status == CHILD_OK && will_run && result->copy_launches < 1) { status = garbage(runner, "number of launches"); }
    if (status != CHILD_OK) { memset(result, 0, sizeof *result); }
    return status;
}

static enum child_status step(struct runner *runner, const struct time_request *request, struct time_reply *reply,
                              double deadline, double *seconds) {
    struct time_request sent = *request;
    sent.magic = PROTOCOL_MAGIC;
    sent.nonce = runner->nonce = job_nonce();
    double start = child_now();
    enum child_status status = child_send(&runner->child, &sent, sizeof sent, deadline);
    if (status == CHILD_OK) { status = child_receive(&runner->child, reply, sizeof *reply, deadline); }
    if (seconds) { *seconds = child_now() - start; }
    if (status != CHILD_OK) { return status; }
    if (reply->magic != PROTOCOL_MAGIC || !isfinite(reply->us) || reply->us < 0) { return garbage(runner, "a time"); }
    if (reply->nonce != runner->nonce) {
        return child_kill(&runner->child, CHILD_FORGED,
                          "answered a timing step without its secret number: a time was forged or replayed");
    }
    return CHILD_OK;
}

enum child_status runner_time_step(struct runner *runner, const struct time_request *request, struct time_reply *reply,
                                   double *seconds) {
    enum child_status status = step(runner, request, reply, child_now() + runner->limits.call_seconds, seconds);
    if (status != CHILD_OK) { memset(reply, 0, sizeof *reply); }
    return status;
}

enum child_status runner_time_plan(struct runner *runner, int sets, struct time_reply *reply) {
    enum child_status status = runner_time_step(runner, &(struct time_request){.action = TIME_PLAN}, reply, NULL);
    if (status == CHILD_OK && !reply->error && (reply->launches < 1 || reply->launches > sets)) {
        return garbage(runner, "number of launches");
    }
    return status;
}

size_t job_sample_bytes(const struct op *op, const struct op_sizes *sizes, int rows) {
    size_t bytes = 0;
    for (int i = 0; i < op_tensor_count(op); i++) {
        size_t one = op_element_bytes(op, i, sizes->type), C = (size_t)sizes->C;
        if (op->tensor[i].role == ROLE_IN) { continue; }
        bytes += one * (op_shape_is(op, i, "C") ? C : (size_t)rows * (op_has_rows(op, i) ? C : 1));
    }
    return bytes;
}

enum child_status runner_time_sample(struct runner *runner, const struct time_request *request, void *data,
                                     size_t bytes) {
    double deadline = child_now() + runner->limits.call_seconds;
    struct time_reply reply;
    enum child_status status = step(runner, request, &reply, deadline, NULL);
    if (status == CHILD_OK && reply.error) { return garbage(runner, "no sample"); }
    return status == CHILD_OK ? child_receive(&runner->child, data, bytes, deadline) : status;
}

enum child_status runner_time_end(struct runner *runner) {
    struct time_request end = {.action = TIME_END};
    struct time_reply reply;
    return runner_time_step(runner, &end, &reply, NULL);
}
