/* call.cpp — JOB_CALL: uploads the buffers, calls the launcher once, and sends back the buffers and the findings.
 *
 * On the CPU backend device memory is ordinary memory, so an output's poison is written without the backend's
 * knowledge. The backend still treats the output as uninitialised, and the parent can detect elements that were never
 * written.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs.h"
#include "launchers.h"
#include "trace.h"
#include "wire.h"

#ifdef RUNNER_CPU
#include <simt/cublas_traffic.h>

extern "C" { /* weak: most labs have no products */
__attribute__((weak)) void simt_cublas_traffic_get(struct simt_cublas_traffic *out);
__attribute__((weak)) void simt_cublas_traffic_reset(void);
}
#endif

namespace {

struct buffer {
    char *host, *device;
    size_t bytes;
};

#ifdef RUNNER_CPU
cudaError_t upload(const buffer &b, enum op_role role) {
    if (role != ROLE_OUT && role != ROLE_WORK) { return cudaMemcpy(b.device, b.host, b.bytes, cudaMemcpyHostToDevice); }
    memcpy(b.device, b.host, b.bytes);
    return cudaSuccess;
}

cudaError_t download(const buffer &b) {
    memcpy(b.host, b.device, b.bytes); /* not cudaMemcpy, which would report uninitialised elements */
    return cudaSuccess;
}
#else
/* From pageable memory cudaMemcpy may return before the last bytes are copied, and the launcher's stream does not
 * wait. */
cudaError_t upload(const buffer &b, enum op_role) {
    cudaError_t error = cudaMemcpy(b.device, b.host, b.bytes, cudaMemcpyHostToDevice);
    return error != cudaSuccess ? error : cudaDeviceSynchronize();
}

cudaError_t download(const buffer &b) {
    return cudaMemcpy(b.host, b.device, b.bytes, cudaMemcpyDeviceToHost);
}
#endif

size_t lead_bytes(const struct job *job, const struct op *op, int i) {
    int offset = job->moved == 0 || job->moved == 1 + i ? job->offset : 0;
    return (size_t)job->guard + (size_t)offset * op_element_bytes(op, i, job->sizes.type);
}

size_t buffer_bytes(const struct job *job, const struct op *op, int i) {
    size_t elements = op_elements(op, i, &job->sizes), one = op_element_bytes(op, i, job->sizes.type);
    if (job->alias_of[i] >= 0 || !op_is_given(op, i, &job->sizes)) { return 0; }
    return lead_bytes(job, op, i) + elements * one + (size_t)job->guard;
}

cudaError_t make_buffer(const struct job *job, const struct op *op, int i, buffer *b) {
    *b = {nullptr, nullptr, buffer_bytes(job, op, i)};
    if (b->bytes == 0) { return cudaSuccess; }
    b->host = (char *)malloc(b->bytes);
    if (!b->host) { _exit(1); } /* the rest of the socket's data cannot be read */
    wire_read(b->host, b->bytes);
    cudaError_t error = cudaMalloc((void **)&b->device, b->bytes);
    return error != cudaSuccess ? error : upload(*b, op->tensor[i].role);
}

struct arguments {
    launcher *function;
    const struct job *job;
    void *const *tensors;
    cudaStream_t stream;
    int status;
};

void call_learner(void *data) {
    struct arguments *a = (struct arguments *)data;
    a->status = a->function(a->job->rung, a->tensors, &a->job->sizes, a->stream);
}

/* False: a finding says why the code did not return, and the process is not used again. */
#ifdef RUNNER_CPU
bool call(struct arguments *arguments, bool watched) {
    const struct job *job = arguments->job;
    if (!watched) { return simt_confine(call_learner, arguments); }
    bool second = job->rehearse != 0; /* what the first call keeps is not lost */
    struct simt_watch watch = {arguments->stream, second, second, job->refuse_launches != 0};
    simt_watch_begin(&watch);
    bool done = simt_confine(call_learner, arguments);
    simt_watch_end();
    return done;
}
#else
bool call(struct arguments *arguments, bool) {
    call_learner(arguments);
    return true;
}
#endif

/* From the launch to its last error, as CUDA reports it. */
void launch(launcher *function, const struct job *job, void *const tensors[], cudaStream_t stream, bool watched,
            struct result *result) {
    struct arguments arguments = {function, job, tensors, stream, 0};
    if (!call(&arguments, watched)) {
        result_set_error(result, 0, cudaErrorIllegalAddress);
        result->sticky = 1;
        return;
    }
    int status = arguments.status;
    cudaError_t launched = cudaGetLastError(), finished = cudaDeviceSynchronize();
    cudaError_t error = launched != cudaSuccess ? launched : finished;
    if (error == cudaSuccess) { error = cudaGetLastError(); }
    result_set_error(result, status, error);
    cudaGetLastError();
    result->sticky = error != cudaSuccess && cudaDeviceSynchronize() != cudaSuccess;
}

/* The sign of a floating-point number is the highest bit, in the last byte. Lengths are not changed. */
void reverse_signs(const buffer &b, const struct op *op, int i, enum op_type type) {
    size_t one = op_element_bytes(op, i, type);
    if (op->tensor[i].element == ELEMENT_INT) { return; }
    for (size_t at = one - 1; at < b.bytes; at += one) { b.host[at] ^= (char)0x80; }
}

#ifdef RUNNER_CPU
/* Nothing here waits for the device, so that the next call is the next work that the host issues. */
void call_once(launcher *function, const struct job *job, void *const tensors[], cudaStream_t stream) {
    struct arguments arguments = {function, job, tensors, stream, 0};
    call(&arguments, false);
    cudaGetLastError();
}

cudaError_t replace(const buffer &b, enum op_role) {
    memcpy(b.device, b.host, b.bytes);
    return cudaSuccess;
}
#else
void call_once(launcher *function, const struct job *job, void *const tensors[], cudaStream_t stream) {
    struct result ignored;
    launch(function, job, tensors, stream, false, &ignored);
}

cudaError_t replace(const buffer &b, enum op_role role) {
    return upload(b, role);
}
#endif

/* Calls on the same pointers with every input's sign reversed, then restores all tensors. If a launcher keeps pointers,
 * results or sums from this call, or overwrites what its kernel may still read, the next call shows it. */
cudaError_t rehearse(launcher *function, const struct job *job, const struct op *op, const buffer *buffers,
                     void *const tensors[], cudaStream_t stream) {
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < op_tensor_count(op); i++) {
            if (!buffers[i].device) { continue; }
            if (op->tensor[i].role == ROLE_IN) { reverse_signs(buffers[i], op, i, job->sizes.type); }
            cudaError_t error = replace(buffers[i], op->tensor[i].role);
            if (error != cudaSuccess) { return error; }
        }
        if (pass == 0) { call_once(function, job, tensors, stream); }
    }
    return cudaSuccess;
}

#ifdef RUNNER_CPU
void begin_observation(const struct job *job) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.shuffled_order = job->shuffled_order != 0;
    settings.watchdog = 500'000'000; /* steps of a block: a few seconds */
    simt_settings_set(&settings);
    simt_findings_clear();
    simt_counters_reset();
    if (simt_cublas_traffic_reset) { simt_cublas_traffic_reset(); }
}

void end_observation(const struct op *op, void *const tensors[], struct result *result) {
    struct simt_cublas_traffic products = {};
    if (simt_cublas_traffic_get) { simt_cublas_traffic_get(&products); }
    result->products = products.products;
    simt_counters_get(&result->counters);
    for (int i = 0; i < op_tensor_count(op); i++) {
        if (tensors[i]) { simt_allocation_traffic(tensors[i], &result->traffic[i]); }
    }
    size_t found = simt_finding_count();
    result->finding_count = found < RESULT_MAX_FINDINGS ? (int)found : RESULT_MAX_FINDINGS;
}

void copy_text(char *to, size_t size, const char *from) {
    size_t length = from ? strnlen(from, size - 1) : 0;
    if (length) { memcpy(to, from, length); }
}

void send_findings(int count) {
    for (int i = 0; i < count; i++) {
        struct finding_record record = finding_record_of(simt_finding_at((size_t)i));
        wire_write(&record, sizeof record);
    }
}
#else
void begin_observation(const struct job *) {}
void end_observation(const struct op *, void *const[], struct result *) {}
void send_findings(int) {}
#endif

} // namespace

#ifdef RUNNER_CPU
struct finding_record finding_record_of(const struct simt_finding *finding) {
    struct finding_record record;
    memset(&record, 0, sizeof record);
    record.kind = finding->kind;
    record.is_error = finding->is_error;
    record.line = finding->line;
    copy_text(record.file, sizeof record.file, finding->file);
    copy_text(record.kernel, sizeof record.kernel, finding->kernel);
    copy_text(record.text, sizeof record.text, finding->text);
    return record;
}
#endif

void run_call(const struct job *job) {
    if (job->huge && run_huge) { return run_huge(job); }
    const struct op *op = op_find(job->op);
    if (!op) { _exit(1); }
    struct result result = result_make(job);
    buffer buffers[OP_MAX_TENSORS];
    void *tensors[OP_MAX_TENSORS] = {};
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < op_tensor_count(op); i++) {
        cudaError_t made = make_buffer(job, op, i, &buffers[i]); /* reads from the socket even after an error */
        if (error == cudaSuccess) { error = made; }
    }
    for (int i = 0; i < op_tensor_count(op); i++) {
        int owner = job->alias_of[i] >= 0 ? job->alias_of[i] : i;
        const buffer &b = buffers[owner];
        tensors[i] = b.device ? b.device + lead_bytes(job, op, owner) : nullptr;
    }
    launcher *function = launcher_find(job->op, job->sizes.type, job->rung);
    result.missing = !function;
    cudaStream_t stream = nullptr;
    if (error == cudaSuccess) { error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }
    if (error == cudaSuccess && function && job->rehearse) {
        error = rehearse(function, job, op, buffers, tensors, stream);
    }
    if (error == cudaSuccess && function) {
        begin_observation(job);
        if (trace_begin) { trace_begin(); }
        launch(function, job, tensors, stream, true, &result);
        if (trace_end) { trace_end(&result); }
        end_observation(op, tensors, &result);
    } else {
        result_set_error(&result, 0, error);
    }
    result.returned = !result.sticky;
    for (int i = 0; result.returned && i < op_tensor_count(op); i++) {
        if (buffers[i].device && download(buffers[i]) != cudaSuccess) { result.returned = 0; }
    }
    wire_write(&result, sizeof result);
    for (int i = 0; i < op_tensor_count(op); i++) {
        if (result.returned) { wire_write(buffers[i].host, buffers[i].bytes); }
        cudaFree(buffers[i].device);
        free(buffers[i].host);
    }
    cudaStreamDestroy(stream);
    send_findings(result.finding_count);
    if (trace_send && result.atom_count) { trace_send(); }
}
