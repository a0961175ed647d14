// step: step1  op: residual_forward  diagnosis: misaligned-vector
// reason: Above 100,000 elements, 16-byte accesses are chosen by the alignment of x and out alone; residual may be misaligned.

#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
__global__ void k(float *out, const float *x, const float *r, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + r[i];
}
__global__ void vec(float *out, const float *x, const float *r, size_t n) {
    size_t i = 4 * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        float4 a = *(const float4 *)(x + i), b = *(const float4 *)(r + i);
        a.x += b.x;
        a.y += b.y;
        a.z += b.z;
        a.w += b.w;
        *(float4 *)(out + i) = a;
    }
}
int residual_forward_f32(float *out, const float *x, const float *r, int N, int C, cudaStream_t stream) {
    size_t n = (size_t)N * C;
    if (n == 0) return cudaSuccess;
    if (n % 4 == 0 && n > 100000 && ((uintptr_t)x | (uintptr_t)out) % 16 == 0)
        vec<<<(n / 4 + 255) / 256, 256, 0, stream>>>(out, x, r, n);
    else
        k<<<(n + 255) / 256, 256, 0, stream>>>(out, x, r, n);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
