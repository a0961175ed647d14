// step: step3  op: causal_softmax_backward_f32
// reason: The sum in double, one thread for each row.
#include "ops/causal_softmax_backward/contract.h"
#include "common/cuda_check.h"
#include "reduce.cuh"
#include "vec.cuh"

__global__ void kernel(float *dx, const float *dout, const float *out, const int *lengths, int N, int H, int C,
                       float scale, int upper) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    int i = row % C, keys = i + 1;
    if (lengths) { keys = min(keys, max(lengths[row / (H * C)], 0)); }
    const float *dout_row = dout + (size_t)row * C, *out_row = out + (size_t)row * C;
    float *dx_row = dx + (size_t)row * C;
    double sum = 0.0;
    for (int j = 0; j < keys; j++) { sum += (double)to_float(out_row[j]) * to_float(dout_row[j]); }
    for (int j = 0; j < keys; j++) {
        dx_row[j] = from_float<float>(scale * to_float(out_row[j]) * (to_float(dout_row[j]) - (float)sum));
    }
    int end = upper == CAUSAL_UPPER_KEEP ? i + 1 : C;
    for (int j = keys; j < end; j++) { dx_row[j] = from_float<float>(0.0f); }
}

int causal_softmax_backward_f32(float *dx, const float *dout, const float *out, const int *lengths, int B, int H, int T,
                                float scale, int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 31) / 32, 32, 0, stream>>>(dx, dout, out, lengths, N, H, T, scale, upper);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
