// step: step3  op: causal_softmax_forward_f32  diagnosis: causal-padding-counted
// reason: vec_load_part puts zeros behind the keys of the vec that the diagonal cuts, and the sum takes the whole vec: each
//         of them adds exp(0 - max).
#include "ops/causal_softmax_forward/contract.h"
#include "common/cuda_check.h"
#include "reduce.cuh"
#include "vec.cuh"

__global__ void kernel(float *out, const float *x, const int *lengths, int N, int H, int C, float scale, int upper) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= N) { return; }
    int i = row % C, keys = i + 1;
    if (lengths) { keys = min(keys, max(lengths[row / (H * C)], 0)); }
    const float *x_row = x + (size_t)row * C;
    float *out_row = out + (size_t)row * C;
    float v[4], largest = -INFINITY, sum = 0.0f;
    for (int j = lane * 4; j < keys; j += 128) {
        vec_unpack(vec_load_part(x_row + j, min(4, keys - j)), v);
        for (int k = 0; k < min(4, keys - j); k++) { largest = fmaxf(largest, scale * v[k]); }
    }
    largest = warp_max(largest);
    for (int j = lane * 4; j < keys; j += 128) {
        vec_unpack(vec_load_part(x_row + j, min(4, keys - j)), v);
        for (int k = 0; k < 4; k++) { sum += expf(scale * v[k] - largest); }
    }
    sum = warp_sum(sum);
    for (int j = lane; j < keys; j += 32) { out_row[j] = expf(scale * x_row[j] - largest) / sum; }
    int end = upper == CAUSAL_UPPER_KEEP ? i + 1 : C;
    for (int j = keys + lane; j < end; j += 32) { out_row[j] = 0.0f; }
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, x, lengths, N, H, T, scale, upper);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
