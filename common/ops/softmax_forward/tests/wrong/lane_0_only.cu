// step: step2  op: softmax_forward  diagnosis: reduction-in-one-lane
// reason: __shfl_down leaves the row's result in lane 0; the other lanes normalise with partial ones.
#include "common/cuda_check.h"
#include "ops/softmax_forward/contract.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int lane = threadIdx.x % 32;
    int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float largest = -INFINITY;
    for (int c = lane; c < C; c += 32) { largest = fmaxf(largest, x_row[c]); }
    for (int offset = 16; offset > 0; offset /= 2) {
        largest = fmaxf(largest, __shfl_down_sync(0xffffffffu, largest, offset));
    }
    largest = __shfl_sync(0xffffffffu, largest, 0);
    float sum = 0.0f;
    for (int c = lane; c < C; c += 32) { sum += expf(x_row[c] - largest); }
    for (int offset = 16; offset > 0; offset /= 2) { sum += __shfl_down_sync(0xffffffffu, sum, offset); }
    for (int c = lane; c < C; c += 32) { out_row[c] = expf(x_row[c] - largest) / sum; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
