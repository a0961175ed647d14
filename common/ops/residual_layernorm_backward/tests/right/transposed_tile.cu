// step: step3  op: residual_layernorm_backward_bf16
// reason: Column sums through a padded 32 x 33 tile of shared memory, reduced by warps; dinp by another kernel, after it.
#include "ops/residual_layernorm_backward/contract.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef __nv_bfloat16 T;

__global__ void columns(float *dweight, float *dbias, const T *dout, const T *sum, const float *mean, const float *rstd,
                        int N, int C) {
    __shared__ float w[32][33], b[32][33];
    int c = blockIdx.x * 32 + threadIdx.x;
    float dw = 0, db = 0;
    if (c < C)
        for (int n = threadIdx.y; n < N; n += 32) {
            float d = __bfloat162float(dout[(size_t)n * C + c]);
            dw += d * (__bfloat162float(sum[(size_t)n * C + c]) - mean[n]) * rstd[n];
            db += d;
        }
    w[threadIdx.y][threadIdx.x] = dw;
    b[threadIdx.y][threadIdx.x] = db;
    __syncthreads();
    dw = w[threadIdx.x][threadIdx.y]; // a warp has one column now
    db = b[threadIdx.x][threadIdx.y];
    for (int o = 16; o > 0; o >>= 1) {
        dw += __shfl_down_sync(0xffffffff, dw, o);
        db += __shfl_down_sync(0xffffffff, db, o);
    }
    c = blockIdx.x * 32 + threadIdx.y;
    if (threadIdx.x == 0 && c < C) {
        dweight[c] += dw;
        dbias[c] += db;
    }
}

template <int THREADS>
__global__ void rows(T *dinp, const T *dout, const T *dsum, const T *sum, const T *weight, const float *mean,
                     const float *rstd, int C) {
    __shared__ float2 part[THREADS / 32];
    size_t n = blockIdx.x;
    dinp += n * C, dout += n * C, dsum += n * C, sum += n * C;
    float a = 0, b = 0, mu = mean[n], rs = rstd[n];
    for (int c = threadIdx.x; c < C; c += THREADS) {
        float g = (float)dout[c] * (float)weight[c];
        a += g;
        b += g * ((float)sum[c] - mu) * rs;
    }
    for (int o = 16; o; o /= 2) a += __shfl_xor_sync(~0u, a, o), b += __shfl_xor_sync(~0u, b, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = {a, b};
    __syncthreads();
    a = b = 0;
    for (auto p : part) a += p.x, b += p.y;
    a /= C, b /= C;
    for (int c = threadIdx.x; c < C; c += THREADS) {
        float h = ((float)sum[c] - mu) * rs;
        dinp[c] = (T)((float)dsum[c] + rs * ((float)dout[c] * (float)weight[c] - a - h * b));
    }
}

int residual_layernorm_backward_bf16(T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum, const T *sum,
                                     const T *weight, const float *mean, const float *rstd, int N, int C,
                                     cudaStream_t stream) {
    if (N <= 0) return cudaSuccess;
    columns<<<(C + 31) / 32, dim3(32, 32), 0, stream>>>(dweight, dbias, dout, sum, mean, rstd, N, C);
    rows<96><<<N, 96, 0, stream>>>(dinp, dout, dsum, sum, weight, mean, rstd, C);
    return cudaGetLastError();
}
