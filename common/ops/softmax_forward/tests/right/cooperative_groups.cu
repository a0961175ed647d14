// step: step2  op: softmax_forward
// reason: A tile of 32 threads per row, reductions by cooperative groups.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <math.h>

namespace cg = cooperative_groups;

__global__ void kernel(float *out, const float *x, int N, int C) {
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
    int n = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float largest = -INFINITY;
    for (int c = tile.thread_rank(); c < C; c += tile.size()) { largest = fmaxf(largest, x_row[c]); }
    largest = cg::reduce(tile, largest, cg::greater<float>());
    float sum = 0.0f;
    for (int c = tile.thread_rank(); c < C; c += tile.size()) { sum += expf(x_row[c] - largest); }
    sum = cg::reduce(tile, sum, cg::plus<float>());
    for (int c = tile.thread_rank(); c < C; c += tile.size()) { out_row[c] = expf(x_row[c] - largest) / sum; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
