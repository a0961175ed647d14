// step: step2  op: softmax_forward
// reason: A template over the block's size and the reduction; early return of whole warps before the last
//         barrier.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

struct largest_of {
    __device__ static float join(float a, float b) { return fmaxf(a, b); }
};
struct sum_of {
    __device__ static float join(float a, float b) { return a + b; }
};

template <class Operation, int Threads> __device__ float reduce(float value, float *shared) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = Operation::join(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    if (threadIdx.x % 32 == 0) { shared[threadIdx.x / 32] = value; }
    __syncthreads();
    float result = shared[0];
#pragma unroll
    for (int warp = 1; warp < Threads / 32; warp++) { result = Operation::join(result, shared[warp]); }
    __syncthreads();
    return result;
}

template <int Threads> __global__ void __launch_bounds__(Threads) kernel(float *out, const float *x, int C) {
    __shared__ float shared[Threads / 32];
    const float *x_row = x + (size_t)blockIdx.x * C;
    float largest = -INFINITY;
    for (int c = threadIdx.x; c < C; c += Threads) { largest = fmaxf(largest, x_row[c]); }
    largest = reduce<largest_of, Threads>(largest, shared);
    float sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += Threads) { sum += expf(x_row[c] - largest); }
    sum = reduce<sum_of, Threads>(sum, shared);
    if ((int)(threadIdx.x / 32 * 32) >= C) { return; }
    for (int c = threadIdx.x; c < C; c += Threads) { out[(size_t)blockIdx.x * C + c] = expf(x_row[c] - largest) / sum; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    if (C <= 256) {
        kernel<64><<<N, 64, 0, stream>>>(out, x, C);
    } else {
        kernel<256><<<N, 256, 0, stream>>>(out, x, C);
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
