// step: step1  op: softmax_forward
// reason: A mutex guards scratch memory that is kept from call to call; an event orders its uses.
#include "common/cuda_check.h"
#include "common/ops/softmax_forward/contract.h"

#include <cuda_runtime.h>
#include <float.h>
#include <mutex>

namespace {

struct Kept {
    float2 *rows;     // x: maximum, y: sum
    size_t capacity;  // rows
    cudaEvent_t used; // after the last use
};

constexpr int kDevices = 64;
Kept kept[kDevices];
std::mutex guard;

__global__ void statistics(float2 *rows, const float *x, int N, int C) {
    const long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float *row = x + (size_t)n * C;
    float top = -FLT_MAX, sum = 0.0f;
    for (int c = 0; c < C; c++) {
        const float v = row[c];
        const float higher = fmaxf(top, v);
        if (higher != top) { sum *= expf(top - higher); }
        sum += expf(v - higher);
        top = higher;
    }
    rows[n] = make_float2(top, sum);
}

__global__ void divide(float *out, const float *x, const float2 *rows, int N, int C) {
    const long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float2 s = rows[n];
    const size_t begin = (size_t)n * C;
    for (int c = 0; c < C; c++) { out[begin + c] = expf(x[begin + c] - s.x) / s.y; }
}

cudaError_t reserve(Kept &k, size_t rows, cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    if (k.used == nullptr) {
        error = cudaEventCreateWithFlags(&k.used, cudaEventDisableTiming);
    } else {
        error = cudaStreamWaitEvent(stream, k.used, 0);
    }
    if (error != cudaSuccess || rows <= k.capacity) { return error; }
    if (k.rows != nullptr) {
        error = cudaFreeAsync(k.rows, stream); // behind the last use
        k.rows = nullptr;
        k.capacity = 0;
        if (error != cudaSuccess) { return error; }
    }
    error = cudaMallocAsync((void **)&k.rows, rows * sizeof(float2), stream);
    if (error != cudaSuccess) {
        k.rows = nullptr;
        return error;
    }
    k.capacity = rows;
    return cudaSuccess;
}

} // namespace

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    if (device >= kDevices) { return cudaErrorInvalidDevice; }
    std::lock_guard<std::mutex> lock(guard);
    Kept &k = kept[device];
    CUDA_CHECK(reserve(k, (size_t)N, stream));
    const int threads = 64, blocks = (N - 1) / threads + 1;
    statistics<<<blocks, threads, 0, stream>>>(k.rows, x, N, C);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        divide<<<blocks, threads, 0, stream>>>(out, x, k.rows, N, C);
        error = cudaGetLastError();
    }
    const cudaError_t recorded = cudaEventRecord(k.used, stream);
    return error != cudaSuccess ? error : recorded;
}
