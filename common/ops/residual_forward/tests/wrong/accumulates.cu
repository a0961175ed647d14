// step: step1  op: residual_forward  diagnosis: output-accumulated
// reason: `+=` reads what happens to be in out, which nobody has written.
#include "common/contracts/residual_forward.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    out[i] += x[i] + residual[i];
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    kernel<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(out, x, residual, count);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
