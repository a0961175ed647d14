// step: step1  op: softmax_forward
// reason: Maximum, sum and quotient in kernels of their own, with a workspace of the stream.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void row_max(float *m, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    float v = -INFINITY;
    for (int c = 0; c < C; c++) { v = fmaxf(v, x[(size_t)n * C + c]); }
    m[n] = v;
}
__global__ void row_sum(float *s, const float *m, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    float v = 0.0f;
    for (int c = 0; c < C; c++) { v += expf(x[(size_t)n * C + c] - m[n]); }
    s[n] = v;
}
__global__ void quotient(float *out, const float *m, const float *s, const float *x, int N, int C) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (size_t)N * C) { return; }
    out[i] = expf(x[i] - m[i / C]) / s[i / C];
}
int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    float *work;
    CUDA_CHECK(cudaMallocAsync(&work, 2 * (size_t)N * sizeof(float), stream));
    row_max<<<(N + 63) / 64, 64, 0, stream>>>(work, x, N, C);
    row_sum<<<(N + 63) / 64, 64, 0, stream>>>(work + N, work, x, N, C);
    quotient<<<((size_t)N * C + 255) / 256, 256, 0, stream>>>(out, work, work + N, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaFreeAsync(work, stream));
    return cudaSuccess;
}
