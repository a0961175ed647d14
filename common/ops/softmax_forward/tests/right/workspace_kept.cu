// step: step1  op: softmax_forward
// reason: A workspace that is kept between calls and grows when it must: no leak.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, float *work, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    float largest = -INFINITY, sum = 0.0f;
    for (int c = 0; c < C; c++) { largest = fmaxf(largest, x[(size_t)n * C + c]); }
    for (int c = 0; c < C; c++) { sum += expf(x[(size_t)n * C + c] - largest); }
    work[n] = sum;
    for (int c = 0; c < C; c++) { out[(size_t)n * C + c] = expf(x[(size_t)n * C + c] - largest) / work[n]; }
}
int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    static float *work;
    static int room;
    if (N == 0) { return cudaSuccess; }
    if (N > room) {
        CUDA_CHECK(cudaFree(work));
        CUDA_CHECK(cudaMalloc(&work, N * sizeof(float)));
        room = N;
    }
    kernel<<<(N + 63) / 64, 64, 0, stream>>>(out, work, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
