// step: step2  op: softmax_forward
// reason: A cooperative launch of one block a processor; its warps take row after row.
#include "common/cuda_check.h"
#include "common/ops/softmax_forward/contract.h"
#include "reduce.cuh"

#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void softmax_kernel(float *out, const float *x, int N, int C) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    int lane = threadIdx.x % warp_size, warps = (int)(grid.size() / warp_size);
    for (int n = (int)(grid.thread_rank() / warp_size); n < N; n += warps) {
        const float *x_row = x + (size_t)n * C;
        float *out_row = out + (size_t)n * C;
        float largest = -INFINITY, sum = 0.0f;
        for (int c = lane; c < C; c += warp_size) { largest = fmaxf(largest, x_row[c]); }
        largest = warp_max(largest);
        for (int c = lane; c < C; c += warp_size) { sum += expf(x_row[c] - largest); }
        sum = warp_sum(sum);
        for (int c = lane; c < C; c += warp_size) { out_row[c] = expf(x_row[c] - largest) / sum; }
    }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    int device = 0, processors = 0;
    if (N == 0) { return cudaSuccess; }
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    void *arguments[] = {&out, &x, &N, &C};
    CUDA_CHECK(cudaLaunchCooperativeKernel((void *)softmax_kernel, processors, 128, arguments, 0, stream));
    return cudaSuccess;
}
