// step: step2  op: layernorm_forward  diagnosis: race
// reason: Lanes exchange sums through shared memory and trust in lockstep: no __syncwarp between the levels.
#include "ops/layernorm_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__device__ float lanes_sum(float value, volatile float *shared) {
    int lane = threadIdx.x % 32;
    shared[lane] = value;
    __syncwarp();
    for (int offset = 16; offset > 0; offset /= 2) {
        if (lane < offset) { shared[lane] += shared[lane + offset]; }
    }
    return shared[0];
}

__global__ void kernel(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                       int N, int C, float eps) {
    int lane = threadIdx.x % 32;
    int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    __shared__ float shared[4][32];
    float sum = 0.0f;
    for (int c = lane; c < C; c += 32) { sum += x_row[c]; }
    float m = lanes_sum(sum, shared[threadIdx.x / 32]) / C;
    float squares = 0.0f;
    for (int c = lane; c < C; c += 32) { squares += (x_row[c] - m) * (x_row[c] - m); }
    float r = rsqrtf(lanes_sum(squares, shared[threadIdx.x / 32]) / C + eps);
    for (int c = lane; c < C; c += 32) { out_row[c] = (x_row[c] - m) * r * weight[c] + bias[c]; }
    if (lane == 0) {
        mean[n] = m;
        rstd[n] = r;
    }
}

int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, mean, rstd, x, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
