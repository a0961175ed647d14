// step: step1  op: softmax_forward_f32  diagnosis: stream-ignored
// reason: The second half of the rows runs on another stream, and the given stream does not wait for it.
#include "common/cuda_check.h"
#include "common/ops/softmax_forward/contract.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float *in = x + (size_t)n * C;
    float *to = out + (size_t)n * C;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = 0; c < C; c++) { largest = fmaxf(largest, in[c]); }
    for (int c = 0; c < C; c++) { sum += expf(in[c] - largest); }
    for (int c = 0; c < C; c++) { to[c] = expf(in[c] - largest) / sum; }
}

static cudaStream_t second;
static cudaEvent_t begun;

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    int half = N / 2, rest = N - half;
    size_t start = (size_t)half * C;
    if (N == 0) { return cudaSuccess; }
    if (!second) {
        CUDA_CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
        CUDA_CHECK(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
    }
    CUDA_CHECK(cudaEventRecord(begun, stream));
    CUDA_CHECK(cudaStreamWaitEvent(second, begun, 0));
    kernel<<<(rest + 63) / 64, 64, 0, second>>>(out + start, x + start, rest, C);
    CUDA_CHECK(cudaGetLastError());
    if (half > 0) { kernel<<<(half + 63) / 64, 64, 0, stream>>>(out, x, half, C); }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
