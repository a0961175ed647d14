// step: step2  op: rmsnorm_forward
// reason: A block per row that reads four columns at a time where the row's address allows it, and one at a time elsewhere.
#include "common/cuda_check.h"
#include "ops/rmsnorm_forward/contract.h"

#include <cuda_runtime.h>
#include <stdint.h>

enum { threads = 256 };

__global__ void kernel(float *out, float *rstd, const float *x, const float *weight, int C, float eps) {
    __shared__ float parts[threads / 32];
    const float *x_row = x + (size_t)blockIdx.x * C;
    float *out_row = out + (size_t)blockIdx.x * C;
    bool aligned = ((uintptr_t)x_row & 15) == 0;
    int fours = aligned ? C / 4 : 0;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < fours; i += threads) {
        float4 v = reinterpret_cast<const float4 *>(x_row)[i];
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    for (int c = 4 * fours + threadIdx.x; c < C; c += threads) { sum = fmaf(x_row[c], x_row[c], sum); }
    for (int offset = 16; offset > 0; offset /= 2) { sum += __shfl_down_sync(0xffffffffu, sum, offset); }
    if (threadIdx.x % 32 == 0) { parts[threadIdx.x / 32] = sum; }
    __syncthreads();
    float total = 0.0f;
    for (int i = 0; i < threads / 32; i++) { total += parts[i]; }
    float scale = 1.0f / sqrtf(total / C + eps);
    for (int c = threadIdx.x; c < C; c += threads) { out_row[c] = x_row[c] * scale * weight[c]; }
    if (threadIdx.x == 0) { rstd[blockIdx.x] = scale; }
}

int rmsnorm_forward_f32(float *out, float *rstd, const float *x, const float *weight, int N, int C, float eps,
                        cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<N, threads, 0, stream>>>(out, rstd, x, weight, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
