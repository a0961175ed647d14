// step: step2  op: softmax_forward
// reason: Warps stay and take rows from a counter in a workspace.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__device__ float warp_max(float v) {
    for (int o = 16; o > 0; o /= 2) { v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o)); }
    return v;
}
__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o /= 2) { v += __shfl_xor_sync(0xffffffffu, v, o); }
    return v;
}

__global__ void kernel(float *out, const float *x, int *next, int N, int C) {
    int lane = threadIdx.x % 32;
    for (;;) {
        int n = 0;
        if (lane == 0) { n = atomicAdd(next, 1); }
        n = __shfl_sync(0xffffffffu, n, 0);
        if (n >= N) { return; }
        const float *x_row = x + (size_t)n * C;
        float *out_row = out + (size_t)n * C;
        float largest = -INFINITY, sum = 0.0f;
        for (int c = lane; c < C; c += 32) { largest = fmaxf(largest, x_row[c]); }
        largest = warp_max(largest);
        for (int c = lane; c < C; c += 32) { sum += expf(x_row[c] - largest); }
        sum = warp_sum(sum);
        for (int c = lane; c < C; c += 32) { out_row[c] = expf(x_row[c] - largest) / sum; }
    }
}
int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    int *next;
    CUDA_CHECK(cudaMallocAsync(&next, sizeof *next, stream));
    CUDA_CHECK(cudaMemsetAsync(next, 0, sizeof *next, stream));
    kernel<<<264, 128, 0, stream>>>(out, x, next, N, C);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaFreeAsync(next, stream));
    return cudaSuccess;
}
