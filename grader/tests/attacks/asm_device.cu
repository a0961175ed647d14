// Loads in a kernel by the machine's own instruction.
// stopped by: source rules: asm
#include "common/ops/residual_forward/contract.h"

#include <cuda_runtime.h>

__device__ float load(const float *from) {
    float value;
    asm("movss (%1), %0" : "=x"(value) : "r"(from));
    return value;
}
__global__ void add_kernel(float *out, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = load(x + i) + load(residual + i); }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    add_kernel<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(out, x, residual, count);
    return (int)cudaGetLastError();
}
