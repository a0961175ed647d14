/* time_none.cpp — JOB_TIME on the CPU backend: its seconds say nothing about a GPU, so it gives none. */
#include "jobs.h"
#include "wire.h"

void run_timing(const struct job *job) {
    struct result result = result_make(job);
    result_set_error(&result, 0, cudaErrorNotSupported);
    wire_write(&result, sizeof result);
}
