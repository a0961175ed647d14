//:omit
// layernorm_one_pass.cuh — the backward pass of LayerNorm in one pass over its rows, to read; three files use it
//
// Math      xhat = (x - mean) * rstd      g = dout * weight                                    per row n, column c
//           dinp = rstd * (g - mean_c(g) - xhat * mean_c(g * xhat)) [+ dsum]                   along the row
//           dweight[c] += sum_n dout * xhat      dbias[c] += sum_n dout                        down the columns
// Idea      A group of threads (a warp, or a block) loads a row into registers, finishes it, and loads another one. A thread
//           has the same columns in every row, so it keeps their sums in registers. At the end each group writes a row of
//           partial sums, and a second kernel adds these rows in a fixed order.
//
//   one_pass_warps    a warp has a row. Every warp writes partial sums, or (COMBINE) the warps of a block add theirs first,
//                     in shared memory
//   one_pass_blocks   a block has a row: for rows that are too long for a warp
//   one_pass_finish   the second stage
//   one_pass_launch   launches both; cudaErrorNotSupported for a row that is too long for the registers
#ifndef LAYERNORM_ONE_PASS_CUH
#define LAYERNORM_ONE_PASS_CUH

#include "common/cuda_check.h"
#include "layernorm_vec.cuh"
#include "reduce.cuh"

enum { one_pass_warps_per_block = 8, one_pass_block_vecs = 4, one_pass_most_threads = 512 };

// A thread's columns: of one row, and summed over all its rows. RESIDUAL: dsum is added to dinp.
template <class T, bool RESIDUAL, int VECS> struct one_pass_thread {
    static constexpr int size = vec<T>::size;
    int first, step, C; // the thread's columns: first, first + step, ...
    bool aligned;
    vec<T> x[VECS], dout[VECS];
    float dweight[VECS][size], dbias[VECS][size];

    __device__ one_pass_thread(int first, int step, int C, bool aligned)
        : first(first), step(step), C(C), aligned(aligned), dweight(), dbias() {}

    // Reads the row; returns this thread's part of the sums of g and of g * xhat.
    __device__ float2 read(const T *x_row, const T *dout_row, const T *weight, float mean, float rstd) {
        float2 sums = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            int c = first + k * step;
            if (c >= C) { continue; }
            x[k] = vec_load(x_row + c, C - c, aligned);
            dout[k] = vec_load(dout_row + c, C - c, aligned);
            float values[size], d[size], w[size];
            vec_unpack(x[k], values);
            vec_unpack(dout[k], d); // 0 beyond the row: it changes no sum
            vec_unpack(vec_load(weight + c, C - c, aligned), w);
#pragma unroll
            for (int i = 0; i < size; i++) {
                float xhat = (values[i] - mean) * rstd, g = d[i] * w[i];
                sums.x += g;
                sums.y += g * xhat;
                dweight[k][i] += d[i] * xhat;
                dbias[k][i] += d[i];
            }
        }
        return sums;
    }

    __device__ void write(T *dinp_row, const T *dsum_row, const T *weight, float mean, float rstd, float g_mean,
                          float g_xhat_mean) const {
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            int c = first + k * step;
            if (c >= C) { continue; }
            float values[size], d[size], w[size], r[size];
            vec_unpack(x[k], values);
            vec_unpack(dout[k], d);
            vec_unpack(vec_load(weight + c, C - c, aligned), w);
            if (RESIDUAL) { vec_unpack(vec_load(dsum_row + c, C - c, aligned), r); }
#pragma unroll
            for (int i = 0; i < size; i++) {
                float xhat = (values[i] - mean) * rstd;
                values[i] = rstd * (d[i] * w[i] - g_mean - xhat * g_xhat_mean);
                if (RESIDUAL) { values[i] += r[i]; }
            }
            vec<T> result;
            vec_pack(result, values);
            vec_store(dinp_row + c, result, C - c, aligned);
        }
    }

    // to: (2, C), in global or shared memory
    __device__ void write_sums(float *to) const {
#pragma unroll
        for (int k = 0; k < VECS; k++) {
#pragma unroll
            for (int i = 0; i < size; i++) {
                int c = first + k * step + i;
                if (c < C) { to[c] = dweight[k][i], to[C + c] = dbias[k][i]; }
            }
        }
    }
};

// Not __restrict__: dinp may be dout or dsum. Every element is read for the last time before it is written, by the
// thread that writes it. COMBINE needs dynamic shared memory for (warps, 2, C) floats.
template <class T, bool RESIDUAL, int VECS, bool COMBINE>
__global__ void __launch_bounds__(one_pass_warps_per_block *warp_size)
    one_pass_warps(T *dinp,                        // (N, C)
                   float *__restrict__ partial,    // (parts, 2, C), a part of each warp, or block
                   const T *dout,                  // (N, C)
                   const T *dsum,                  // (N, C) if RESIDUAL
                   const T *x,                     // (N, C)
                   const T *__restrict__ weight,   // (C)
                   const float *__restrict__ mean, // (N)
                   const float *__restrict__ rstd, // (N)
                   int N, int C, bool aligned) {
    extern __shared__ float shared[];
    constexpr int warps = one_pass_warps_per_block;
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, number = blockIdx.x * warps + warp;
    one_pass_thread<T, RESIDUAL, VECS> mine(lane * vec<T>::size, warp_size * vec<T>::size, C, aligned);
    for (long long n = number; n < N; n += (long long)gridDim.x * warps) {
        size_t row = (size_t)n * C;
        float2 sums = mine.read(x + row, dout + row, weight, mean[n], rstd[n]);
        float g_mean = warp_sum(sums.x) / C, g_xhat_mean = warp_sum(sums.y) / C;
        mine.write(dinp + row, RESIDUAL ? dsum + row : nullptr, weight, mean[n], rstd[n], g_mean, g_xhat_mean);
    }
    if (!COMBINE) {
        mine.write_sums(partial + (size_t)number * 2 * C);
        return;
    }
    mine.write_sums(shared + warp * 2 * C);
    __syncthreads();
    for (int c = threadIdx.x; c < 2 * C; c += blockDim.x) {
        float sum = 0.0f;
        for (int other = 0; other < warps; other++) { sum += shared[other * 2 * C + c]; }
        partial[(size_t)blockIdx.x * 2 * C + c] = sum;
    }
}

template <class T, bool RESIDUAL>
__global__ void __launch_bounds__(one_pass_most_threads)
    one_pass_blocks(T *dinp,                        // (N, C)
                    float *__restrict__ partial,    // (gridDim.x, 2, C)
                    const T *dout,                  // (N, C)
                    const T *dsum,                  // (N, C) if RESIDUAL
                    const T *x,                     // (N, C)
                    const T *__restrict__ weight,   // (C)
                    const float *__restrict__ mean, // (N)
                    const float *__restrict__ rstd, // (N)
                    int N, int C, bool aligned) {
    __shared__ float shared[2 * warp_size];
    one_pass_thread<T, RESIDUAL, one_pass_block_vecs> mine(threadIdx.x * vec<T>::size, blockDim.x * vec<T>::size, C,
                                                           aligned);
    for (long long n = blockIdx.x; n < N; n += gridDim.x) {
        size_t row = (size_t)n * C;
        float2 sums = block_sum2(mine.read(x + row, dout + row, weight, mean[n], rstd[n]), shared);
        mine.write(dinp + row, RESIDUAL ? dsum + row : nullptr, weight, mean[n], rstd[n], sums.x / C, sums.y / C);
    }
    mine.write_sums(partial + (size_t)blockIdx.x * 2 * C);
}

// One thread per column of (dweight, dbias) adds the parts in their order.
static __global__ void one_pass_finish(float *__restrict__ dweight,       // (C)
                                       float *__restrict__ dbias,         // (C)
                                       const float *__restrict__ partial, // (parts, 2, C)
                                       int parts, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= 2 * C) { return; }
    float sum = 0.0f;
#pragma unroll 8
    for (int part = 0; part < parts; part++) { sum += partial[(size_t)part * 2 * C + c]; }
    if (c < C) {
        dweight[c] += sum;
    } else {
        dbias[c - C] += sum;
    }
}

// ---- the launcher ----

enum one_pass_form { ONE_PASS_WARPS, ONE_PASS_COMBINED, ONE_PASS_BLOCKS };

template <class T, bool RESIDUAL>
int one_pass_launch(one_pass_form form, T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum, const T *x,
                    const T *weight, const float *mean, const float *rstd, int N, int C, cudaStream_t stream) {
    bool aligned = rows_aligned<T>(C, {dinp, dout, dsum, x, weight});
    int vecs = (C + vec<T>::size - 1) / vec<T>::size, lane_vecs = (vecs + warp_size - 1) / warp_size;
    int warps = one_pass_warps_per_block, threads = warps * warp_size, device = 0, blocks = 1;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount,
                                      device)); // one for each multiprocessor: few parts
    bool combine = form == ONE_PASS_COMBINED;
    auto kernel = combine ? one_pass_warps<T, RESIDUAL, 4, true> : one_pass_warps<T, RESIDUAL, 4, false>;
    if (lane_vecs > 4) {
        kernel = combine ? one_pass_warps<T, RESIDUAL, 8, true> : one_pass_warps<T, RESIDUAL, 8, false>;
    }
    if (form == ONE_PASS_BLOCKS) {
        kernel = one_pass_blocks<T, RESIDUAL>;
        threads = ((vecs + one_pass_block_vecs - 1) / one_pass_block_vecs + warp_size - 1) / warp_size * warp_size;
    }
    size_t shared = combine ? (size_t)warps * 2 * C * sizeof(float) : 0;
    if (form == ONE_PASS_BLOCKS ? threads > one_pass_most_threads : lane_vecs > 8) { return cudaErrorNotSupported; }
    if (shared > 48 * 1024) { // more than a kernel has by default
        int most = 0;
        CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
        if (shared > (size_t)most) { return cudaErrorNotSupported; }
        CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    }
    int parts = form == ONE_PASS_WARPS ? blocks * warps : blocks;
    float *partial; // (parts, 2, C)
    CUDA_CHECK(cudaMallocAsync((void **)&partial, (size_t)parts * 2 * C * sizeof(float), stream));
    kernel<<<blocks, threads, shared, stream>>>(dinp, partial, dout, dsum, x, weight, mean, rstd, N, C, aligned);
    one_pass_finish<<<(2 * C + 127) / 128, 128, 0, stream>>>(dweight, dbias, partial, parts, C);
    cudaError_t launched = cudaGetLastError();
    CUDA_CHECK(cudaFreeAsync(partial, stream));
    return launched;
}

#endif
//:end
