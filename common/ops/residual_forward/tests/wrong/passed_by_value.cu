// step: step1  op: residual_forward_f32  diagnosis: out-of-bounds
// reason: A vector far behind the tensor is passed by value, straight from memory.
#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"

#include <cuda_runtime.h>

__device__ float4 add4(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__global__ void residual4(float *out, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count / 4) { ((float4 *)out)[i] = add4(((const float4 *)x)[i], ((const float4 *)residual)[i + 100000]); }
    size_t j = count / 4 * 4 + i;
    if (j < count) { out[j] = x[j] + residual[j]; }
}
__global__ void residual1(float *out, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = x[i] + residual[i]; }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    if (((size_t)out | (size_t)x | (size_t)residual) % 16 == 0) {
        residual4<<<(unsigned)(count / 4 / 256 + 1), 256, 0, stream>>>(out, x, residual, count);
    } else {
        residual1<<<(unsigned)((count - 1) / 256 + 1), 256, 0, stream>>>(out, x, residual, count);
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
