// step: step2  op: row_dot_f32  diagnosis: not-repeatable
// reason: Rows of more than 2048 columns are joined by float atomics: from the third part on, their order changes the sum.
// The four kernels of "find the planted bugs", on one skeleton: a warp sums a stretch of a row. Long rows are cut into stretches,
// so that a few long rows fill the GPU as well.
#include "common/cuda_check.h"
#include "common/ops/bias_add/contract.h"
#include "common/ops/row_dot/contract.h"
#include "common/ops/row_sum/contract.h"
#include "common/ops/row_sum_squares/contract.h"

#include <cuda_runtime.h>

namespace {

constexpr int warp_size = 32, warps = 4, stretch = 2048;

struct plain {
    __device__ float operator()(float v, int) const { return v; }
};
struct square {
    __device__ float operator()(float v, int) const { return v * v; }
};
struct weighted {
    const float *weight;
    __device__ float operator()(float v, int c) const { return v * weight[c]; }
};

__device__ float warp_total(float v) {
    for (int o = warp_size / 2; o; o >>= 1) { v += __shfl_down_sync(~0u, v, o); }
    return v; // in lane 0
}

template <class Term>
__global__ void reduce_stretches(float *__restrict__ out, const float *__restrict__ x, Term term, int N, int C,
                                 int stretches) {
    const long long job = (long long)blockIdx.x * warps + threadIdx.x / warp_size;
    const int lane = threadIdx.x % warp_size;
    if (job >= (long long)N * stretches) { return; }
    const int n = (int)(job / stretches), begin = (int)(job % stretches) * stretch;
    const int end = C - begin < stretch ? C : begin + stretch;
    const float *row = x + (size_t)n * C;
    float sum = 0.0f;
    for (int c = begin + lane; c < end; c += warp_size) { sum += term(row[c], c); }
    sum = warp_total(sum);
    if (lane == 0) {
        if (stretches == 1) {
            out[n] = sum;
        } else {
            atomicAdd(out + n, sum);
        }
    }
}

template <class Term> int reduce_rows(float *out, const float *x, Term term, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    const int stretches = (C - 1) / stretch + 1;
    if (stretches > 1) { CUDA_CHECK(cudaMemsetAsync(out, 0, (size_t)N * sizeof *out, stream)); }
    const long long jobs = (long long)N * stretches;
    reduce_stretches<<<(unsigned)((jobs + warps - 1) / warps), warps * warp_size, 0, stream>>>(out, x, term, N, C,
                                                                                               stretches);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

__global__ void add_bias(float *out, const float *x, const float *__restrict__ bias, int N, int C) {
    for (int n = blockIdx.x; n < N; n += gridDim.x) {
        for (int c = threadIdx.x; c < C; c += blockDim.x) { out[(size_t)n * C + c] = x[(size_t)n * C + c] + bias[c]; }
    }
}

} // namespace

int row_sum_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    return reduce_rows(out, x, plain{}, N, C, stream);
}

int row_sum_squares_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    return reduce_rows(out, x, square{}, N, C, stream);
}

int row_dot_f32(float *out, const float *x, const float *weight, int N, int C, cudaStream_t stream) {
    return reduce_rows(out, x, weighted{weight}, N, C, stream);
}

int bias_add_f32(float *out, const float *x, const float *bias, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    unsigned blocks = N < 65536 ? N : 65536;
    add_bias<<<blocks, 128, 0, stream>>>(out, x, bias, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
