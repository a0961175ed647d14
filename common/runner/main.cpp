/* main.cpp — a runner process: one lab file's kernels behind a socket. It runs jobs until it is told to quit,
 * crashes, or the grader ends. protocol.h describes the messages, jobs.h the jobs.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"
#include "jobs.h"
#include "trace.h"
#include "wire.h"

#ifdef RUNNER_CPU
enum { BACKEND_IS_GPU = 0 };

static void describe_device(char *text, size_t size) {
    snprintf(text, size, "CPU backend, %s", simt_is_checked() ? "checked" : "fast");
}

void share_progress() {
    void *shared = mmap(nullptr, sizeof(simt_progress), PROT_READ | PROT_WRITE, MAP_SHARED, PROGRESS_FD, 0);
    if (shared != MAP_FAILED) { simt_progress_set(static_cast<simt_progress *>(shared)); }
}
#else
enum { BACKEND_IS_GPU = 1 };

static void describe_device(char *text, size_t size) {
    struct cudaDeviceProp properties;
    int device = 0;
    cudaGetDevice(&device);
    bool known = cudaGetDeviceProperties(&properties, device) == cudaSuccess;
    snprintf(text, size, "%.100s", known ? properties.name : "unknown GPU");
}
#endif

struct result result_make(const struct job *job) {
    static char device[sizeof(result::device)];
    if (!device[0]) { describe_device(device, sizeof device); }
    struct result result;
    memset(&result, 0, sizeof result);
    result.magic = PROTOCOL_MAGIC;
    result.version = PROTOCOL_VERSION;
    result.nonce = job->nonce;
    result.backend_is_gpu = BACKEND_IS_GPU;
    memcpy(result.device, device, sizeof device);
    return result;
}

void result_set_error(struct result *result, int status, cudaError_t error) {
    result->status = status;
    result->error = (int)error;
    if (status == 0 && error == cudaSuccess) { return; }
    cudaError_t named = error != cudaSuccess ? error : (cudaError_t)status;
    snprintf(result->error_name, sizeof result->error_name, "%s", cudaGetErrorName(named));
    snprintf(result->error_text, sizeof result->error_text, "%s", cudaGetErrorString(named));
}

int main() {
#ifdef RUNNER_CPU
    share_progress();
    close_files();
#endif
    close(PROGRESS_FD);
    setvbuf(stdout, nullptr, _IOLBF, 0); /* a learner's printf must not be lost with a crash */
    for (;;) {
        struct job job;
        wire_read(&job, sizeof job);
        if (job.magic != PROTOCOL_MAGIC || job.version != PROTOCOL_VERSION) { _exit(1); }
        switch (job.kind) {
            case JOB_CALL: run_call(&job); break;
            case JOB_TIME: run_timing(&job); break;
            case JOB_LINES:
                if (!run_lines) { _exit(1); }
                run_lines(&job);
                break;
            default: fflush(stdout); _exit(0);
        }
        fflush(stdout);
    }
}
