// step: step2  op: layernorm_forward
// reason: Moments of x - x[0] are merged by pairs. Where x[0] is far from the rest, all differences are rounded to its size.
#include "common/cuda_check.h"
#include "common/ops/layernorm_forward/contract.h"

#include <cuda_runtime.h>
#include <math.h>

struct moments {
    int count;
    float mean, squares;
};

__device__ inline moments with(moments a, float value) {
    const float distance = value - a.mean;
    a.count += 1;
    a.mean += distance / a.count;
    a.squares += distance * (value - a.mean);
    return a;
}

__device__ inline moments merged(moments a, moments b) {
    if (b.count == 0) { return a; }
    if (a.count == 0) { return b; }
    const float share = (float)b.count / ((float)a.count + (float)b.count), distance = b.mean - a.mean;
    return {a.count + b.count, a.mean + distance * share,
            a.squares + b.squares + distance * distance * share * (float)a.count};
}

// The moments of all 32 lanes' parts: a tree down to lane 0, and from there to all, so that all lanes have the same bits.
__device__ inline moments merged_over_warp(moments mine) {
    const unsigned all = 0xffffffffu;
    for (int o = 16; o > 0; o /= 2) {
        moments other = {__shfl_down_sync(all, mine.count, o), __shfl_down_sync(all, mine.mean, o),
                         __shfl_down_sync(all, mine.squares, o)};
        if ((int)(threadIdx.x % 32) < o) { mine = merged(mine, other); }
    }
    return {__shfl_sync(all, mine.count, 0), __shfl_sync(all, mine.mean, 0), __shfl_sync(all, mine.squares, 0)};
}

__global__ void layernorm_moments(float *out, float *mean, float *rstd, const float *x, const float *weight,
                                  const float *bias, int N, int C, float eps) {
    const int lane = threadIdx.x,
              n = blockIdx.x * blockDim.y + threadIdx.y; // blockDim.x is 32: threadIdx.y is the warp
    if (n >= N) { return; }
    const float *row = x + (size_t)n * C;
    float *to = out + (size_t)n * C;

    const float origin = row[0]; // distances from it are small numbers even if the row is far from 0
    moments m = {0, 0.0f, 0.0f};
    for (int c = lane; c < C; c += 32) { m = with(m, row[c] - origin); }
    m = merged_over_warp(m);
    __syncwarp(); // every lane has read row[0]: from here on out, which may be x, is written

    const float mu = m.mean, r = 1.0f / sqrtf(m.squares / C + eps);
    for (int c = lane; c < C; c += 32) { to[c] = fmaf((row[c] - origin - mu) * r, weight[c], bias[c]); }
    if (lane == 31) { mean[n] = origin + mu; }
    if (lane == 17) { rstd[n] = r; }
}

int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    const dim3 block(32, 5);
    layernorm_moments<<<(N - 1) / 5 + 1, block, 0, stream>>>(out, mean, rstd, x, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
