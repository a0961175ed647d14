// step: step2  op: softmax_forward
// reason: The maximum by atomicMax on ordered bits, which has one result in any order.
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

__device__ float block_sum(float v, float *shared) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    if (lane == 0) { shared[warp] = v; }
    __syncthreads();
    v = warp_sum(lane < blockDim.x / 32 ? shared[lane] : 0.0f);
    __syncthreads();
    return v;
}
__device__ float block_max(float v, float *shared) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_max(v);
    if (lane == 0) { shared[warp] = v; }
    __syncthreads();
    v = warp_max(lane < blockDim.x / 32 ? shared[lane] : -INFINITY);
    __syncthreads();
    return v;
}

__device__ int ordered(float v) {
    int i = __float_as_int(v);
    return i >= 0 ? i : i ^ 0x7fffffff;
}
__device__ float unordered(int i) {
    return __int_as_float(i >= 0 ? i : i ^ 0x7fffffff);
}
__global__ void kernel(float *out, const float *x, int C) {
    __shared__ float shared[32];
    __shared__ int top;
    const float *x_row = x + (size_t)blockIdx.x * C;
    float *out_row = out + (size_t)blockIdx.x * C;
    if (threadIdx.x == 0) { top = ordered(-INFINITY); }
    __syncthreads();
    float largest = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x) { largest = fmaxf(largest, x_row[c]); }
    atomicMax(&top, ordered(largest));
    __syncthreads();
    largest = unordered(top);
    for (int c = threadIdx.x; c < C; c += blockDim.x) { sum += expf(x_row[c] - largest); }
    sum = block_sum(sum, shared);
    for (int c = threadIdx.x; c < C; c += blockDim.x) { out_row[c] = expf(x_row[c] - largest) / sum; }
}
int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<N, 1024, 0, stream>>>(out, x, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
