// residual_layernorm.cu — residual add and LayerNorm in one kernel (lab 3)
//
// Purpose   Between any two parts of a GPT-2, the result of one is added to the residual stream, and the next begins with the
//           LayerNorm of the sum. In two kernels the sum is written and read again at once.
// Math      sum = x + residual, rounded to T      mean, rstd of the rounded sum, as in lab 2
//           out = (sum - mean) * rstd * weight + bias
//           out, sum, x, residual: (N, C), T; mean, rstd: (N), float; weight, bias: (C), T
// Bytes     floor: read x and residual, write sum and out: 4 s N C + 8 N, where an element has s bytes. 8192 x 768: 101 MB
//           in fp32, 50 MB in bf16: 21.0 and 10.5 us on an H200 (4.8 TB/s).
//:omit
//           Two kernels move at least 5 s N C.
//:end
//:swap
// Kernels   1  two kernels: an add, then lab 2's warp per row. 7 s N C requested; the sum is read three times
//:stub
//: // Kernels   1  two kernels: an add, then lab 2's warp per row: yours, if you want to compare
//:end
//           3  fused, warp per row, one element at a time
//           4  fused, warp per row, 16 bytes at a time, the sum in registers; one template for all types
//:omit
//           5  fused, block per row, the sum in registers: for rows that are too long for a warp
//           6  speed of light: see speed_of_light/layernorm_forward.cuh
// What did not help
//           2  fused, thread per row; it loses to the two kernels
//:end
// Launchers residual_layernorm_forward_f32, _f16, _bf16, declared in common/ops/residual_layernorm_forward/contract.h
#include "common/cuda_check.h"
#include "common/ops/residual_layernorm_forward/contract.h"
#include "layernorm_vec.cuh"
#include "reduce.cuh"
//:omit
#include "speed_of_light/layernorm_forward.cuh"
//:end
#include "vec.cuh"

#include <cuda_runtime.h>
#include <math.h>

// The kernel that the launchers launch.
//:swap
constexpr int chosen_kernel = 6;
//:stub
//: constexpr int chosen_kernel = 0; // 0: not started. Set it to 3 when kernel 3 is written, then climb.
//:end
enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size, block_vecs = 4, most_threads = 1024 };

// sum may be x or residual and out may be x, so these are not __restrict__. Every element is read for the last time
// before it is written, by the thread that writes it.

// ---- kernels ----

//:omit
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

//:end
template <class T>
__global__ void residual_layernorm_forward_kernel3(T *out,                       // (N, C)
                                                   T *sum,                       // (N, C)
                                                   float *__restrict__ mean,     // (N)
                                                   float *__restrict__ rstd,     // (N)
                                                   const T *x,                   // (N, C)
                                                   const T *residual,            // (N, C)
                                                   const T *__restrict__ weight, // (C)
                                                   const T *__restrict__ bias,   // (C)
                                                   int N, int C, float eps) {
    //:todo 4a The add moves into the first pass of lab 2's warp per row.
    //: Goal      sum, out, mean and rstd by one launch; the sum is not read from memory by another kernel.
    //: Shapes    x, residual, sum, out (N, C); mean, rstd (N); weight, bias (C).
    //: Contract  mean and rstd are those of the ROUNDED sum, the tensor
    //:           that is written. sum may be x or residual, out may be x.
    //: Question  pass 2 reads what pass 1 has written. Which lane wrote it, and is a barrier needed?
    //: Known     to_float(value), from_float<T>(value).
    //:solution
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    size_t start = (size_t)n * C; // of this row, in each tensor
    float total = 0.0f;
    for (int c = lane; c < C; c += warp_size) {
        T value = from_float<T>(to_float(x[start + c]) + to_float(residual[start + c]));
        sum[start + c] = value;
        total += to_float(value);
    }
    float row_mean = warp_sum(total) / C;

    float squares = 0.0f;
    for (int c = lane; c < C; c += warp_size) {
        float distance = to_float(sum[start + c]) - row_mean;
        squares += distance * distance;
    }
    float row_rstd = rsqrtf(warp_sum(squares) / C + eps);

    for (int c = lane; c < C; c += warp_size) {
        float value = (to_float(sum[start + c]) - row_mean) * row_rstd;
        out[start + c] = from_float<T>(value * to_float(weight[c]) + to_float(bias[c]));
    }
    if (lane == 0) { mean[n] = row_mean, rstd[n] = row_rstd; }
    //:end
}

// VECS: of a row, in one lane. aligned: every row begins at a multiple of 16 bytes and ends with a whole vec. Then
// vec_load(from, count, aligned) is one access, else one for each element.
template <class T, int VECS>
__global__ void residual_layernorm_forward_kernel4(T *out,                       // (N, C)
                                                   T *sum,                       // (N, C)
                                                   float *__restrict__ mean,     // (N)
                                                   float *__restrict__ rstd,     // (N)
                                                   const T *x,                   // (N, C)
                                                   const T *residual,            // (N, C)
                                                   const T *__restrict__ weight, // (C)
                                                   const T *__restrict__ bias,   // (C)
                                                   int N, int C, float eps, bool aligned) {
    //:todo 5a The sum stays in registers.
    //: Goal      1.00 times the floor: two tensors read and two written, each once, 16 bytes at a time.
    //: Shapes    vec<T> row[VECS], a lane's part of the row; a vec exists if its first column is below C.
    //: Contract  that of 4a in every type, and for C that no vec divides. The sum is stored as soon as it is known.
    //: Question  the elements of a last vec behind the row are 0. Which of the sums must not count them?
    //: Given     layernorm_vec.cuh; vec_load and vec_store with (..., count, aligned).
    //:solution
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    size_t start = (size_t)n * C; // of this row, in each tensor
    constexpr int size = vec<T>::size, step = warp_size * size;
    int first = lane * size;
    vec<T> row[VECS];
    float total = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step, count = C - c;
        if (count <= 0) { continue; }
        row[k] = vec_add(vec_load(x + start + c, count, aligned), vec_load(residual + start + c, count, aligned));
        vec_store(sum + start + c, row[k], count, aligned);
        total += vec_sum(row[k]);
    }
    float row_mean = warp_sum(total) / C;

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int count = C - first - k * step;
        if (count > 0) { squares += vec_squares(row[k], row_mean, count); }
    }
    float row_rstd = rsqrtf(warp_sum(squares) / C + eps);

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step, count = C - c;
        if (count <= 0) { continue; }
        vec<T> w = vec_load(weight + c, count, aligned), b = vec_load(bias + c, count, aligned);
        vec_store(out + start + c, vec_normalise(row[k], row_mean, row_rstd, w, b), count, aligned);
    }
    if (lane == 0) { mean[n] = row_mean, rstd[n] = row_rstd; }
    //:end
}

//:omit
template <class T>
__global__ void residual_layernorm_forward_kernel5(T *out,                       // (N, C)
                                                   T *sum,                       // (N, C)
                                                   float *__restrict__ mean,     // (N)
                                                   float *__restrict__ rstd,     // (N)
                                                   const T *x,                   // (N, C)
                                                   const T *residual,            // (N, C)
                                                   const T *__restrict__ weight, // (C)
                                                   const T *__restrict__ bias,   // (C)
                                                   int C, float eps, bool aligned) {
    __shared__ float shared[warp_size];
    int first = threadIdx.x * vec<T>::size, step = blockDim.x * vec<T>::size;
    size_t n = blockIdx.x, start = n * C;
    vec<T> row[block_vecs];
    float total = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        int c = first + k * step, count = C - c;
        if (count <= 0) { continue; }
        row[k] = vec_add(vec_load(x + start + c, count, aligned), vec_load(residual + start + c, count, aligned));
        vec_store(sum + start + c, row[k], count, aligned);
        total += vec_sum(row[k]);
    }
    float row_mean = block_sum(total, shared) / C;

#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        int count = C - first - k * step;
        if (count > 0) { squares += vec_squares(row[k], row_mean, count); }
    }
    float row_rstd = rsqrtf(block_sum(squares, shared) / C + eps);

#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        int c = first + k * step, count = C - c;
        if (count <= 0) { continue; }
        vec<T> w = vec_load(weight + c, count, aligned), b = vec_load(bias + c, count, aligned);
        vec_store(out + start + c, vec_normalise(row[k], row_mean, row_rstd, w, b), count, aligned);
    }
    if (threadIdx.x == 0) { mean[n] = row_mean, rstd[n] = row_rstd; }
}

// ---- what did not help ----

// Fusion without coalescing: the sum is written once and read from the cache, but neighbouring threads access 4 C bytes
// apart. It loses to the two kernels.
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

//:end
// ---- launchers ----

// Launches kernel `rung`. A row that is too long for the registers of kernel 4 or 5 goes to kernel 3.
template <class T>
static int launch_rung(int rung, T *out, T *sum, float *mean, float *rstd, const T *x, const T *residual,
                       const T *weight, const T *bias, int N, int C, float eps, cudaStream_t stream) {
    CUDA_CHECK(check_rows(N, C, {out, sum, mean, rstd, x, residual, weight, bias}));
    if (rung == 0) { return cudaErrorNotSupported; } // "not started"
    //:swap
    if (rung < 0 || rung > 6) { return cudaErrorInvalidValue; }
    //:stub
    //: if (rung < 3 || rung > 4) { return cudaErrorInvalidValue; }
    //:end
    if (N == 0) { return cudaSuccess; }
    constexpr int threads = threads_per_block;
    bool aligned = rows_aligned<T>(C, {out, sum, x, residual, weight, bias});
    int warp_blocks = (N - 1) / warps_per_block + 1;     // a warp per row
    int vecs = (C - 1) / (warp_size * vec<T>::size) + 1; // of a lane
    //:omit
    int row_vecs = (C - 1) / vec<T>::size + 1;
    int block_threads = ((row_vecs - 1) / block_vecs / warp_size + 1) * warp_size;
    if (rung == 6) {
        return layernorm_forward_launch<T, residual_at::before>(
            {out, sum, mean, rstd, x, residual, weight, bias, N, C, eps}, stream);
    }
    if (rung == 5 && block_threads > most_threads) { rung = 3; }
    if (rung == 5) {
        residual_layernorm_forward_kernel5<<<N, block_threads, 0, stream>>>(out, sum, mean, rstd, x, residual, weight,
                                                                            bias, C, eps, aligned);
    }
    if (rung == 2) {
        residual_layernorm_forward_kernel2<<<(N - 1) / threads + 1, threads, 0, stream>>>(
            out, sum, mean, rstd, x, residual, weight, bias, N, C, eps);
    }
    if (rung == 1) {
        size_t count = (size_t)N * C;
        residual_layernorm_forward_kernel1_add<<<(unsigned)((count - 1) / threads + 1), threads, 0, stream>>>(
            sum, x, residual, count);
        residual_layernorm_forward_kernel1_normalise<<<warp_blocks, threads, 0, stream>>>(out, mean, rstd, sum, weight,
                                                                                          bias, N, C, eps);
    }
    //:end
    if (rung == 4 && vecs > 8) { rung = 3; }
    if (rung == 3) {
        residual_layernorm_forward_kernel3<<<warp_blocks, threads, 0, stream>>>(out, sum, mean, rstd, x, residual,
                                                                                weight, bias, N, C, eps);
    }
    if (rung == 4) {
        auto kernel = vecs <= 2   ? residual_layernorm_forward_kernel4<T, 2>
                      : vecs <= 4 ? residual_layernorm_forward_kernel4<T, 4>
                                  : residual_layernorm_forward_kernel4<T, 8>;
        kernel<<<warp_blocks, threads, 0, stream>>>(out, sum, mean, rstd, x, residual, weight, bias, N, C, eps,
                                                    aligned);
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                            \
    int name(T *out, T *sum, float *mean, float *rstd, const T *x, const T *residual, const T *weight, const T *bias, \
             int N, int C, float eps, cudaStream_t stream) {                                                          \
        return launch_rung(chosen_kernel, out, sum, mean, rstd, x, residual, weight, bias, N, C, eps, stream);        \
    }                                                                                                                 \
    extern "C" int name##_rung(int rung, T *out, T *sum, float *mean, float *rstd, const T *x, const T *residual,     \
                               const T *weight, const T *bias, int N, int C, float eps, cudaStream_t stream) {        \
        return launch_rung(rung ? rung : chosen_kernel, out, sum, mean, rstd, x, residual, weight, bias, N, C, eps,   \
                           stream);                                                                                   \
    }
LAUNCHERS(residual_layernorm_forward_f32, float)
LAUNCHERS(residual_layernorm_forward_f16, __half)
LAUNCHERS(residual_layernorm_forward_bf16, __nv_bfloat16)
