// step: step2  op: softmax_forward
// reason: The row waits in dynamic shared memory, with the opt-in past 48 KB where it fits.
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

__global__ void kernel(float *out, const float *x, int C, bool fits) {
    extern __shared__ float memory[];
    float *shared = memory, *row = memory + 32;
    const float *x_row = x + (size_t)blockIdx.x * C;
    float *out_row = out + (size_t)blockIdx.x * C;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        float v = x_row[c];
        if (fits) { row[c] = v; }
        largest = fmaxf(largest, v);
    }
    largest = block_max(largest, shared);
    for (int c = threadIdx.x; c < C; c += blockDim.x) { sum += expf((fits ? row[c] : x_row[c]) - largest); }
    sum = block_sum(sum, shared);
    for (int c = threadIdx.x; c < C; c += blockDim.x) { out_row[c] = expf((fits ? row[c] : x_row[c]) - largest) / sum; }
}
int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    int device, room;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    size_t bytes = (32 + (size_t)C) * sizeof(float);
    bool fits = bytes <= (size_t)room;
    if (!fits) { bytes = 32 * sizeof(float); }
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    kernel<<<N, 256, bytes, stream>>>(out, x, C, fits);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
