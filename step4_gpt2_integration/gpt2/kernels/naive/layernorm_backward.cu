// layernorm_backward.cu — the gradients of LayerNorm and of residual add + LayerNorm, an op at a time (the naive set)
//
// Math      common/ops/layernorm_backward/contract.h, residual_layernorm_backward/contract.h
// Bytes     dout and x are read three times along the rows and once down the columns. Along the rows, neighbouring threads read
//           addresses that are C apart.
// Kernels   A thread per column for dweight and dbias, so the order of their sums is fixed; a thread per row for dinp.
#include "elements.cuh"
#include "ops/layernorm_backward/contract.h"
#include "ops/residual_layernorm_backward/contract.h"

template <class T>
__global__ void layernorm_columns_naive(float *dweight,    // (C)
                                        float *dbias,      // (C)
                                        const T *dout,     // (N, C)
                                        const T *x,        // (N, C)
                                        const float *mean, // (N)
                                        const float *rstd, // (N)
                                        int N, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) { return; }
    float weight_sum = 0.0f, bias_sum = 0.0f;
    for (int n = 0; n < N; n++) {
        float d = to_float(dout[(size_t)n * C + c]);
        weight_sum += d * (to_float(x[(size_t)n * C + c]) - mean[n]) * rstd[n];
        bias_sum += d;
    }
    dweight[c] += weight_sum;
    dbias[c] += bias_sum;
}

// dsum: null, or added to dinp. dinp may alias dout or dsum: a thread reads each element before it writes it.
template <class T>
__global__ void layernorm_rows_naive(T *dinp,           // (N, C)
                                     const T *dout,     // (N, C)
                                     const T *dsum,     // (N, C) or null
                                     const T *x,        // (N, C)
                                     const T *weight,   // (C)
                                     const float *mean, // (N)
                                     const float *rstd, // (N)
                                     int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    size_t first = (size_t)row * C;
    const T *dout_row = dout + first, *x_row = x + first; // (C)
    float row_mean = mean[row], row_rstd = rstd[row], g_mean = 0.0f, g_xhat_mean = 0.0f;
    for (int c = 0; c < C; c++) {
        float g = to_float(dout_row[c]) * to_float(weight[c]);
        g_mean += g / C;
        g_xhat_mean += g * (to_float(x_row[c]) - row_mean) * row_rstd / C;
    }
    for (int c = 0; c < C; c++) {
        float g = to_float(dout_row[c]) * to_float(weight[c]);
        float xhat = (to_float(x_row[c]) - row_mean) * row_rstd;
        float skipped = dsum != nullptr ? to_float(dsum[first + c]) : 0.0f;
        dinp[first + c] = from_float<T>(skipped + row_rstd * (g - g_mean - xhat * g_xhat_mean));
    }
}

template <class T>
static int launch(T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum, const T *x, const T *weight,
                  const float *mean, const float *rstd, int N, int C, cudaStream_t stream) {
    layernorm_columns_naive<<<blocks_for(C), threads_per_block, 0, stream>>>(dweight, dbias, dout, x, mean, rstd, N, C);
    CUDA_CHECK(cudaGetLastError());
    layernorm_rows_naive<<<blocks_for(N), threads_per_block, 0, stream>>>(dinp, dout, dsum, x, weight, mean, rstd, N,
                                                                          C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

template <class T>
static int layernorm(T *dinp, float *dweight, float *dbias, const T *dout, const T *x, const T *weight,
                     const float *mean, const float *rstd, int N, int C, cudaStream_t stream) {
    if (N < 0 || C < 1) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (!dinp || !dweight || !dbias || !dout || !x || !weight || !mean || !rstd) { return cudaErrorInvalidValue; }
    return launch(dinp, dweight, dbias, dout, (const T *)nullptr, x, weight, mean, rstd, N, C, stream);
}

template <class T>
static int residual_layernorm(T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum, const T *sum,
                              const T *weight, const float *mean, const float *rstd, int N, int C,
                              cudaStream_t stream) {
    if (N < 0 || C < 1) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (!dinp || !dweight || !dbias || !dout || !dsum || !sum || !weight || !mean || !rstd) {
        return cudaErrorInvalidValue;
    }
    return launch(dinp, dweight, dbias, dout, dsum, sum, weight, mean, rstd, N, C, stream);
}

#define LAUNCHERS(T, type)                                                                                             \
    int layernorm_backward_##type(T *dinp, float *dweight, float *dbias, const T *dout, const T *x, const T *weight,   \
                                  const float *mean, const float *rstd, int N, int C, cudaStream_t stream) {           \
        return layernorm(dinp, dweight, dbias, dout, x, weight, mean, rstd, N, C, stream);                             \
    }                                                                                                                  \
    int residual_layernorm_backward_##type(T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum,        \
                                           const T *sum, const T *weight, const float *mean, const float *rstd, int N, \
                                           int C, cudaStream_t stream) {                                               \
        return residual_layernorm(dinp, dweight, dbias, dout, dsum, sum, weight, mean, rstd, N, C, stream);            \
    }
LAUNCHERS(float, f32)
LAUNCHERS(__half, f16)
LAUNCHERS(__nv_bfloat16, bf16)
