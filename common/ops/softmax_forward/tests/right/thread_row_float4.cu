// step: step1  op: softmax_forward
// reason: One thread a row, with float4 where the row is aligned.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    bool aligned = ((size_t)x_row | (size_t)out_row) % 16 == 0;
    int whole = aligned ? C / 4 : 0;
    float largest = -INFINITY, sum = 0.0f;
    for (int g = 0; g < whole; g++) {
        float4 v = ((const float4 *)x_row)[g];
        largest = fmaxf(largest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    for (int c = whole * 4; c < C; c++) { largest = fmaxf(largest, x_row[c]); }
    for (int g = 0; g < whole; g++) {
        float4 v = ((const float4 *)x_row)[g];
        sum += expf(v.x - largest) + expf(v.y - largest) + expf(v.z - largest) + expf(v.w - largest);
    }
    for (int c = whole * 4; c < C; c++) { sum += expf(x_row[c] - largest); }
    float scale = 1.0f / sum;
    for (int g = 0; g < whole; g++) {
        float4 v = ((const float4 *)x_row)[g];
        ((float4 *)out_row)[g] = make_float4(expf(v.x - largest) * scale, expf(v.y - largest) * scale,
                                             expf(v.z - largest) * scale, expf(v.w - largest) * scale);
    }
    for (int c = whole * 4; c < C; c++) { out_row[c] = expf(x_row[c] - largest) * scale; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 63) / 64, 64, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
