// Ways to look fast on a GPU: the rungs of a ladder, in the order of cheats.c, which measures each and says what the grader must
// make of it. Rung 0, the launcher, is honest.
#include <chrono>
#include <cuda_runtime.h>
#include <math.h>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "ops/residual_forward/contract.h"

struct call {
    float *out;
    const float *x, *residual;
    size_t count;
    cudaStream_t stream;
};

__global__ void add_kernel(float *out, const float *x, const float *residual, size_t count) {
    size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i < count) {
        float4 a = *(const float4 *)(x + i), b = *(const float4 *)(residual + i);
        *(float4 *)(out + i) = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}

static unsigned blocks_for(size_t count) {
    return (unsigned)((count / 4 + 255) / 256);
}

static int add(const call &c) {
    add_kernel<<<blocks_for(c.count), 256, 0, c.stream>>>(c.out, c.x, c.residual, c.count);
    return (int)cudaGetLastError();
}

static cudaStream_t side_stream() {
    static cudaStream_t stream;
    if (!stream) { cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }
    return stream;
}

static call on_side_stream(call c) {
    c.stream = side_stream();
    return c;
}

// Works on a stream of its own, where the given stream's events do not see it.
static int other_stream(const call &c) {
    return add(on_side_stream(c));
}

// Works on a stream of its own, which the given stream waits for: this is allowed.
static int joined_stream(const call &c) {
    static cudaEvent_t fork, join;
    if (!fork) {
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    cudaEventRecord(fork, c.stream);
    cudaStreamWaitEvent(side_stream(), fork, 0);
    int status = add(on_side_stream(c));
    cudaEventRecord(join, side_stream());
    cudaStreamWaitEvent(c.stream, join, 0);
    return status;
}

// Computes once for each pointer and hopes that nothing changes behind it.
static int once_a_pointer(const call &c) {
    static std::set<const void *> seen;
    if (seen.insert(c.x).second) { return add(c); }
    return 0;
}

// The same, with a kernel in each call, so that a CUDA graph has as many nodes as calls. Only the calls before the capture were
// computed once: a few of a batch.
static int once_a_pointer_in_a_graph(const call &c) {
    static std::set<const void *> seen;
    call first = c;
    if (!seen.insert(c.x).second) { first.count = 4; }
    return add(first);
}

__device__ float last_seen[1 << 16];

// Computes again only if the first element of the input has changed since the last call.
__global__ void add_if_changed(float *out, const float *x, const float *residual, size_t count, float *seen) {
    bool same = *seen == x[0];
    __syncthreads();
    if (same) { return; }
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        out[i] = x[i] + residual[i];
    }
    if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) { *seen = x[0]; }
}

static int once_a_content(const call &c) {
    static std::set<const void *> known;
    static float *seen;
    known.insert(c.x);
    cudaGetSymbolAddress((void **)&seen, last_seen);
    size_t index = (size_t)std::distance(known.begin(), known.find(c.x)) % (1 << 16);
    add_if_changed<<<1024, 256, 0, c.stream>>>(c.out, c.x, c.residual, c.count, seen + index);
    return (int)cudaGetLastError();
}

// Leaves out most of the rows.
static int fewer_rows(const call &c) {
    call part = c;
    part.count = c.count / 4;
    return add(part);
}

// Works only where the output is poisoned: every launch has poisoned outputs, so this gains nothing.
__global__ void add_if_poisoned(float *out, const float *x, const float *residual, size_t count) {
    size_t first = (size_t)blockIdx.x * blockDim.x * 4, i = first + threadIdx.x * 4;
    bool poisoned = isnan(out[first]);
    __syncthreads();
    if (!poisoned || i >= count) { return; }
    float4 a = *(const float4 *)(x + i), b = *(const float4 *)(residual + i);
    *(float4 *)(out + i) = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

static int where_poisoned(const call &c) {
    add_if_poisoned<<<blocks_for(c.count), 256, 0, c.stream>>>(c.out, c.x, c.residual, c.count);
    return (int)cudaGetLastError();
}

// Does nothing while it is captured.
static int not_while_captured(const call &c) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(c.stream, &status);
    call none = c;
    if (status != cudaStreamCaptureStatusNone) { none.count = 4; }
    return add(none);
}

// Returns at once and lets another thread do the work later.
static int later(const call &c) {
    call other = on_side_stream(c);
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        add(other);
    }).detach();
    return 0;
}

// ---- a thread that watches memory ----

static std::mutex mutex;
static std::vector<call> calls; // each set once

static float read_one(const float *address, cudaStream_t stream) {
    static float *host;
    if (!host) { cudaMallocHost(&host, sizeof *host); }
    cudaMemcpyAsync(host, address, sizeof *host, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    return *host;
}

static bool remember(const call &c) {
    std::lock_guard<std::mutex> lock(mutex);
    for (const call &known : calls) {
        if (known.out == c.out) { return false; }
    }
    calls.push_back(on_side_stream(c));
    return calls.size() == 1;
}

static cudaStream_t watching_stream() {
    static cudaStream_t stream;
    if (!stream) { cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }
    return stream;
}

__global__ void wait_for_change(const volatile float *value, float old) {
    while (*value == old) {}
}

// Waits in each call, so that the calls cannot become a graph: this is allowed here.
static int waits(const call &c) {
    int status = add(c);
    return status ? status : (int)cudaStreamSynchronize(c.stream);
}

// A thread sees that the outputs are being poisoned, waits for the inputs on the GPU, and computes while the inputs are made. The
// timed call then finds its work done.
static void work_ahead() {
    cudaStream_t watch = watching_stream();
    float old = 0;
    for (;;) {
        std::vector<call> known;
        {
            std::lock_guard<std::mutex> lock(mutex);
            known = calls;
        }
        const call &last = known.back();
        const float *end = last.residual + last.count - 1;
        if (isnan(read_one(known[0].out, watch))) {
            wait_for_change<<<1, 1, 0, side_stream()>>>(end, old);
            for (const call &c : known) { add(c); }
            cudaStreamSynchronize(side_stream());
        }
        old = read_one(end, watch);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

static int ahead(const call &c) {
    static bool started;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(c.stream, &status);
    if (status != cudaStreamCaptureStatusNone) {
        remember(c);
        if (!started) { std::thread(work_ahead).detach(); }
        started = true;
    }
    return where_poisoned(c);
}

__global__ void keep_busy(float *memory, size_t count) {
    float sum = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        sum += __ldcv(memory + i);
    }
    if (sum == 0.12345f) { memory[0] = sum; }
}

// A thread sees that a batch is done, and keeps the memory busy while it is copied.
static void slow_the_copy() {
    cudaStream_t watch = watching_stream();
    bool was_poisoned = false;
    for (;;) {
        call first;
        {
            std::lock_guard<std::mutex> lock(mutex);
            first = calls[0];
        }
        bool is_poisoned = isnan(read_one(first.out, watch));
        auto begin = std::chrono::steady_clock::now();
        while (was_poisoned && !is_poisoned &&
               std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(40)) {
            keep_busy<<<2048, 256, 0, side_stream()>>>((float *)first.x, first.count);
            cudaStreamSynchronize(side_stream());
        }
        was_poisoned = is_poisoned;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

static int slow_copy(const call &c) {
    if (remember(c)) { std::thread(slow_the_copy).detach(); }
    return add(c);
}

extern "C" int residual_forward_f32_rung(int rung, float *out, const float *x, const float *residual, int N, int C,
                                         cudaStream_t stream) {
    static int (*const ways[])(const call &) = {add,
                                                other_stream,
                                                joined_stream,
                                                once_a_pointer,
                                                once_a_pointer_in_a_graph,
                                                once_a_content,
                                                fewer_rows,
                                                where_poisoned,
                                                not_while_captured,
                                                later,
                                                ahead,
                                                slow_copy,
                                                waits};
    if (rung >= (int)(sizeof ways / sizeof *ways)) { return cudaErrorInvalidValue; }
    return ways[rung]({out, x, residual, (size_t)N * C, stream});
}

extern "C" int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C,
                                    cudaStream_t stream) {
    return residual_forward_f32_rung(0, out, x, residual, N, C, stream);
}
