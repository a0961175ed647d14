// Copies in a kernel by the compiler's builtin, which is not counted.
// stopped by: source rules: __builtin
#include "common/ops/residual_forward/contract.h"

#include <cuda_runtime.h>

struct many { float v[64]; };
__global__ void add_kernel(float *out, const float *x, const float *residual, size_t count) {
    size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * 64;
    many a, b;
    if (i + 64 <= count) {
        __builtin_memcpy(&a, x + i, sizeof a);
        __builtin_memcpy(&b, residual + i, sizeof b);
        for (int k = 0; k < 64; k++) { a.v[k] += b.v[k]; }
        __builtin_memcpy(out + i, &a, sizeof a);
    } else {
        for (; i < count; i++) { out[i] = x[i] + residual[i]; }
    }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    add_kernel<<<(unsigned)((count + 16383) / 16384), 256, 0, stream>>>(out, x, residual, count);
    return (int)cudaGetLastError();
}
