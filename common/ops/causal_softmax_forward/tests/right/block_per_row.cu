// step: step3  op: causal_softmax_forward_f32
// reason: A block of 64 threads for each row, with shared memory; grid-stride over the rows.
#include "ops/causal_softmax_forward/contract.h"
#include "common/cuda_check.h"
#include "reduce.cuh"
#include "vec.cuh"

__global__ void kernel(float *out, const float *x, const int *lengths, int N, int H, int C, float scale, int upper) {
    __shared__ float shared[32];
    for (int row = blockIdx.x; row < N; row += gridDim.x) {
        int lane = threadIdx.x;
        int i = row % C, keys = i + 1;
        if (lengths) { keys = min(keys, max(lengths[row / (H * C)], 0)); }
        const float *x_row = x + (size_t)row * C;
        float *out_row = out + (size_t)row * C;
        float largest = -INFINITY, sum = 0.0f;
        for (int j = lane; j < keys; j += 64) { largest = fmaxf(largest, scale * to_float(x_row[j])); }
        largest = block_max(largest, shared);
        for (int j = lane; j < keys; j += 64) { sum += expf(scale * to_float(x_row[j]) - largest); }
        sum = block_sum(sum, shared);
        for (int j = lane; j < keys; j += 64) {
            out_row[j] = from_float<float>(expf(scale * to_float(x_row[j]) - largest) / sum);
        }
        int end = upper == CAUSAL_UPPER_KEEP ? i + 1 : C;
        for (int j = keys + lane; j < end; j += 64) { out_row[j] = from_float<float>(0.0f); }
    }
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N == 0) { return cudaSuccess; }
    kernel<<<min(N, 96), 64, 0, stream>>>(out, x, lengths, N, H, T, scale, upper);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
