//:omit
// softmax_backward.cu — the gradient of softmax along rows (lab 3, to read)
//
// Purpose   Training needs the gradient of softmax's input from that of its output.
// Math      s = sum_c out[n][c] dout[n][c]      dx[n][c] = out[n][c] (dout[n][c] - s)      dx, dout, out: (N, C)
// Bytes     floor: read dout and out once, write dx once: 3 s N C, where an element has s bytes. 8192 x 1024: 100.7 MB in
//           fp32, 50.3 MB in bf16: 21.0 and 10.5 us on an H200 (4.8 TB/s). Kernels 1 and 2 request 5 s N C.
// Kernels   1  warp per row, one element at a time
//           2  warp per row, 16 bytes at a time
//           3  warp per row, both rows in registers: one read
//           4  block per row, both rows in registers: for rows that are too long for a warp
//           5  speed of light: see speed_of_light/softmax_backward.cuh
// Launchers softmax_backward_f32, _f16, _bf16, declared in common/ops/softmax_backward/contract.h
#include "common/cuda_check.h"
#include "common/ops/softmax_backward/contract.h"
#include "reduce.cuh"
#include "speed_of_light/softmax_backward.cuh"
#include "vec.cuh"

#include <cuda_runtime.h>

enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };
enum { block_vecs = 4, most_threads = 1024 }; // block per row: vecs of a thread; threads of a block, at most

// dx may be dout, so these two are not __restrict__. Every element of dout is read for the last time before dx is written
// there, by the thread that writes it.

template <class T>
__global__ void softmax_backward_kernel1(T *dx,                     // (N, C)
                                         const T *dout,             // (N, C)
                                         const T *__restrict__ out, // (N, C)
                                         int N, int C) {
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *dout_row = dout + (size_t)n * C, *out_row = out + (size_t)n * C; // (C)
    T *dx_row = dx + (size_t)n * C;                                           // (C)

    float dot = 0.0f;
    for (int c = lane; c < C; c += warp_size) { dot += to_float(out_row[c]) * to_float(dout_row[c]); }
    dot = warp_sum(dot);

    for (int c = lane; c < C; c += warp_size) {
        dx_row[c] = from_float<T>(to_float(out_row[c]) * (to_float(dout_row[c]) - dot));
    }
}

// ---- the two passes for the elements of one vec of each tensor; elements beyond the row are 0 ----

template <class T> __device__ inline float vec_dot(const vec<T> &dout, const vec<T> &out) {
    float d[vec<T>::size], y[vec<T>::size], sum = 0.0f;
    vec_unpack(dout, d);
    vec_unpack(out, y);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { sum += y[i] * d[i]; }
    return sum;
}

template <class T> __device__ inline vec<T> vec_gradient(const vec<T> &dout, const vec<T> &out, float dot) {
    float d[vec<T>::size], y[vec<T>::size];
    vec_unpack(dout, d);
    vec_unpack(out, y);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { d[i] = y[i] * (d[i] - dot); }
    vec<T> result;
    vec_pack(result, d);
    return result;
}

// aligned: every row of every tensor begins at a multiple of 16 bytes and ends with a whole vec.
template <class T>
__global__ void softmax_backward_kernel2(T *dx,                     // (N, C)
                                         const T *dout,             // (N, C)
                                         const T *__restrict__ out, // (N, C)
                                         int N, int C, bool aligned) {
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *dout_row = dout + (size_t)n * C, *out_row = out + (size_t)n * C; // (C)
    T *dx_row = dx + (size_t)n * C;                                           // (C)

    float dot = 0.0f;
    for (int c = lane * size; c < C; c += step) {
        dot += vec_dot(vec_load(dout_row + c, C - c, aligned), vec_load(out_row + c, C - c, aligned));
    }
    dot = warp_sum(dot);

    for (int c = lane * size; c < C; c += step) {
        vec<T> d = vec_load(dout_row + c, C - c, aligned), y = vec_load(out_row + c, C - c, aligned);
        vec_store(dx_row + c, vec_gradient(d, y, dot), C - c, aligned);
    }
}

// VECS: of a row of each tensor, in one lane.
template <class T, int VECS>
__global__ void softmax_backward_kernel3(T *dx,                     // (N, C)
                                         const T *dout,             // (N, C)
                                         const T *__restrict__ out, // (N, C)
                                         int N, int C, bool aligned) {
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size, first = lane * size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *dout_row = dout + (size_t)n * C, *out_row = out + (size_t)n * C; // (C)
    T *dx_row = dx + (size_t)n * C;                                           // (C)

    vec<T> d[VECS], y[VECS];
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (c >= C) { continue; }
        d[k] = vec_load(dout_row + c, C - c, aligned);
        y[k] = vec_load(out_row + c, C - c, aligned);
    }

    float dot = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (first + k * step < C) { dot += vec_dot(d[k], y[k]); }
    }
    dot = warp_sum(dot);

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (c < C) { vec_store(dx_row + c, vec_gradient(d[k], y[k], dot), C - c, aligned); }
    }
}

template <class T>
__global__ void softmax_backward_kernel4(T *dx,                     // (N, C)
                                         const T *dout,             // (N, C)
                                         const T *__restrict__ out, // (N, C)
                                         int C, bool aligned) {
    constexpr int size = vec<T>::size;
    __shared__ float shared[warp_size];
    int first = threadIdx.x * size, step = blockDim.x * size;
    size_t row = (size_t)blockIdx.x * C;
    const T *dout_row = dout + row, *out_row = out + row; // (C)
    T *dx_row = dx + row;                                 // (C)

    vec<T> d[block_vecs], y[block_vecs];
#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        int c = first + k * step;
        if (c >= C) { continue; }
        d[k] = vec_load(dout_row + c, C - c, aligned);
        y[k] = vec_load(out_row + c, C - c, aligned);
    }

    float dot = 0.0f;
#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        if (first + k * step < C) { dot += vec_dot(d[k], y[k]); }
    }
    dot = block_sum(dot, shared);

#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        int c = first + k * step;
        if (c < C) { vec_store(dx_row + c, vec_gradient(d[k], y[k], dot), C - c, aligned); }
    }
}

// ---- launchers ----

// A row that is too long for the registers of a kernel goes to kernel 2.
template <class T>
static int launch_rung(int rung, T *dx, const T *dout, const T *out, int N, int C, cudaStream_t stream) {
    CUDA_CHECK(check_rows(N, C, {dx, dout, out}));
    if (rung < 0 || rung > 5) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (rung == 0 || rung == 5) { return softmax_backward_speed_of_light(dx, dout, out, N, C, stream); }
    bool aligned = rows_aligned<T>(C, {dx, dout, out});
    int vecs = (C - 1) / vec<T>::size + 1, lane_vecs = (vecs - 1) / warp_size + 1;
    int warp_blocks = (N - 1) / warps_per_block + 1; // a warp per row
    int threads = ((vecs - 1) / (block_vecs * warp_size) + 1) * warp_size;
    if (rung == 1) {
        softmax_backward_kernel1<<<warp_blocks, threads_per_block, 0, stream>>>(dx, dout, out, N, C);
    } else if (rung == 4 && threads <= most_threads) {
        softmax_backward_kernel4<<<N, threads, 0, stream>>>(dx, dout, out, C, aligned);
    } else {
        auto kernel = softmax_backward_kernel2<T>;
        if (rung == 3 && lane_vecs <= 8) {
            kernel = lane_vecs <= 2   ? softmax_backward_kernel3<T, 2>
                     : lane_vecs <= 4 ? softmax_backward_kernel3<T, 4>
                                      : softmax_backward_kernel3<T, 8>;
        }
        kernel<<<warp_blocks, threads_per_block, 0, stream>>>(dx, dout, out, N, C, aligned);
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                        \
    int name(T *dx, const T *dout, const T *out, int N, int C, cudaStream_t stream) {                             \
        return launch_rung(0, dx, dout, out, N, C, stream);                                                       \
    }                                                                                                             \
    extern "C" int name##_rung(int rung, T *dx, const T *dout, const T *out, int N, int C, cudaStream_t stream) { \
        return launch_rung(rung, dx, dout, out, N, C, stream);                                                    \
    }
LAUNCHERS(softmax_backward_f32, float)
LAUNCHERS(softmax_backward_f16, __half)
LAUNCHERS(softmax_backward_bf16, __nv_bfloat16)
//:end
