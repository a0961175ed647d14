// step: step3  op: residual_layernorm_forward_f16  diagnosis: float4-of-halves
// reason: C / 4 vectors of 16 bytes are twice the row when its elements are halves.
#include "ops/residual_layernorm_forward/contract.h"
#include "common/cuda_check.h"
#include "reduce.cuh"
#include "vec.cuh"

__global__ void kernel(__half *out, __half *sum, float *mean, float *rstd, const __half *x, const __half *residual,
                       const __half *weight, const __half *bias, int N, int C, float eps) {
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) { return; }
    size_t row = (size_t)n * C;
    float total = 0.0f, squares = 0.0f;
    bool aligned = C % 8 == 0 && vec_aligned(x) && vec_aligned(residual) && vec_aligned(sum);
    for (int v = lane; aligned && v < C / 4; v += 32) {
        vec<__half> a = vec_load(x + row + 8 * v), b = vec_load(residual + row + 8 * v);
        float left[8], right[8];
        vec_unpack(a, left);
        vec_unpack(b, right);
        for (int k = 0; k < 8; k++) { left[k] += right[k]; }
        vec_pack(a, left);
        vec_store(sum + row + 8 * v, a);
        vec_unpack(a, left);
        for (int k = 0; k < 8; k++) { total += left[k]; }
    }
    for (int c = lane; !aligned && c < C; c += 32) {
        __half rounded = from_float<__half>(to_float(x[row + c]) + to_float(residual[row + c]));
        sum[row + c] = rounded;
        total += to_float(rounded);
    }
    float m = warp_sum(total) / C;
    for (int c = lane; c < C; c += 32) {
        float distance = to_float(sum[row + c]) - m;
        squares += distance * distance;
    }
    float r = rsqrtf(warp_sum(squares) / C + eps);
    for (int c = lane; c < C; c += 32) {
        float normal = (to_float(sum[row + c]) - m) * r;
        out[row + c] = from_float<__half>(normal * to_float(weight[c]) + to_float(bias[c]));
    }
    if (lane == 0) {
        mean[n] = m;
        rstd[n] = r;
    }
}

int residual_layernorm_forward_f16(__half *out, __half *sum, float *mean, float *rstd, const __half *x,
                                   const __half *residual, const __half *weight, const __half *bias, int N, int C,
                                   float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, sum, mean, rstd, x, residual, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
