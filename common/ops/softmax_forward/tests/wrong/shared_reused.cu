// step: step2  op: softmax_forward  diagnosis: race
// reason: No barrier between reading the maximum and storing the sums into the same shared memory.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int C) {
    int t = threadIdx.x;
    const float *x_row = x + (size_t)blockIdx.x * C;
    float *out_row = out + (size_t)blockIdx.x * C;
    __shared__ float shared[128];
    float largest = -INFINITY;
    for (int c = t; c < C; c += blockDim.x) { largest = fmaxf(largest, x_row[c]); }
    shared[t] = largest;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) { shared[t] = fmaxf(shared[t], shared[t + stride]); }
        __syncthreads();
    }
    largest = shared[0];
    float sum = 0.0f;
    for (int c = t; c < C; c += blockDim.x) { sum += expf(x_row[c] - largest); }
    shared[t] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) { shared[t] += shared[t + stride]; }
        __syncthreads();
    }
    sum = shared[0];
    __syncthreads();
    for (int c = t; c < C; c += blockDim.x) { out_row[c] = expf(x_row[c] - largest) / sum; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<N, 128, 0, stream>>>(out, x, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
