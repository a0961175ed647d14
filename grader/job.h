/* job.h — the grader's side of the runner protocol: start a runner, send it jobs, and validate every reply.
 *
 * runner_call() starts the process when none runs, so a crash affects only the call that crashed. Every count
 * in a reply is bounded before it is used; a reply without the job's secret nonce is rejected.
 */
#ifndef JOB_H
#define JOB_H

#include "common/runner/protocol.h"
#include "spawn.h"

/* What a traced program did in a call, as it says: a suggestion for further calls, never a verdict. */
struct trace {
    int atom_count, comparison_count;
    uint64_t atoms[RESULT_MAX_ATOMS];
    struct comparison comparisons[RESULT_MAX_COMPARISONS];
};

struct runner {
    char path[512];
    struct limits limits;
    struct child child;  /* child.status and child.message tell why a call failed; child.output what was printed */
    int starts;          /* number of processes started */
    uint64_t nonce;      /* of the call in flight */
    struct trace *trace; /* NULL: not wanted; else of the last call */
    /* of a JOB_TIME dialogue in flight */
    struct job timing;
};

/* Bytes of one tensor's buffer: guard, offset, elements, guard. 0 for an aliased output and for lengths not given. */
size_t job_buffer_bytes(const struct job *job, const struct op *op, int tensor);

/* Bytes in it before the tensor's first element. */
size_t job_lead_bytes(const struct job *job, const struct op *op, int tensor);

/* A job with version, op and sizes set, nothing aliased, guard 0. */
struct job job_make(enum job_kind kind, const struct op *op, const struct op_sizes *sizes);

/* Starts the process and stores path and limits for restarts. NULL limits: limits_default. */
enum child_status runner_start(struct runner *runner, const char *path, const struct limits *limits);

/* One JOB_CALL. `buffers[i]` has job_buffer_bytes() bytes (NULL allowed when that is 0) and is replaced by what the
 * child sends back. magic, version and nonce of the job are filled in here. `findings` (may be NULL) receives an array of
 * result->finding_count records that the caller frees, or NULL. On anything but CHILD_OK, result is zeroed, buffers are
 * undefined, and runner->child.message says why. When result->sticky is set the buffers did not come back
 * (result->returned is 0) and the process was replaced. */
enum child_status runner_call(struct runner *runner, const struct job *job, void *const buffers[],
                              struct result *result, struct finding_record **findings);

/* JOB_LINES, of a traced program: the lines that have code, in an array that the caller frees, or NULL; returns their number.
 * -1: it has not answered, or was started again, so the lines of its earlier calls are unknown. */
int runner_lines(struct runner *runner, struct line_record **lines);

/* Asks the process to end, then kills it. */
void runner_stop(struct runner *runner);

/* ---- JOB_TIME (GPU): a dialogue, so that the parent measures the time; measure.c drives it ---- */

/* Allocates sets on the device. result->status, missing, error as in a call. */
enum child_status runner_time_begin(struct runner *runner, const struct job *job, struct result *result);

/* Decides how to launch: `launches` of a batch, at most `sets`; the first step that runs the lab's code. */
enum child_status runner_time_plan(struct runner *runner, int sets, struct time_reply *reply);

/* One step. `seconds` (may be NULL): the parent's wall clock from request to answer. */
enum child_status runner_time_step(struct runner *runner, const struct time_request *request, struct time_reply *reply,
                                   double *seconds);

/* Rows of the outputs of one set after a TIME_OP step: `data` receives, per row and per output tensor in the order of
 * ops.h, that row in the tensor's type (C elements, or 1 for (N)); (C)-shaped outputs come once, after the rows. */
size_t job_sample_bytes(const struct op *op, const struct op_sizes *sizes, int rows);
enum child_status runner_time_sample(struct runner *runner, const struct time_request *request, void *data,
                                     size_t bytes);

enum child_status runner_time_end(struct runner *runner);

/* 64 secret random bits. */
uint64_t job_nonce(void);

#endif
