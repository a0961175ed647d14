// step: step2  op: softmax_forward
// reason: A cooperative launch, with grid.sync() between the passes.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <math.h>

__device__ float warp_max(float v) {
    for (int o = 16; o > 0; o /= 2) { v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o)); }
    return v;
}
__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o /= 2) { v += __shfl_xor_sync(0xffffffffu, v, o); }
    return v;
}

namespace cg = cooperative_groups;
__global__ void kernel(float *out, float *work, const float *x, int N, int C) {
    cg::grid_group grid = cg::this_grid();
    int lane = threadIdx.x % 32, first = blockIdx.x * 4 + threadIdx.x / 32, step = gridDim.x * 4;
    for (int n = first; n < N; n += step) {
        float v = -INFINITY;
        for (int c = lane; c < C; c += 32) { v = fmaxf(v, x[(size_t)n * C + c]); }
        v = warp_max(v);
        if (lane == 0) { work[n] = v; }
    }
    grid.sync();
    for (int n = first; n < N; n += step) {
        float v = 0, m = work[n];
        for (int c = lane; c < C; c += 32) { v += expf(x[(size_t)n * C + c] - m); }
        v = warp_sum(v);
        if (lane == 0) { work[N + n] = v; }
    }
    grid.sync();
    for (int n = first; n < N; n += step) {
        float m = work[n], s = work[N + n];
        for (int c = lane; c < C; c += 32) { out[(size_t)n * C + c] = expf(x[(size_t)n * C + c] - m) / s; }
    }
}
int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    float *work;
    CUDA_CHECK(cudaMallocAsync(&work, 2 * (size_t)N * sizeof(float), stream));
    int blocks = (N + 3) / 4;
    if (blocks > 132) { blocks = 132; }
    void *arguments[] = {&out, &work, &x, &N, &C};
    CUDA_CHECK(cudaLaunchCooperativeKernel((const void *)kernel, dim3(blocks), dim3(128), arguments, 0, stream));
    CUDA_CHECK(cudaFreeAsync(work, stream));
    return cudaSuccess;
}
