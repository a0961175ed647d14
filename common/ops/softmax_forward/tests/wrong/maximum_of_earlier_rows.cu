// step: step2  op: softmax_forward  diagnosis: softmax-not-the-maximum
// reason: A warp takes many rows and keeps the maximum of the rows before: a smaller row underflows to 0 / 0.
#include "common/cuda_check.h"
#include "common/ops/softmax_forward/contract.h"
#include "reduce.cuh"

#include <cuda_runtime.h>
#include <math.h>

enum { warps_per_block = 4, threads_per_block = warps_per_block * warp_size, most_blocks = 16 };

// out may be x: a lane writes only what it has read itself.
__global__ void softmax_many_rows(float *out, const float *x, int N, int C) {
    const int lane = threadIdx.x % warp_size;
    const long long my_warp = (long long)blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    const long long all_warps = (long long)gridDim.x * warps_per_block;

    float top = -INFINITY;
    for (long long n = my_warp; n < N; n += all_warps) {
        const float *from = x + (size_t)n * C;
        float *to = out + (size_t)n * C;

        for (int c = lane; c < C; c += warp_size) { top = fmaxf(top, from[c]); }
        top = warp_max(top);

        float total = 0.0f;
        for (int c = lane; c < C; c += warp_size) { total += expf(from[c] - top); }
        total = warp_sum(total);

        for (int c = lane; c < C; c += warp_size) { to[c] = expf(from[c] - top) / total; }
    }
}

extern "C" int softmax_forward_f32_rung(int rung, float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (rung == 0) { return cudaErrorNotSupported; }
    if (N == 0) { return cudaSuccess; }
    int blocks = (N - 1) / warps_per_block + 1;
    if (blocks > most_blocks) { blocks = most_blocks; }
    softmax_many_rows<<<blocks, threads_per_block, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    return softmax_forward_f32_rung(4, out, x, N, C, stream);
}
