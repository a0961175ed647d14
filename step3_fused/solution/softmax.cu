//:omit
// softmax.cu — softmax along rows, from lab 2's best kernel to the byte floor (lab 3, to read)
//
// Purpose   The op of labs 1 and 2 in three types, for rows of any length, and as fast as the memory allows.
// Math      m = max_c x[n][c]      out[n][c] = exp(x[n][c] - m) / sum_k exp(x[n][k] - m)      out, x: (N, C)
// Bytes     floor: read x once, write out once: 2 s N C, where an element has s bytes. 8192 x 1024: 67.1 MB in fp32,
//           33.6 MB in bf16: 14.0 and 7.0 us on an H200 (4.8 TB/s). Kernels 1 and 2 request 4 s N C, kernel 6 3 s N C.
// Kernels   1  warp per row, one element at a time: lab 2's best
//           2  warp per row, 16 bytes at a time: the same bytes by a quarter or an eighth of the instructions
//           3  warp per row, the row in registers: one read, all its accesses in flight at once
//           4  block per row, the row in registers: for rows that are too long for a warp
//           5  speed of light: see speed_of_light/softmax.cuh
// What did not help
//           6  kernel 2 with online softmax: two reads of x in place of three
// Launchers softmax_forward_f32, _f16, _bf16, declared in common/ops/softmax_forward/contract.h
#include "common/cuda_check.h"
#include "common/ops/softmax_forward/contract.h"
#include "reduce.cuh"
#include "speed_of_light/softmax.cuh"
#include "vec.cuh"

#include <cuda_runtime.h>
#include <float.h>
#include <math.h>

enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };
enum { block_vecs = 4, most_threads = 1024 }; // block per row: vecs of a thread; threads of a block, at most

// out may be x, so these pointers are not __restrict__. Every element is read for the last time before it is written, by
// the thread that writes it.

template <class T>
__global__ void softmax_forward_kernel1(T *out,     // (N, C)
                                        const T *x, // (N, C)
                                        int N, int C) {
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *x_row = x + (size_t)n * C; // (C)
    T *out_row = out + (size_t)n * C;   // (C)

    float largest = -INFINITY;
    for (int c = lane; c < C; c += warp_size) { largest = fmaxf(largest, to_float(x_row[c])); }
    largest = warp_max(largest);

    float sum = 0.0f;
    for (int c = lane; c < C; c += warp_size) { sum += expf(to_float(x_row[c]) - largest); }
    sum = warp_sum(sum);

    for (int c = lane; c < C; c += warp_size) { out_row[c] = from_float<T>(expf(to_float(x_row[c]) - largest) / sum); }
}

// ---- the three passes for the elements of one vec; `count` of them belong to the row ----

template <class T> __device__ inline float vec_max(const vec<T> &v, int count, float largest) {
    float values[vec<T>::size];
    vec_unpack(v, values);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) {
        if (i < count) { largest = fmaxf(largest, values[i]); }
    }
    return largest;
}

template <class T> __device__ inline float vec_exp_sum(const vec<T> &v, int count, float largest) {
    float values[vec<T>::size], sum = 0.0f;
    vec_unpack(v, values);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) {
        if (i < count) { sum += expf(values[i] - largest); }
    }
    return sum;
}

template <class T> __device__ inline vec<T> vec_softmax(const vec<T> &v, float largest, float sum) {
    float values[vec<T>::size];
    vec_unpack(v, values);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { values[i] = expf(values[i] - largest) / sum; }
    vec<T> result;
    vec_pack(result, values);
    return result;
}

// aligned: every row of both tensors begins at a multiple of 16 bytes and ends with a whole vec.
template <class T>
__global__ void softmax_forward_kernel2(T *out,     // (N, C)
                                        const T *x, // (N, C)
                                        int N, int C, bool aligned) {
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *x_row = x + (size_t)n * C; // (C)
    T *out_row = out + (size_t)n * C;   // (C)

    float largest = -INFINITY;
    for (int c = lane * size; c < C; c += step) {
        largest = vec_max(vec_load(x_row + c, C - c, aligned), C - c, largest);
    }
    largest = warp_max(largest);

    float sum = 0.0f;
    for (int c = lane * size; c < C; c += step) {
        sum += vec_exp_sum(vec_load(x_row + c, C - c, aligned), C - c, largest);
    }
    sum = warp_sum(sum);

    for (int c = lane * size; c < C; c += step) {
        vec_store(out_row + c, vec_softmax(vec_load(x_row + c, C - c, aligned), largest, sum), C - c, aligned);
    }
}

// VECS: of a row, in one lane. The loops over them are unrolled, since registers cannot be indexed.
template <class T, int VECS>
__global__ void softmax_forward_kernel3(T *out,     // (N, C)
                                        const T *x, // (N, C)
                                        int N, int C, bool aligned) {
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size, first = lane * size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *x_row = x + (size_t)n * C; // (C)
    T *out_row = out + (size_t)n * C;   // (C)

    vec<T> row[VECS];
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (c < C) { row[k] = vec_load(x_row + c, C - c, aligned); }
    }

    float largest = -INFINITY;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (first + k * step < C) { largest = vec_max(row[k], C - first - k * step, largest); }
    }
    largest = warp_max(largest);

    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (first + k * step < C) { sum += vec_exp_sum(row[k], C - first - k * step, largest); }
    }
    sum = warp_sum(sum);

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (c < C) { vec_store(out_row + c, vec_softmax(row[k], largest, sum), C - c, aligned); }
    }
}

template <class T>
__global__ void softmax_forward_kernel4(T *out,     // (N, C)
                                        const T *x, // (N, C)
                                        int C, bool aligned) {
    constexpr int size = vec<T>::size;
    __shared__ float shared[warp_size];
    int first = threadIdx.x * size, step = blockDim.x * size;
    const T *x_row = x + (size_t)blockIdx.x * C; // (C)
    T *out_row = out + (size_t)blockIdx.x * C;   // (C)

    vec<T> row[block_vecs];
#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        int c = first + k * step;
        if (c < C) { row[k] = vec_load(x_row + c, C - c, aligned); }
    }

    float largest = -INFINITY;
#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        if (first + k * step < C) { largest = vec_max(row[k], C - first - k * step, largest); }
    }
    largest = block_max(largest, shared);

    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        if (first + k * step < C) { sum += vec_exp_sum(row[k], C - first - k * step, largest); }
    }
    sum = block_sum(sum, shared);

#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        int c = first + k * step;
        if (c < C) { vec_store(out_row + c, vec_softmax(row[k], largest, sum), C - c, aligned); }
    }
}

// ---- what did not help ----

// Online softmax: kernel 2 with two reads of x in place of three. Kernel 3 reads x once; and a pass over registers costs next
// to nothing, while here each element costs two exponentials.
template <class T>
__global__ void softmax_forward_kernel6(T *out,     // (N, C)
                                        const T *x, // (N, C)
                                        int N, int C, bool aligned) {
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *x_row = x + (size_t)n * C; // (C)
    T *out_row = out + (size_t)n * C;   // (C)

    softmax_part part = {-FLT_MAX, 0.0f};
    for (int c = lane * size; c < C; c += step) {
        float values[size];
        vec_unpack(vec_load(x_row + c, C - c, aligned), values);
#pragma unroll
        for (int i = 0; i < size; i++) {
            if (c + i < C) { part = softmax_merge<float>(part, {values[i], 1.0f}); }
        }
    }
    part = warp_softmax_merge<float>(part, warp_size);

    for (int c = lane * size; c < C; c += step) {
        vec<T> v = vec_load(x_row + c, C - c, aligned);
        vec_store(out_row + c, vec_softmax(v, part.largest, part.sum), C - c, aligned);
    }
}

// ---- launchers ----

// A row that is too long for the registers of a kernel goes to kernel 2.
template <class T> static int launch_rung(int rung, T *out, const T *x, int N, int C, cudaStream_t stream) {
    CUDA_CHECK(check_rows(N, C, {out, x}));
    if (rung < 0 || rung > 6) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (rung == 0 || rung == 5) { return softmax_speed_of_light(out, x, N, C, stream); }
    bool aligned = rows_aligned<T>(C, {out, x});
    int vecs = (C - 1) / vec<T>::size + 1, lane_vecs = (vecs - 1) / warp_size + 1;
    int warp_blocks = (N - 1) / warps_per_block + 1; // a warp per row
    int threads = ((vecs - 1) / (block_vecs * warp_size) + 1) * warp_size;
    if (rung == 1) {
        softmax_forward_kernel1<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, N, C);
    } else if (rung == 4 && threads <= most_threads) {
        softmax_forward_kernel4<<<N, threads, 0, stream>>>(out, x, C, aligned);
    } else {
        auto kernel = rung == 6 ? softmax_forward_kernel6<T> : softmax_forward_kernel2<T>;
        if (rung == 3 && lane_vecs <= 8) {
            kernel = lane_vecs <= 2   ? softmax_forward_kernel3<T, 2>
                     : lane_vecs <= 4 ? softmax_forward_kernel3<T, 4>
                                      : softmax_forward_kernel3<T, 8>;
        }
        kernel<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, N, C, aligned);
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                        \
    int name(T *out, const T *x, int N, int C, cudaStream_t stream) {                             \
        return launch_rung(0, out, x, N, C, stream);                                              \
    }                                                                                             \
    extern "C" int name##_rung(int rung, T *out, const T *x, int N, int C, cudaStream_t stream) { \
        return launch_rung(rung, out, x, N, C, stream);                                           \
    }
LAUNCHERS(softmax_forward_f32, float)
LAUNCHERS(softmax_forward_f16, __half)
LAUNCHERS(softmax_forward_bf16, __nv_bfloat16)
//:end
