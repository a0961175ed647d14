// bias_backward.cu — the gradient of a bias (bias_backward.cuh)
//
// Purpose   A bias is added to every row, so its gradient is the sum of the rows of the output's gradient.
// Math      dbias[c] += sum_n dout[n][c]
// Bytes     dout once: s N C for elements of s bytes. 16384 x 768 in bf16: 25 MB, 6 us on an H200 at 4.2 TB/s, the speed of a
//           copy; 2304 columns: 18 us. Less where the L2 still holds dout. The partial sums are 8 P C bytes for P parts, in the
//           L2.
// Kernels   1  A lane reads 16 bytes of a row, a warp 512, then of the row gridDim.y * 8 further down. 8 loads are in flight at
//              once. The block adds the sums of its warps in shared memory and writes one part. With 128 parts 768 columns make
//              384 blocks. Where rows are no multiples of 16 bytes a lane reads one element.
//           2  A warp adds 32 neighbouring columns of every 8th part; the block adds the sums of its warps in shared memory.
//           Without atomics, so the order of the sums is fixed.
#include "gpt2/model/bias_backward.cuh"

#include "gpt2/model/vec16.cuh"

#include <algorithm>
#include <type_traits>

enum { warp_size = 32, warps = 8, threads_per_block = warps * warp_size };

template <class T> __device__ inline void load(vec16<T> &to, const T *from) {
    to = vec16_load(from);
}
template <class T> __device__ inline void load(T &to, const T *from) {
    to = *from;
}
template <class T> __device__ inline void unpack(float (&values)[1], T from) {
    values[0] = to_float(from);
}

// width: the elements of 16 bytes, or 1. The launch bound of 4 blocks allows a thread 64 registers. Without it nvcc chooses 32
// for sm_90, and then loads one row after the other.
template <class T, int width>
__global__ void __launch_bounds__(threads_per_block, 4)
    bias_parts_kernel(float *__restrict__ partial, // (parts, C), parts = gridDim.y
                      const T *__restrict__ dout,  // (N, C)
                      int N, int C) {
    constexpr int across = warp_size * width, ahead = 8; // columns of a block; loads of a thread in flight
    __shared__ float shared[warps][across];
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, step = gridDim.y * warps;
    const int first = blockIdx.x * across, c = first + lane * width;
    float sums[width] = {};
    for (int n = blockIdx.y * warps + warp; n < N && c < C; n += ahead * step) {
        std::conditional_t<width == 1, T, vec16<T>> read[ahead];
#pragma unroll
        for (int i = 0; i < ahead; i++) { load(read[i], dout + (size_t)min(n + i * step, N - 1) * C + c); }
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            float values[width];
            unpack(values, read[i]);
            for (int e = 0; e < width; e++) { sums[e] += n + i * step < N ? values[e] : 0.0f; }
        }
    }
    for (int e = 0; e < width; e++) { shared[warp][lane * width + e] = sums[e]; }
    __syncthreads();
    for (int i = threadIdx.x; i < across && first + i < C; i += threads_per_block) {
        float sum = 0.0f;
        for (int w = 0; w < warps; w++) { sum += shared[w][i]; }
        partial[(size_t)blockIdx.y * C + first + i] = sum;
    }
}

__global__ void bias_finish_kernel(float *__restrict__ dbias,         // (C)
                                   const float *__restrict__ partial, // (parts, C)
                                   int parts, int C) {
    __shared__ float shared[warps][warp_size];
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, c = blockIdx.x * warp_size + lane;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < bias_most_parts / warps; i++) { // all loads before the first add
        const int part = i * warps + warp;
        sum += part < parts && c < C ? partial[(size_t)part * C + c] : 0.0f;
    }
    shared[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || c >= C) { return; }
    sum = 0.0f;
    for (int w = 0; w < warps; w++) { sum += shared[w][lane]; }
    dbias[c] += sum;
}

template <class T> int bias_backward(gpt2_device &device, float *dbias, float *partial, const T *dout, int N, int C) {
    constexpr int size = vec16<T>::size;
    const int parts = std::min((N + warps - 1) / warps, (int)bias_most_parts);
    if (C % size == 0 && (size_t)dout % 16 == 0) {
        const dim3 grid(blocks_of(C / size, warp_size), (unsigned)parts);
        bias_parts_kernel<T, size><<<grid, threads_per_block, 0, device.stream>>>(partial, dout, N, C);
    } else {
        const dim3 grid(blocks_of(C, warp_size), (unsigned)parts);
        bias_parts_kernel<T, 1><<<grid, threads_per_block, 0, device.stream>>>(partial, dout, N, C);
    }
    TRY(cudaGetLastError());
    bias_finish_kernel<<<blocks_of(C, warp_size), threads_per_block, 0, device.stream>>>(dbias, partial, parts, C);
    return cudaGetLastError();
}

#define INSTANTIATE(T) template int bias_backward(gpt2_device &, float *, float *, const T *, int, int);
FOR_EACH_TYPE(INSTANTIATE)
