// bias_gelu_backward.cuh — the gradients of bias and GELU at speed of light: one pass, dbias summed in registers
#ifndef SPEED_OF_LIGHT_BIAS_GELU_BACKWARD_CUH
#define SPEED_OF_LIGHT_BIAS_GELU_BACKWARD_CUH

#include "gelu.cuh"
#include "rows.cuh"
#include "scratch.cuh"

template <class T, int width, int rows>
__device__ inline void load_rows(vec_of<T, width> (&to)[rows], const T *from, int n, int N, int C) {
#pragma unroll
    for (int r = 0; r < rows; r++) {
        if (n + r < N) { to[r].load(from + (size_t)r * C); }
    }
}

// A sum over hundreds of rows loses digits that shorter sums keep: `recent` sums a few rows before they go to `sum`.
constexpr int few_rows = 16;
template <int width> __device__ inline void add_recent(float (&sum)[width], float (&recent)[width]) {
#pragma unroll
    for (int i = 0; i < width; i++) {
        sum[i] += recent[i];
        recent[i] = 0.0f;
    }
}

// Stage 1. A block is `lanes` x `height` threads: thread (x, y) has one vec of columns and walks down every
// (parts * height)-th row, `rows` rows at a time with the next ones in flight. dx may be dout.
template <class T, int width, int lanes, int height, int rows>
__global__ void __launch_bounds__(lanes *height)
    bias_gelu_backward_rows_kernel(T *dx,                       // (N, C)
                                   float *__restrict__ partial, // (parts, C)
                                   const T *dout,               // (N, C)
                                   const T *__restrict__ x,     // (N, C)
                                   const T *__restrict__ bias,  // (C)
                                   int N, int C, int parts) {
    let_next_kernel_start();
    __shared__ float sums[height][lanes * width];
    int lane = threadIdx.x % lanes, y = threadIdx.x / lanes, part = blockIdx.x % parts;
    int c = (blockIdx.x / parts * lanes + lane) * width, n = (part * height + y) * rows, step = parts * height * rows;
    if (starts_early && c < C) {
        for (int r = 0; r < rows && n + r < N; r++) {
            prefetch_l2(x + (size_t)(n + r) * C + c);
            prefetch_l2(dout + (size_t)(n + r) * C + c);
        }
    }
    wait_for_previous_kernel();
    float b[width], sum[width] = {}, recent[width] = {};
    if (c < C) {
        vec_of<T, width> b_vec;
        b_vec.load(bias + c);
        b_vec.unpack(b);
        vec_of<T, width> d_vec[rows], x_vec[rows], d_next[rows], x_next[rows];
        size_t at = (size_t)n * C + c;
        load_rows<T, width, rows>(x_vec, x + at, n, N, C);
        load_rows<T, width, rows>(d_vec, dout + at, n, N, C);
        for (int round = 1; n < N; n += step, round++) {
            size_t at_next = at + (size_t)step * C;
            load_rows<T, width, rows>(x_next, x + at_next, n + step, N, C);
            load_rows<T, width, rows>(d_next, dout + at_next, n + step, N, C);
#pragma unroll
            for (int r = 0; r < rows; r++) {
                if (n + r < N) {
                    float d[width], v[width];
                    x_vec[r].unpack(v);
                    d_vec[r].unpack(d);
#pragma unroll
                    for (int i = 0; i < width; i++) {
                        d[i] *= gelu_slope<T>(v[i] + b[i]);
                        recent[i] += d[i];
                    }
                    d_vec[r].pack(d);
                    d_vec[r].store(dx + at + (size_t)r * C);
                }
            }
#pragma unroll
            for (int r = 0; r < rows; r++) { x_vec[r] = x_next[r], d_vec[r] = d_next[r]; }
            at = at_next;
            if (round % few_rows == 0) { add_recent(sum, recent); }
        }
    }
    add_recent(sum, recent);
    for (int i = 0; i < width; i++) { sums[y][i * lanes + lane] = sum[i]; }
    __syncthreads();
    for (int j = threadIdx.x; j < lanes * width; j += lanes * height) { // column j of the block
        int column = blockIdx.x / parts * lanes * width + j, at = j % width * lanes + j / width;
        float total = 0.0f;
        for (int row = 0; row < height; row++) { total += sums[row][at]; }
        if (column < C) { partial[(size_t)part * C + column] = total; }
    }
}

// Stage 2. The lanes of a warp are neighbouring columns, and each warp of a block adds some of the parts. The order of the
// sums is fixed.
constexpr int finish_warps = 8, in_flight = 8;
static __global__ void __launch_bounds__(finish_warps *warp_size)
    bias_gelu_backward_finish_kernel(float *__restrict__ dbias,         // (C), accumulated
                                     const float *__restrict__ partial, // (parts, C)
                                     int parts, int C) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    __shared__ float sums[finish_warps][warp_size];
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, c = blockIdx.x * warp_size + lane;
    float sum = 0.0f;
    if (c < C) {
        for (int first = warp; first < parts; first += in_flight * finish_warps) {
            float value[in_flight];
#pragma unroll
            for (int i = 0; i < in_flight; i++) { // all loads are in flight before the first addition
                int part = first + i * finish_warps;
                value[i] = part < parts ? partial[(size_t)part * C + c] : 0.0f;
            }
#pragma unroll
            for (int i = 0; i < in_flight; i++) { sum += value[i]; }
        }
    }
    sums[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || c >= C) { return; }
    sum = 0.0f;
    for (int w = 0; w < finish_warps; w++) { sum += sums[w][lane]; }
    dbias[c] += sum;
}

// blocks_each: blocks of a multiprocessor.
template <class T, int lanes, int height, int rows, int blocks_each, int width>
int bias_gelu_backward_rows(T *dx, float *dbias, const T *dout, const T *x, const T *bias, int N, int C,
                            cudaStream_t stream) {
    int column_blocks = (C + lanes * width - 1) / (lanes * width);
    int most_parts = (N + height * rows - 1) / (height * rows);
    int parts = (multiprocessor_count() * blocks_each) / column_blocks;
    parts = parts < 1 ? 1 : parts > most_parts ? most_parts : parts;
    scratch partial; // (parts, C)
    cudaError_t error = take_scratch(&partial, (size_t)parts * C * sizeof(float), stream);
    if (error != cudaSuccess) { return error; }
    int status = launch({(unsigned)(column_blocks * parts), lanes * height, stream},
                        bias_gelu_backward_rows_kernel<T, width, lanes, height, rows>, dx, partial.memory, dout, x,
                        bias, N, C, parts);
    if (status == cudaSuccess) {
        status = launch({(unsigned)((C + warp_size - 1) / warp_size), finish_warps * warp_size, stream},
                        bias_gelu_backward_finish_kernel, dbias, (const float *)partial.memory, parts, C);
    }
    error = return_scratch(partial, stream);
    return status != cudaSuccess ? status : error;
}
#endif
