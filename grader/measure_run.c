/* measure_run.c — the dialogue half of measure.h: batch after batch with a runner, under the parent's clock. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

static const double default_wall_seconds = 20;
enum { SAMPLED_ROWS = 8 };

static enum measure_verdict say(char *message, size_t size, enum measure_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static enum measure_verdict say(char *message, size_t size, enum measure_verdict verdict, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, size, format, arguments);
    va_end(arguments);
    return verdict;
}

struct run {
    struct runner *runner;
    const struct measure_options *options;
    const struct result *result;
    void *rows;
    char *message;
    size_t size;
};

static enum measure_verdict step_failed(const struct run *run, const char *what, const struct time_reply *reply) {
    if (run->runner->child.status != CHILD_OK) {
        return say(run->message, run->size, MEASURE_FAILED, "%s", run->runner->child.message);
    }
    return say(run->message, run->size, MEASURE_FAILED, "%s failed with CUDA error %d", what, reply->error);
}

/* Did a call that was timed do its work? Which set and which rows the child learns only now. */
static bool sample_is_right(const struct run *run, uint64_t seed, enum measure_verdict *verdict) {
    const struct measure_options *o = run->options;
    *verdict = MEASURE_OK;
    if (!o->check || o->sizes.N < 1) { return true; }
    struct time_request request = {.action = TIME_SAMPLE, .row_count = SAMPLED_ROWS};
    request.set = (int)(job_nonce() % (uint64_t)run->result->launches);
    for (int i = 0; i < SAMPLED_ROWS; i++) { request.rows[i] = (int)(job_nonce() % (uint64_t)o->sizes.N); }
    size_t bytes = job_sample_bytes(o->op, &o->sizes, SAMPLED_ROWS);
    if (runner_time_sample(run->runner, &request, run->rows, bytes) != CHILD_OK) {
        *verdict = step_failed(run, "reading a timed result", &(struct time_reply){0});
        return false;
    }
    if (o->check(o->context, o->op, &o->sizes, seed, request.set, 1, request.rows, SAMPLED_ROWS, run->rows)) {
        return true;
    }
    *verdict = say(run->message, run->size, MEASURE_WRONG_OUTPUT, "%s", measure_explain(MEASURE_WRONG_OUTPUT));
    return false;
}

static enum measure_verdict one_sample(const struct run *run, struct measure_sample *sample) {
    struct time_reply reply;
    struct time_request prepare = {.action = TIME_PREPARE, .seed = job_nonce()};
    if (runner_time_step(run->runner, &prepare, &reply, NULL) != CHILD_OK || reply.error) {
        return step_failed(run, "making inputs", &reply);
    }
    double seconds;
    if (runner_time_step(run->runner, &(struct time_request){.action = TIME_OP}, &reply, &seconds) != CHILD_OK ||
        reply.error) {
        return step_failed(run, "a timed batch", &reply);
    }
    *sample = (struct measure_sample){.op_us = reply.us,
                                      .wall_us = seconds * 1e6,
                                      .launches = run->result->launches,
                                      .direct_launches = !run->result->uses_graph};
    enum measure_verdict verdict;
    if (!sample_is_right(run, prepare.seed, &verdict)) { return verdict; }
    if (runner_time_step(run->runner, &(struct time_request){.action = TIME_COPY}, &reply, &seconds) != CHILD_OK ||
        reply.error) {
        return step_failed(run, "the copy", &reply);
    }
    sample->copy_us = reply.us;
    sample->copy_wall_us = seconds * 1e6;
    sample->copy_launches = run->result->copy_launches;
    return MEASURE_OK;
}

static enum measure_verdict take_samples(const struct run *run, struct measurement *m) {
    const struct measure_options *o = run->options;
    double give_up = child_now() + (o->wall_seconds > 0 ? o->wall_seconds : default_wall_seconds);
    bool again = false;
    for (;;) {
        enum measure_verdict verdict = one_sample(run, &m->sample[m->count]);
        if (verdict != MEASURE_OK) { return verdict; }
        m->count++;
        verdict = measure_judge(m, o->edges, o->edge_count, again);
        bool full = m->count == MEASURE_MAX_SAMPLES, late = child_now() > give_up;
        if (verdict != MEASURE_MORE) { return verdict; }
        if (!full && !late) { continue; }
        if (again || late) {
            if (m->count < MEASURE_MIN_SAMPLES) {
                return say(run->message, run->size, MEASURE_FAILED, "only %d batches in the time given", m->count);
            }
            return measure_judge(m, o->edges, o->edge_count, true) == MEASURE_MORE
                       ? MEASURE_INCONCLUSIVE
                       : measure_judge(m, o->edges, o->edge_count, true);
        }
        again = true; /* straddling an edge, or still moving: measure once more, from the start */
        m->count = 0;
    }
}

static enum measure_verdict begin(struct run *run, struct result *result) {
    const struct measure_options *o = run->options;
    struct job job = job_make(JOB_TIME, o->op, &o->sizes);
    job.rung = o->rung;
    job.launches = o->launches;
    if (runner_time_begin(run->runner, &job, result) != CHILD_OK) {
        return step_failed(run, "", &(struct time_reply){0});
    }
    if (result->missing) {
        char launcher[64];
        op_launcher_name(o->op, o->sizes.type, launcher, sizeof launcher);
        return say(run->message, run->size, MEASURE_FAILED, "the file does not define %s", launcher);
    }
    if (result->status || result->error) {
        return say(run->message, run->size, MEASURE_FAILED, "%s: %s", result->error_name, result->error_text);
    }
    return MEASURE_OK;
}

enum measure_verdict measure_run(struct runner *runner, const struct measure_options *options, struct measurement *m,
                                 struct result *result, char *message, size_t size) {
    memset(m, 0, sizeof *m);
    message[0] = '\0';
    struct run run = {runner, options, result, NULL, message, size};
    enum measure_verdict verdict = begin(&run, result);
    if (verdict != MEASURE_OK) { return verdict; }
    m->bytes = (double)op_floor_bytes(options->op, &options->sizes);
    m->peak_bytes_per_us = result->peak_bytes_per_us;
    m->l2_bytes = result->l2_bytes;
    m->set_bytes = result->set_bytes * result->launches;
    run.rows = malloc(job_sample_bytes(options->op, &options->sizes, SAMPLED_ROWS) + 1);
    if (!run.rows) { return say(message, size, MEASURE_FAILED, "no memory for sampled rows"); }
    verdict = take_samples(&run, m);
    free(run.rows);
    if (runner->child.pid > 0) { runner_time_end(runner); }
    if (!message[0]) { snprintf(message, size, "%s", measure_explain(verdict)); }
    return verdict;
}
