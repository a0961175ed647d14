// step: step2  op: row_sum  diagnosis: race
// reason: The planted bug repaired with a barrier before the loop, and none in it.
#include "ops/row_sum/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    __shared__ float shared[128];
    int t = threadIdx.x;
    const float *x_row = x + (size_t)blockIdx.x * C;
    float sum = 0.0f;
    for (int c = t; c < C; c += 128) { sum += x_row[c]; }
    shared[t] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s) { shared[t] += shared[t + s]; }
    }
    if (t == 0) { out[blockIdx.x] = shared[0]; }
}

int row_sum_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<N, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
