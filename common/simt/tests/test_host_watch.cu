// Launchers: their use of the given stream, waits, their memory, and a launch that fails. See test_host_watch.c.
#include <cuda_runtime.h>

#include "common/simt/simt.h"

__global__ void one(float *out) {
    out[threadIdx.x] = 1.0f;
}

namespace {

cudaStream_t given, own, third, blocking;
float *out;

void begin(bool must_free = false, bool refuse = false, bool must_not_wait = false) {
    cudaStreamCreateWithFlags(&given, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking);
    cudaStreamCreate(&blocking);
    cudaMalloc(&out, 32 * sizeof(float));
    simt_watch watch = {given, must_free, must_not_wait, refuse};
    simt_watch_begin(&watch);
}

int end(cudaError_t error) {
    simt_watch_end();
    for (cudaStream_t stream : {given, own, third, blocking}) { cudaStreamDestroy(stream); }
    cudaFree(out);
    return error;
}

void order(cudaStream_t first, cudaStream_t second) {
    cudaEvent_t event;
    cudaEventCreate(&event);
    cudaEventRecord(event, first);
    cudaStreamWaitEvent(second, event, 0);
    cudaEventDestroy(event);
}

} // namespace

#define RUN(name, ...)                  \
    extern "C" int run_##name() {       \
        begin();                        \
        __VA_ARGS__;                    \
        return end(cudaGetLastError()); \
    }

RUN(given_stream, one<<<1, 32, 0, given>>>(out))
RUN(default_stream, one<<<1, 32>>>(out))
RUN(own_stream, one<<<1, 32, 0, own>>>(out))
RUN(forked_and_joined, order(given, own); one<<<1, 32, 0, own>>>(out); order(own, given))
RUN(default_stream_ordered, order(given, nullptr); one<<<1, 32>>>(out); order(nullptr, given))
RUN(joined_in_two_steps, order(given, own); one<<<1, 32, 0, own>>>(out); order(own, third); order(third, given))
RUN(not_joined, order(given, own); one<<<1, 32, 0, own>>>(out))
RUN(joined_too_early, order(given, own); order(own, given); one<<<1, 32, 0, own>>>(out))
RUN(event_of_another_stream, order(third, own); one<<<1, 32, 0, own>>>(out); order(own, given))
RUN(event_never_recorded, cudaEvent_t event; cudaEventCreate(&event); cudaStreamWaitEvent(own, event, 0);
    one<<<1, 32, 0, own>>>(out); order(own, given))
RUN(through_the_default_stream, order(given, nullptr); one<<<1, 32, 0, blocking>>>(out); order(blocking, given))
RUN(one_stream_queried, order(given, own); one<<<1, 32, 0, own>>>(out); cudaStreamQuery(third))

float *scratch;
RUN(scratch_given, cudaMallocAsync(&scratch, 128, given); one<<<1, 32, 0, given>>>(scratch);
    cudaFreeAsync(scratch, given))
RUN(scratch_on_fork, order(given, own); cudaMallocAsync(&scratch, 128, own); one<<<1, 32, 0, own>>>(scratch);
    cudaFreeAsync(scratch, own); order(own, given))
RUN(scratch_freed_elsewhere, // here: freed
    cudaMallocAsync(&scratch, 128, given);
    one<<<1, 32, 0, given>>>(scratch); cudaFreeAsync(scratch, own))
RUN(scratch_of_another_stream, cudaMallocAsync(&scratch, 128, own); one<<<1, 32, 0, given>>>(scratch);
    order(given, own); cudaFreeAsync(scratch, own))

#define RUN_STRICTLY(name, ...)         \
    extern "C" int run_##name() {       \
        begin(false, false, true);      \
        one<<<1, 32, 0, given>>>(out);  \
        __VA_ARGS__;                    \
        return end(cudaGetLastError()); \
    }

cudaEvent_t behind;
float host[32];
RUN_STRICTLY(stream_queried, cudaStreamQuery(given))
RUN_STRICTLY(waits_for_device, cudaDeviceSynchronize())      // here: waits_for_device
RUN_STRICTLY(waits_for_stream, cudaStreamSynchronize(given)) // here: waits_for_stream
RUN_STRICTLY(waits_for_event,                                // here: waits_for_event
             cudaEventCreate(&behind);
             cudaEventRecord(behind, given); cudaEventSynchronize(behind))
RUN_STRICTLY(resets_device, cudaDeviceReset())                                      // here: resets_device
RUN_STRICTLY(copy_without_stream, cudaMemcpy(host, out, 4, cudaMemcpyDeviceToHost)) // here: copy_without_stream
RUN_STRICTLY(memset_without_stream, cudaMemset(out, 0, 4))                          // here: memset_without_stream
RUN(other_stream_ordered, order(given, own); one<<<1, 32>>>(out))
RUN(host_waits, cudaStreamSynchronize(given); one<<<1, 32>>>(out); cudaDeviceSynchronize())
RUN(host_waits_before_alone, cudaStreamSynchronize(given); one<<<1, 32>>>(out))

__constant__ float constant;
RUN(copies_given, float one = 1.0f; cudaMemsetAsync(out, 0, 8, given);
    cudaMemcpyToSymbolAsync(constant, &one, sizeof one, 0, cudaMemcpyHostToDevice, given))
RUN(memset_default_stream, cudaMemsetAsync(out, 0, 8))                                            // here: set
RUN(copy_own_stream, cudaMemcpyAsync(out, out + 8, 8, cudaMemcpyDeviceToDevice, own))             // here: copied
RUN(symbol_default_stream, float one = 1.0f; cudaMemcpyToSymbolAsync(constant, &one, sizeof one)) // here: symbol

extern "C" int run_captured(int on_given) {
    cudaGraph_t graph;
    cudaGraphExec_t program;
    begin();
    cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal);
    one<<<1, 32, 0, own>>>(out);
    cudaStreamEndCapture(own, &graph);
    cudaGraphInstantiate(&program, graph, 0);
    cudaGraphLaunch(program, on_given ? given : nullptr);
    return end(cudaGetLastError());
}

extern "C" int run_kept() {
    float *kept, *freed;
    begin(true);
    cudaMalloc(&kept, 400); // here: kept
    cudaMallocAsync(&freed, 400, given);
    one<<<1, 32, 0, given>>>(kept);
    cudaFreeAsync(freed, given);
    return end(cudaGetLastError());
}

extern "C" int run_refused() {
    begin(false, true);
    one<<<1, 32, 0, given>>>(out);
    return end(cudaGetLastError());
}

// Two copies within the device, one each way, a memset: 32 floats each.
extern "C" void run_copies() {
    float host[32] = {0}, *other;
    begin();
    cudaMalloc(&other, sizeof host);
    simt_counters_reset();
    cudaMemcpy(out, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemcpyAsync(other, out, sizeof host, cudaMemcpyDeviceToDevice, given);
    cudaMemcpyAsync(out, other, sizeof host, cudaMemcpyDefault, given);
    cudaMemset(other, 0, sizeof host);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    end(cudaSuccess);
}
