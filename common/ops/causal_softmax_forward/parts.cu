// parts.cu — scale and causal mask, each a kernel over the whole matrix, as eager frameworks run them before a softmax.
//
//   parts T     the records of both kernels for a matrix of (T, T), in the lines of common/runner/records.cpp
#include <cuda_runtime.h>

#include <stdlib.h>

#include "common/runner/recording.h"

__global__ void scale_kernel(float *scaled,  // (T, T)
                             const float *x, // (T, T)
                             int n, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) { return; }
    scaled[i] = scale * x[i];
}

__global__ void mask_kernel(float *masked,       // (T, T)
                            const float *scaled, // (T, T)
                            int n, int T) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) { return; }
    float value = scaled[i];
    masked[i] = i % T <= i / T ? value : -INFINITY;
}

int main(int count, char **arguments) {
    const int T = count == 2 ? atoi(arguments[1]) : 0, n = T * T, threads = 128;
    if (T < 1 || T > 1 << 14) {
        fprintf(stderr, "usage: parts T, from 1 to 16384\n");
        return 2;
    }
    recording records;
    float *x, *scaled, *masked;
    size_t bytes = (size_t)n * sizeof(float);
    if (cudaMalloc(&x, bytes) || cudaMalloc(&scaled, bytes) || cudaMalloc(&masked, bytes) || cudaMemset(x, 0, bytes)) {
        fprintf(stderr, "parts: no memory\n");
        return 1;
    }
    records.name("x", x, bytes);
    records.name("scaled", scaled, bytes);
    records.name("masked", masked, bytes);
    records.begin(false);
    scale_kernel<<<(n - 1) / threads + 1, threads>>>(scaled, x, n, 0.125f);
    mask_kernel<<<(n - 1) / threads + 1, threads>>>(masked, scaled, n, T);
    cudaError_t error = cudaDeviceSynchronize();
    records.end();
    records.print();
    cudaFree(x), cudaFree(scaled), cudaFree(masked);
    return error != cudaSuccess;
}
