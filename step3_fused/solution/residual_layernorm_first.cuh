//:omit
// residual_layernorm_first.cuh — where the ladder begins: two good kernels, and one fused without coalescing
//
// The second is a negative result: it writes the sum once and reads it where it wrote it, and loses to the two.
#ifndef RESIDUAL_LAYERNORM_FIRST_CUH
#define RESIDUAL_LAYERNORM_FIRST_CUH

#include "reduce.cuh"
#include "vec.cuh"

template <class T>
__global__ void residual_layernorm_forward_kernel1_add(T *sum, const T *x, const T *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { sum[i] = from_float<T>(to_float(x[i]) + to_float(residual[i])); }
}

template <class T>
__global__ void residual_layernorm_forward_kernel1_normalise(T *out,                       // (N, C)
                                                             float *__restrict__ mean,     // (N)
                                                             float *__restrict__ rstd,     // (N)
                                                             const T *sum,                 // (N, C)
                                                             const T *__restrict__ weight, // (C)
                                                             const T *__restrict__ bias,   // (C)
                                                             int N, int C, float eps) {
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * (blockDim.x / warp_size) + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *row = sum + (size_t)n * C; // (C)
    T *out_row = out + (size_t)n * C;   // (C)

    float total = 0.0f;
    for (int c = lane; c < C; c += warp_size) { total += to_float(row[c]); }
    float row_mean = warp_sum(total) / C;

    float squares = 0.0f;
    for (int c = lane; c < C; c += warp_size) {
        float distance = to_float(row[c]) - row_mean;
        squares += distance * distance;
    }
    float row_rstd = rsqrtf(warp_sum(squares) / C + eps);

    for (int c = lane; c < C; c += warp_size) {
        out_row[c] = from_float<T>((to_float(row[c]) - row_mean) * row_rstd * to_float(weight[c]) + to_float(bias[c]));
    }
    if (lane == 0) { mean[n] = row_mean, rstd[n] = row_rstd; }
}

template <class T>
__global__ void residual_layernorm_forward_kernel2(T *out,                       // (N, C)
                                                   T *sum,                       // (N, C)
                                                   float *__restrict__ mean,     // (N)
                                                   float *__restrict__ rstd,     // (N)
                                                   const T *x,                   // (N, C)
                                                   const T *residual,            // (N, C)
                                                   const T *__restrict__ weight, // (C)
                                                   const T *__restrict__ bias,   // (C)
                                                   int N, int C, float eps) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    size_t start = (size_t)n * C;
    float total = 0.0f, squares = 0.0f;
    for (size_t i = start; i < start + C; i++) {
        T value = from_float<T>(to_float(x[i]) + to_float(residual[i]));
        total += to_float(value);
        sum[i] = value;
    }
    float row_mean = total / C;
    for (size_t i = start; i < start + C; i++) {
        float distance = to_float(sum[i]) - row_mean;
        squares += distance * distance;
    }
    float row_rstd = rsqrtf(squares / C + eps);
    for (int c = 0; c < C; c++) {
        float value = (to_float(sum[start + c]) - row_mean) * row_rstd;
        out[start + c] = from_float<T>(value * to_float(weight[c]) + to_float(bias[c]));
    }
    mean[n] = row_mean, rstd[n] = row_rstd;
}

#endif
//:end
