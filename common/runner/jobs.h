/* jobs.h — the jobs of a runner process: one function for each kind.
 *
 * A runner measures and reports; it never judges. Both functions read from and write to the wire.
 */
#ifndef JOBS_H
#define JOBS_H

#include <cuda_runtime_api.h>

#include "protocol.h"

/* JOB_CALL: the buffers follow the job on the wire (call.cpp). */
void run_call(const struct job *job);

/* JOB_TIME: a dialogue (time_job.cu on a GPU; on the CPU backend the answer is cudaErrorNotSupported). */
void run_timing(const struct job *job);

/* A result with header, nonce, backend and device filled in. */
struct result result_make(const struct job *job);

/* Stores an error and its name: those of the launcher's status if `error` is cudaSuccess. */
void result_set_error(struct result *result, int status, cudaError_t error);

/* CPU backend: a finding as it is sent. */
struct finding_record finding_record_of(const struct simt_finding *finding);

#endif
