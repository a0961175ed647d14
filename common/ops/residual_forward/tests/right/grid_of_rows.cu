// step: step1  op: residual_forward
// reason: A grid in two dimensions, whose rows end at the device's largest grid and go on in a loop.

#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
__global__ void k(float *out, const float *x, const float *r, int N, int C) {
    for (int n = blockIdx.y; n < N; n += gridDim.y) {
        int c = blockIdx.x * blockDim.x + threadIdx.x;
        if (c < C) {
            size_t i = (size_t)n * C + c;
            out[i] = x[i] + r[i];
        }
    }
}
int residual_forward_f32(float *out, const float *x, const float *r, int N, int C, cudaStream_t stream) {
    size_t n = (size_t)N * C;
    if (n == 0) return cudaSuccess;
    cudaDeviceProp p;
    CUDA_CHECK(cudaGetDeviceProperties(&p, 0));
    k<<<dim3((C + 127) / 128, min(N, p.maxGridSize[1])), 128, 0, stream>>>(out, x, r, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
