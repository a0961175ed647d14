/* time_none.cpp — JOB_TIME on the CPU backend: not supported, because its times say nothing about a GPU. */
#include "jobs.h"
#include "wire.h"

void run_timing(const struct job *job) {
    struct result result = result_make(job);
    result_set_error(&result, 0, cudaErrorNotSupported);
    wire_write(&result, sizeof result);
}
