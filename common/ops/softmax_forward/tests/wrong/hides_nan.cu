// step: step1  op: softmax_forward  diagnosis: nan-hidden
// reason: Treats what is not greater than -inf as masked, and NaN is not greater than anything: NaN turns into
//         0.
#include "common/contracts/softmax_forward.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float largest = -INFINITY;
    for (int c = 0; c < C; c++) { largest = fmaxf(largest, x_row[c]); }
    float sum = 0.0f;
    for (int c = 0; c < C; c++) { sum += x_row[c] > -INFINITY ? expf(x_row[c] - largest) : 0.0f; }
    for (int c = 0; c < C; c++) {
        out_row[c] = largest == -INFINITY || x_row[c] > -INFINITY ? expf(x_row[c] - largest) / sum : 0.0f;
    }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 127) / 128, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
