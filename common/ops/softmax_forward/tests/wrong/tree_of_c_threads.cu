// step: step2  op: softmax_forward  diagnosis: softmax-sum-wrong
// reason: A halving tree over C threads: right where C is a power of two.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int n = blockIdx.x;
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    __shared__ float shared[1024];
    int t = threadIdx.x;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = t; c < C; c += blockDim.x) { largest = fmaxf(largest, x_row[c]); }
    shared[t] = largest;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) { shared[t] = fmaxf(shared[t], shared[t + s]); }
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();
    for (int c = t; c < C; c += blockDim.x) { sum += expf(x_row[c] - largest); }
    shared[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) { shared[t] += shared[t + s]; }
        __syncthreads();
    }
    sum = shared[0];
    for (int c = t; c < C; c += blockDim.x) { out_row[c] = expf(x_row[c] - largest) / sum; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    int threads = C < 1024 ? C : 1024;
    kernel<<<N, threads, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
