// step: step3  op: causal_softmax_backward_bf16  diagnosis: softmax-backward-diagonal
// reason: The derivative of a sigmoid: each output depends on its own input alone.
#include "ops/causal_softmax_backward/contract.h"
#include "common/cuda_check.h"
#include "reduce.cuh"
#include "vec.cuh"

__global__ void kernel(__nv_bfloat16 *dx, const __nv_bfloat16 *dout, const __nv_bfloat16 *out, const int *lengths,
                       int N, int H, int C, float scale, int upper) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= N) { return; }
    int i = row % C, keys = i + 1;
    if (lengths) { keys = min(keys, max(lengths[row / (H * C)], 0)); }
    const __nv_bfloat16 *dout_row = dout + (size_t)row * C, *out_row = out + (size_t)row * C;
    __nv_bfloat16 *dx_row = dx + (size_t)row * C;
    float sum = 0.0f;
    for (int j = lane; j < keys; j += 32) { sum += to_float(out_row[j]) * to_float(dout_row[j]); }
    sum = warp_sum(sum);
    for (int j = lane; j < keys; j += 32) {
        dx_row[j] = from_float<__nv_bfloat16>(scale * to_float(out_row[j]) * (1.0f - to_float(out_row[j])) *
                                              to_float(dout_row[j]));
    }
    int end = upper == CAUSAL_UPPER_KEEP ? i + 1 : C;
    for (int j = keys + lane; j < end; j += 32) { dx_row[j] = from_float<__nv_bfloat16>(0.0f); }
}

int causal_softmax_backward_bf16(__nv_bfloat16 *dx, const __nv_bfloat16 *dout, const __nv_bfloat16 *out,
                                 const int *lengths, int B, int H, int T, float scale, int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(dx, dout, out, lengths, N, H, T, scale, upper);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
