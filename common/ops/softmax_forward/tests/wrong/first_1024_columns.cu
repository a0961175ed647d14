// step: step2  op: softmax_forward  diagnosis: columns-past-block
// reason: One thread for one column: columns past the block's 1024 threads are never seen.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int C) {
    int t = threadIdx.x;
    const float *x_row = x + (size_t)blockIdx.x * C;
    float *out_row = out + (size_t)blockIdx.x * C;
    __shared__ float shared[1024];
    float largest = t < C ? x_row[t] : -INFINITY;
    shared[t] = largest;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) { shared[t] = fmaxf(shared[t], shared[t + stride]); }
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();
    float sum = t < C ? expf(x_row[t] - largest) : 0.0f;
    shared[t] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) { shared[t] += shared[t + stride]; }
        __syncthreads();
    }
    sum = shared[0];
    __syncthreads();
    if (t < C) { out_row[t] = expf(x_row[t] - largest) / sum; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<N, 1024, 0, stream>>>(out, x, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
