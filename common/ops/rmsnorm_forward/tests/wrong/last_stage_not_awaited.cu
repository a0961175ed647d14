// step: step2  op: rmsnorm_forward_f32  diagnosis: copy-not-awaited
// reason: In the last round the newest group is the tile itself, and __pipeline_wait_prior(1) leaves it out.
#include "common/cuda_check.h"
#include "common/ops/rmsnorm_forward/contract.h"
#include "reduce.cuh"
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <math.h>

constexpr int tile = 256, warps = 4;

// each lane copies the columns that it will read: no barrier
__device__ inline void fetch(float *stage, const float *row, int first, int C, int lane) {
    for (int i = lane; i < tile && first + i < C; i += 32) {
        __pipeline_memcpy_async(&stage[i], &row[first + i], sizeof(float));
    }
    __pipeline_commit();
}

__global__ void rmsnorm_pipelined(float *out, float *rstd, const float *x, const float *weight, int N, int C,
                                  float eps) {
    __shared__ float stages[warps][2][tile];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n = blockIdx.x * warps + warp;
    if (n >= N) { return; }
    const float *row = x + (size_t)n * C;
    int tiles = (C + tile - 1) / tile;
    float s = 0.0f;
    fetch(stages[warp][0], row, 0, C, lane);
    for (int t = 0; t < tiles; t++) {
        if (t + 1 < tiles) { fetch(stages[warp][(t + 1) & 1], row, (t + 1) * tile, C, lane); }
        __pipeline_wait_prior(1);
        const float *stage = stages[warp][t & 1];
        for (int i = lane; i < tile && t * tile + i < C; i += 32) { s += stage[i] * stage[i]; }
    }
    float r = rsqrtf(warp_sum(s) / C + eps);
    for (int c = lane; c < C; c += 32) { out[(size_t)n * C + c] = row[c] * r * weight[c]; }
    if (lane == 0) { rstd[n] = r; }
}

int rmsnorm_forward_f32(float *out, float *rstd, const float *x, const float *weight, int N, int C, float eps,
                        cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    rmsnorm_pipelined<<<(N + warps - 1) / warps, 32 * warps, 0, stream>>>(out, rstd, x, weight, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
