//:omit
// layernorm_residual.cu — LayerNorm(x) + residual: another function than LayerNorm(x + residual) (lab 3, to read)
//
// Purpose   For models that normalise a branch before they add it to the residual stream (Swin Transformer V2,
//           arXiv:2111.09883). The residual is added unscaled, and the sum is not normalised: the two ops have similar names
//           and move similar bytes, but compute different values.
// Math      mean = sum_c x[c] / C     rstd = 1 / sqrt(sum_c (x[c] - mean)^2 / C + eps)
//           out[c] = (x[c] - mean) * rstd * weight[c] + bias[c] + residual[c], rounded once
//           out, x, residual: (N, C); mean, rstd: (N); weight, bias: (C)
// Bytes     floor: read x and residual, write out: 3 s N C + 8 N, where an element has s bytes. 8192 x 768: 75.5 MB in fp32,
//           37.7 MB in bf16: 15.7 and 7.9 us on an H200 (4.8 TB/s). Two kernels move 5 s N C.
// Kernels   1  fused, thread per row. It loses to two good kernels: neighbouring threads read 4 C bytes apart
//           2  warp per row, one element at a time: x is read three times, 5 s N C requested
//           3  warp per row, 16 bytes at a time, the row in registers: 3 s N C
//           4  block per row, the row in registers: for rows that are too long for a warp
//           5  speed of light: see speed_of_light/layernorm_forward.cuh
// Launchers layernorm_residual_forward_f32, _f16, _bf16, declared in common/ops/layernorm_residual_forward/contract.h
#include "common/cuda_check.h"
#include "common/ops/layernorm_residual_forward/contract.h"
#include "layernorm_vec.cuh"
#include "reduce.cuh"
#include "speed_of_light/layernorm_forward.cuh"
#include "vec.cuh"

#include <cuda_runtime.h>
#include <math.h>

enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size, block_vecs = 4, most_threads = 1024 };
enum { top_rung = 5 };

// out may be x or residual, so these are not __restrict__. Every element is read for the last time before it is written,
// by the thread that writes it.

template <class T>
__global__ void layernorm_residual_forward_kernel1(T *out,                       // (N, C)
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
    float sum = 0.0f, squares = 0.0f;
    for (int c = 0; c < C; c++) { sum += to_float(x[start + c]); }
    float row_mean = sum / C;
    for (int c = 0; c < C; c++) {
        float distance = to_float(x[start + c]) - row_mean;
        squares += distance * distance;
    }
    float row_rstd = rsqrtf(squares / C + eps);
    for (int c = 0; c < C; c++) {
        float value = (to_float(x[start + c]) - row_mean) * row_rstd * to_float(weight[c]) + to_float(bias[c]);
        out[start + c] = from_float<T>(value + to_float(residual[start + c]));
    }
    mean[n] = row_mean, rstd[n] = row_rstd;
}

template <class T>
__global__ void layernorm_residual_forward_kernel2(T *out,                       // (N, C)
                                                   float *__restrict__ mean,     // (N)
                                                   float *__restrict__ rstd,     // (N)
                                                   const T *x,                   // (N, C)
                                                   const T *residual,            // (N, C)
                                                   const T *__restrict__ weight, // (C)
                                                   const T *__restrict__ bias,   // (C)
                                                   int N, int C, float eps) {
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    size_t start = (size_t)n * C;
    float sum = 0.0f, squares = 0.0f;
    for (int c = lane; c < C; c += warp_size) { sum += to_float(x[start + c]); }
    float row_mean = warp_sum(sum) / C;
    for (int c = lane; c < C; c += warp_size) {
        float distance = to_float(x[start + c]) - row_mean;
        squares += distance * distance;
    }
    float row_rstd = rsqrtf(warp_sum(squares) / C + eps);
    for (int c = lane; c < C; c += warp_size) {
        float value = (to_float(x[start + c]) - row_mean) * row_rstd * to_float(weight[c]) + to_float(bias[c]);
        out[start + c] = from_float<T>(value + to_float(residual[start + c]));
    }
    if (lane == 0) { mean[n] = row_mean, rstd[n] = row_rstd; }
}

// (x - mean) * rstd * weight + bias + residual, rounded once.
template <class T>
__device__ inline vec<T> vec_normalise_and_add(const vec<T> &x, float mean, float rstd, const vec<T> &weight,
                                               const vec<T> &bias, const vec<T> &residual) {
    float values[vec<T>::size], w[vec<T>::size], b[vec<T>::size], r[vec<T>::size];
    vec_unpack(x, values);
    vec_unpack(weight, w);
    vec_unpack(bias, b);
    vec_unpack(residual, r);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { values[i] = (values[i] - mean) * rstd * w[i] + b[i] + r[i]; }
    vec<T> result;
    vec_pack(result, values);
    return result;
}

// VECS: of a row, in one thread. BLOCK: a block has a row, else a warp.
template <class T, int VECS, bool BLOCK>
__global__ void layernorm_residual_forward_kernel3(T *out,                       // (N, C)
                                                   float *__restrict__ mean,     // (N)
                                                   float *__restrict__ rstd,     // (N)
                                                   const T *x,                   // (N, C)
                                                   const T *residual,            // (N, C)
                                                   const T *__restrict__ weight, // (C)
                                                   const T *__restrict__ bias,   // (C)
                                                   int N, int C, float eps, bool aligned) {
    __shared__ float shared[warp_size];
    int thread = BLOCK ? threadIdx.x : threadIdx.x % warp_size, threads = BLOCK ? blockDim.x : warp_size;
    int n = BLOCK ? blockIdx.x : blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    int first = thread * vec<T>::size, step = threads * vec<T>::size;
    size_t start = (size_t)n * C;

    vec<T> row[VECS];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (c < C) { row[k] = vec_load(x + start + c, C - c, aligned); }
    }
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (first + k * step < C) { sum += vec_sum(row[k]); }
    }
    float row_mean = (BLOCK ? block_sum(sum, shared) : warp_sum(sum)) / C;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (first + k * step < C) { squares += vec_squares(row[k], row_mean, C - first - k * step); }
    }
    float row_rstd = rsqrtf((BLOCK ? block_sum(squares, shared) : warp_sum(squares)) / C + eps);
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step, count = C - c;
        if (count <= 0) { continue; }
        vec<T> w = vec_load(weight + c, count, aligned), b = vec_load(bias + c, count, aligned);
        vec<T> r = vec_load(residual + start + c, count, aligned);
        vec_store(out + start + c, vec_normalise_and_add(row[k], row_mean, row_rstd, w, b, r), count, aligned);
    }
    if (thread == 0) { mean[n] = row_mean, rstd[n] = row_rstd; }
}

// ---- launchers ----

// A row that is too long for the registers of kernel 3 or 4 goes to kernel 2.
template <class T>
static int launch_rung(int rung, T *out, float *mean, float *rstd, const T *x, const T *residual, const T *weight,
                       const T *bias, int N, int C, float eps, cudaStream_t stream) {
    CUDA_CHECK(check_rows(N, C, {out, mean, rstd, x, residual, weight, bias}));
    if (rung < 0 || rung > top_rung) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (rung == 0 || rung == top_rung) {
        return layernorm_forward_launch<T, residual_at::after>(
            {out, nullptr, mean, rstd, x, residual, weight, bias, N, C, eps}, stream);
    }
    bool aligned = rows_aligned<T>(C, {out, x, residual, weight, bias});
    int vecs = (C - 1) / vec<T>::size + 1, lane_vecs = (vecs - 1) / warp_size + 1;
    int threads = threads_per_block, blocks = (N - 1) / warps_per_block + 1; // a warp per row
    int block_threads = ((vecs - 1) / block_vecs / warp_size + 1) * warp_size;
    auto kernel = lane_vecs <= 4 ? layernorm_residual_forward_kernel3<T, 4, false>
                                 : layernorm_residual_forward_kernel3<T, 8, false>;
    bool fits = lane_vecs <= 8;
    if (rung == 4) {
        kernel = layernorm_residual_forward_kernel3<T, block_vecs, true>;
        threads = block_threads, blocks = N, fits = block_threads <= most_threads;
    }
    if (rung == 1) {
        layernorm_residual_forward_kernel1<<<(N - 1) / threads + 1, threads, 0, stream>>>(out, mean, rstd, x, residual,
                                                                                          weight, bias, N, C, eps);
    } else if (rung == 2 || !fits) {
        layernorm_residual_forward_kernel2<<<(N - 1) / warps_per_block + 1, threads_per_block, 0, stream>>>(
            out, mean, rstd, x, residual, weight, bias, N, C, eps);
    } else {
        kernel<<<blocks, threads, 0, stream>>>(out, mean, rstd, x, residual, weight, bias, N, C, eps, aligned);
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                           \
    int name(T *out, float *mean, float *rstd, const T *x, const T *residual, const T *weight, const T *bias, int N, \
             int C, float eps, cudaStream_t stream) {                                                                \
        return launch_rung(0, out, mean, rstd, x, residual, weight, bias, N, C, eps, stream);                        \
    }                                                                                                                \
    extern "C" int name##_rung(int rung, T *out, float *mean, float *rstd, const T *x, const T *residual,            \
                               const T *weight, const T *bias, int N, int C, float eps, cudaStream_t stream) {       \
        return launch_rung(rung, out, mean, rstd, x, residual, weight, bias, N, C, eps, stream);                     \
    }
LAUNCHERS(layernorm_residual_forward_f32, float)
LAUNCHERS(layernorm_residual_forward_f16, __half)
LAUNCHERS(layernorm_residual_forward_bf16, __nv_bfloat16)
//:end
