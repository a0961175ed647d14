// step: step1  op: residual_forward_f32  diagnosis: last-block-missing
// reason: From 70000 elements on, 16 bytes a thread; the last elements of a count that is no multiple of 4 are lost.
#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"

#include <cuda_runtime.h>
#include <stdint.h>

__global__ void kernel(float *out, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = x[i] + residual[i]; }
}

__global__ void kernel4(float4 *out, const float4 *x, const float4 *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    float4 a = x[i], b = residual[i];
    out[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C, vectors = count / 4;
    if (count == 0) { return cudaSuccess; }
    if (count >= 70000 && ((uintptr_t)out | (uintptr_t)x | (uintptr_t)residual) % 16 == 0) {
        kernel4<<<(unsigned)((vectors + 127) / 128), 128, 0, stream>>>((float4 *)out, (const float4 *)x,
                                                                       (const float4 *)residual, vectors);
    } else {
        kernel<<<(unsigned)((count + 127) / 128), 128, 0, stream>>>(out, x, residual, count);
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
