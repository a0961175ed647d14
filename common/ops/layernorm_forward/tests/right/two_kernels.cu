// step: step2  op: layernorm_forward
// reason: Statistics in one kernel, normalisation in another; variance waits in a scratch buffer.
#include "ops/layernorm_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) { value += __shfl_xor_sync(0xffffffffu, value, offset); }
    return value;
}

__global__ void statistics(float *mean, float *variance, const float *x, int N, int C) {
    int lane = threadIdx.x % 32;
    int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float sum = 0.0f;
    for (int c = lane; c < C; c += 32) { sum += x_row[c]; }
    float m = warp_sum(sum) / C;
    float squares = 0.0f;
    for (int c = lane; c < C; c += 32) { squares += (x_row[c] - m) * (x_row[c] - m); }
    squares = warp_sum(squares);
    if (lane == 0) {
        mean[n] = m;
        variance[n] = squares / C;
    }
}

__global__ void normalise(float *out, float *rstd, const float *mean, const float *variance, const float *x,
                          const float *weight, const float *bias, int C, float eps) {
    size_t n = blockIdx.x;
    float m = mean[n], r = rsqrtf(variance[n] + eps);
    if (threadIdx.x == 0) { rstd[n] = r; }
    for (int c = threadIdx.x; c < C; c += blockDim.x) { out[n * C + c] = (x[n * C + c] - m) * r * weight[c] + bias[c]; }
}

int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    float *variance;
    CUDA_CHECK(cudaMallocAsync((void **)&variance, N * sizeof(float), stream));
    statistics<<<(N + 3) / 4, 128, 0, stream>>>(mean, variance, x, N, C);
    normalise<<<N, 256, 0, stream>>>(out, rstd, mean, variance, x, weight, bias, C, eps);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaFreeAsync(variance, stream));
    return cudaSuccess;
}
