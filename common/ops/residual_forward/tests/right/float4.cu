// step: step1  op: residual_forward
// reason: 16 bytes at a time where all three pointers allow it, one element at a time at the tail and
//         elsewhere.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void kernel(float *out, const float *x, const float *residual, size_t count, size_t vectors) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < vectors) {
        float4 a = reinterpret_cast<const float4 *>(x)[i], b = reinterpret_cast<const float4 *>(residual)[i];
        reinterpret_cast<float4 *>(out)[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
        return;
    }
    i += 3 * vectors; // the elements behind the vectors
    if (i < count) { out[i] = x[i] + residual[i]; }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    bool aligned = ((uintptr_t)out | (uintptr_t)x | (uintptr_t)residual) % 16 == 0;
    size_t vectors = aligned ? count / 4 : 0, threads = count - 3 * vectors;
    kernel<<<(unsigned)((threads + 255) / 256), 256, 0, stream>>>(out, x, residual, count, vectors);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
