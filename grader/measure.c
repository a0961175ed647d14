#include "measure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"

/* ---- judging: pure functions of samples ---- */

static const double enough_deviation = 0.005;
static const double stable_median = 0.003;
static const double clock_tolerance = 0.02;
static const double bandwidth_tolerance = 1.02;
static const double quiet_tolerance = 0.05;
static const double longest_start_us = 500; /* request, wake-up of the child, first launch, reply */
static const double quiet_allowance_us = 150;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The quantile at `fraction`, linearly interpolated. */
static double quantile(const double *sorted, int count, double fraction) {
    double place = fraction * (count - 1);
    int below = (int)place;
    if (below + 1 >= count) { return sorted[count - 1]; }
    return sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]);
}

struct quartiles measure_quartiles(const double *values, int count) {
    double sorted[MEASURE_MAX_SAMPLES];
    if (count < 1) { return (struct quartiles){NAN, NAN, NAN, NAN}; }
    if (count > MEASURE_MAX_SAMPLES) { count = MEASURE_MAX_SAMPLES; }
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return (struct quartiles){quantile(sorted, count, 0.25), quantile(sorted, count, 0.5),
                              quantile(sorted, count, 0.75), sorted[0]};
}

typedef double sample_value(const struct measure_sample *sample);
static double op_us(const struct measure_sample *s) {
    return s->op_us;
}
static double copy_us(const struct measure_sample *s) {
    return s->copy_us;
}
static double fraction(const struct measure_sample *s) {
    return s->copy_us / s->op_us;
}

static struct quartiles quartiles_of(const struct measurement *m, sample_value *value) {
    double values[MEASURE_MAX_SAMPLES];
    int count = m->count < MEASURE_MAX_SAMPLES ? m->count : MEASURE_MAX_SAMPLES;
    for (int i = 0; i < count; i++) { values[i] = value(&m->sample[i]); }
    return measure_quartiles(values, count);
}

struct quartiles measure_fraction(const struct measurement *m) {
    return quartiles_of(m, fraction);
}
struct quartiles measure_op_us(const struct measurement *m) {
    return quartiles_of(m, op_us);
}
struct quartiles measure_copy_us(const struct measurement *m) {
    return quartiles_of(m, copy_us);
}

double measure_relative_deviation(const struct measurement *m) {
    double sum = 0, squares = 0;
    for (int i = 0; i < m->count; i++) { sum += m->sample[i].op_us; }
    double mean = sum / m->count;
    for (int i = 0; i < m->count; i++) { squares += (m->sample[i].op_us - mean) * (m->sample[i].op_us - mean); }
    return m->count > 1 ? sqrt(squares / (m->count - 1)) / mean : INFINITY;
}

/* The median of the first `count` samples of the fraction. */
static double median_of_first(const struct measurement *m, int count) {
    struct measurement part = *m;
    part.count = count;
    return measure_fraction(&part).median;
}

bool measure_stable(const struct measurement *m) {
    if (m->count < MEASURE_MIN_SAMPLES) { return false; }
    if (measure_relative_deviation(m) < enough_deviation) { return true; }
    /* Constant noise around a stable median: further samples would not change the result. */
    if (m->count < 2 * MEASURE_MIN_SAMPLES) { return false; }
    double last = measure_fraction(m).median;
    for (int count = m->count / 2; count < m->count; count++) {
        if (!(fabs(median_of_first(m, count) - last) <= stable_median * last)) { return false; }
    }
    return true;
}

static double op_wall_us(const struct measure_sample *s) {
    return s->wall_us;
}
static double op_events_us(const struct measure_sample *s) {
    return s->op_us * s->launches;
}
static double copy_wall_us(const struct measure_sample *s) {
    return s->copy_wall_us;
}
static double copy_events_us(const struct measure_sample *s) {
    return s->copy_us * s->copy_launches;
}

/* The child's time is at most the parent's, and not much less. `start`: what a batch takes longer by the parent's clock. */
static bool clock_agrees(double wall, double events, double start) {
    return events <= wall * (1 + clock_tolerance) && wall <= events * (1 + clock_tolerance) + start;
}

/* Medians over the batches, so that a single disturbed batch does not count. */
bool measure_clocks_agree(const struct measurement *m) {
    double start = fmin(fmax(m->quiet_start_us, 0), longest_start_us) + quiet_allowance_us;
    return clock_agrees(quartiles_of(m, op_wall_us).median, quartiles_of(m, op_events_us).median, start) &&
           clock_agrees(quartiles_of(m, copy_wall_us).median, quartiles_of(m, copy_events_us).median, start);
}

static double prepare_wall_us(const struct measure_sample *s) {
    return s->prepare_wall_us;
}

static bool is_slower(double us, double quiet_us) {
    return quiet_us > 0 && us > quiet_us * (1 + quiet_tolerance) + quiet_allowance_us;
}

bool measure_disturbed(const struct measurement *m) {
    return is_slower(quartiles_of(m, prepare_wall_us).median, m->quiet_prepare_us) ||
           is_slower(quartiles_of(m, copy_wall_us).median, m->quiet_copy_us);
}

bool measure_impossible(const struct measurement *m) {
    struct quartiles us = measure_op_us(m);
    if (!(us.median > 0)) { return true; }
    if (!(m->peak_bytes_per_us > 0)) { return false; }
    /* The part of the sets that may still be in L2 need not be read from memory. */
    double cached = m->set_bytes > 0 ? m->l2_bytes / m->set_bytes : 1;
    double from_memory = m->bytes * (cached < 1 ? 1 - cached : 0);
    return from_memory / us.median > m->peak_bytes_per_us * bandwidth_tolerance;
}

int measure_side(const struct measurement *m, double edge) {
    struct quartiles f = measure_fraction(m);
    if (f.low >= edge) { return 1; }
    return f.high < edge ? -1 : 0;
}

enum measure_verdict measure_judge(const struct measurement *m, const double *edges, int edge_count, bool again) {
    if (m->count < MEASURE_MIN_SAMPLES) { return MEASURE_MORE; }
    if (!measure_clocks_agree(m)) { return MEASURE_CLOCKS; }
    if (measure_disturbed(m)) { return MEASURE_DISTURBED; }
    if (measure_impossible(m)) { return MEASURE_IMPOSSIBLE; }
    if (!measure_stable(m) && m->count < MEASURE_MAX_SAMPLES) { return MEASURE_MORE; }
    for (int i = 0; i < edge_count; i++) {
        if (measure_side(m, edges[i]) == 0) { return again ? MEASURE_INCONCLUSIVE : MEASURE_MORE; }
    }
    return MEASURE_OK;
}

const char *measure_explain(enum measure_verdict verdict) {
    switch (verdict) {
        case MEASURE_OK: return "measured";
        case MEASURE_MORE: return "not enough samples";
        case MEASURE_INCONCLUSIVE: return "inconclusive, ran again: the quartiles straddle a band's edge";
        case MEASURE_CLOCKS:
            return "the grader's clock and the kernel's events disagree: does work continue outside the given stream?";
        case MEASURE_DISTURBED:
            return "making inputs or the copy is slower than before this kernel ran: work between calls?";
        case MEASURE_IMPOSSIBLE: return "faster than the memory can deliver: is work left out?";
        case MEASURE_WRONG_OUTPUT: return "a timed call gave a wrong result: every call must do its own work";
        case MEASURE_FAILED: return "the timing run failed";
    }
    return "unknown";
}

/* ---- the dialogue with a runner, batch after batch, timed by the parent ---- */

static const double default_wall_seconds = 20;
enum { SAMPLED_SETS = 8, SAMPLED_ROWS = 8, QUIET_SAMPLES = 7 }; /* sampled in each batch */

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
    int launches; /* of a batch of the op */
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

/* Did a timed call do its work? The child learns only now which set and which rows are checked. */
static bool set_is_right(const struct run *run, uint64_t seed, enum measure_verdict *verdict) {
    const struct measure_options *o = run->options;
    *verdict = MEASURE_OK;
    if (!o->check || o->sizes.N < 1) { return true; }
    struct time_request request = {.action = TIME_SAMPLE, .row_count = SAMPLED_ROWS};
    request.set = (int)(job_nonce() % (uint64_t)run->launches);
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

/* One step; `wall_us`: by this process's clock. */
static enum measure_verdict take(const struct run *run, const char *what, enum time_action action, uint64_t seed,
                                 double *us, double *wall_us) {
    struct time_request request = {.action = action, .seed = seed};
    struct time_reply reply;
    double seconds;
    if (runner_time_step(run->runner, &request, &reply, &seconds) != CHILD_OK || reply.error) {
        return step_failed(run, what, &reply);
    }
    *us = reply.us;
    *wall_us = seconds * 1e6;
    return MEASURE_OK;
}

static enum measure_verdict take_inputs(const struct run *run, uint64_t seed, struct measure_sample *sample) {
    double none;
    return take(run, "making inputs", TIME_PREPARE, seed, &none, &sample->prepare_wall_us);
}

static enum measure_verdict take_copy(const struct run *run, struct measure_sample *sample) {
    sample->copy_launches = run->result->copy_launches;
    return take(run, "the copy", TIME_COPY, 0, &sample->copy_us, &sample->copy_wall_us);
}

static bool sample_is_right(const struct run *run, uint64_t seed, enum measure_verdict *verdict) {
    int sets = 0;
    while (sets < SAMPLED_SETS && set_is_right(run, seed, verdict)) { sets++; }
    return sets == SAMPLED_SETS;
}

static enum measure_verdict one_sample(const struct run *run, struct measure_sample *sample) {
    uint64_t seed = job_nonce();
    *sample = (struct measure_sample){.launches = run->launches};
    enum measure_verdict verdict = take_inputs(run, seed, sample);
    if (verdict == MEASURE_OK) { verdict = take(run, "a timed batch", TIME_OP, 0, &sample->op_us, &sample->wall_us); }
    if (verdict != MEASURE_OK || !sample_is_right(run, seed, &verdict)) { return verdict; }
    return take_copy(run, sample);
}

/* The same steps as in a sample, before any code of the lab runs. */
static enum measure_verdict take_quiet(const struct run *run, struct measurement *m) {
    struct measurement quiet = {0};
    for (; quiet.count < QUIET_SAMPLES; quiet.count++) {
        struct measure_sample *sample = &quiet.sample[quiet.count];
        enum measure_verdict verdict = take_inputs(run, job_nonce(), sample);
        if (verdict == MEASURE_OK) { verdict = take_copy(run, sample); }
        if (verdict != MEASURE_OK) { return verdict; }
    }
    m->quiet_prepare_us = quartiles_of(&quiet, prepare_wall_us).median;
    m->quiet_copy_us = quartiles_of(&quiet, copy_wall_us).median;
    m->quiet_start_us = m->quiet_copy_us - quartiles_of(&quiet, copy_events_us).median;
    return MEASURE_OK;
}

static enum measure_verdict plan(struct run *run) {
    struct time_reply reply;
    if (runner_time_plan(run->runner, run->result->sets, &reply) != CHILD_OK || reply.error) {
        return step_failed(run, "the first batch", &reply);
    }
    run->launches = reply.launches;
    return MEASURE_OK;
}

static enum measure_verdict take_samples(const struct run *run, struct measurement *m) {
    const struct measure_options *o = run->options;
    double give_up = child_now() + (o->wall_seconds > 0 ? o->wall_seconds : default_wall_seconds);
    bool again = false;
    for (;;) {
        progress_call(m->count + 1, 0); /* between two measurements */
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
        again = true; /* straddling an edge, or not stable: measure once more, from the start */
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
    struct run run = {.runner = runner, .options = options, .result = result, .message = message, .size = size};
    enum measure_verdict verdict = begin(&run, result);
    if (verdict == MEASURE_OK) { verdict = take_quiet(&run, m); }
    if (verdict == MEASURE_OK) { verdict = plan(&run); }
    if (verdict != MEASURE_OK) { return verdict; }
    m->bytes = (double)op_floor_bytes(options->op, &options->sizes);
    m->peak_bytes_per_us = result->peak_bytes_per_us;
    m->l2_bytes = result->l2_bytes;
    m->set_bytes = result->set_bytes * run.launches;
    run.rows = malloc(job_sample_bytes(options->op, &options->sizes, SAMPLED_ROWS) + 1);
    if (!run.rows) { return say(message, size, MEASURE_FAILED, "no memory for sampled rows"); }
    verdict = take_samples(&run, m);
    free(run.rows);
    if (runner->child.pid > 0) { runner_time_end(runner); }
    if (verdict == MEASURE_DISTURBED) {
        return say(message, size, verdict,
                   "inputs take %.2fx, the copy %.2fx as long as before this kernel ran: work between calls?",
                   quartiles_of(m, prepare_wall_us).median / m->quiet_prepare_us,
                   quartiles_of(m, copy_wall_us).median / m->quiet_copy_us);
    }
    if (!message[0]) { snprintf(message, size, "%s", measure_explain(verdict)); }
    return verdict;
}
