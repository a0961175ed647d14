// step: step1  op: softmax_forward_f32
// reason: The second half of the rows runs on a stream of the launcher's own, which events order with the given one.
#include "common/cuda_check.h"
#include "common/ops/softmax_forward/contract.h"

#include <cuda_runtime.h>
#include <math.h>

// A block per row, of one warp.
__global__ void kernel(float *out, const float *x, int C) {
    const float *in = x + (size_t)blockIdx.x * C;
    float *to = out + (size_t)blockIdx.x * C;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += 32) { largest = fmaxf(largest, in[c]); }
    for (int o = 16; o; o /= 2) { largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, o)); }
    for (int c = threadIdx.x; c < C; c += 32) { sum += expf(in[c] - largest); }
    for (int o = 16; o; o /= 2) { sum += __shfl_xor_sync(0xffffffffu, sum, o); }
    for (int c = threadIdx.x; c < C; c += 32) { to[c] = expf(in[c] - largest) / sum; }
}

static cudaStream_t second;
static cudaEvent_t begun, ended;

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    int half = N / 2, rest = N - half;
    size_t start = (size_t)half * C;
    if (N == 0) { return cudaSuccess; }
    if (!second) {
        CUDA_CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
        CUDA_CHECK(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
        CUDA_CHECK(cudaEventCreateWithFlags(&ended, cudaEventDisableTiming));
    }
    CUDA_CHECK(cudaEventRecord(begun, stream));
    CUDA_CHECK(cudaStreamWaitEvent(second, begun, 0));
    kernel<<<rest, 32, 0, second>>>(out + start, x + start, C);
    CUDA_CHECK(cudaGetLastError());
    if (half > 0) { kernel<<<half, 32, 0, stream>>>(out, x, C); }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(ended, second));
    CUDA_CHECK(cudaStreamWaitEvent(stream, ended, 0));
    return cudaSuccess;
}
