// layernorm_two_directions.cuh — lab 2's best backward pass of LayerNorm, for any type: the starting point of lab 3
//
// Two directions, two kernels: dweight and dbias down the columns, in two stages; dinp along the rows. No atomics: the same
// bits in every run. x and dout are read more than once and one element at a time, which works for any pointer and any row
// length. So lab 3's faster kernels fall back to it.
#ifndef LAYERNORM_TWO_DIRECTIONS_CUH
#define LAYERNORM_TWO_DIRECTIONS_CUH

#include "common/cuda_check.h"
#include "reduce.cuh"
#include "vec.cuh"

// Stage 1: a block takes 32 neighbouring columns and every gridDim.y-th group of `two_directions_rows` rows. A warp is
// one row of the block. The sums of the block's rows are added in shared memory, in a fixed order.
enum { two_directions_rows = 8, two_directions_most_parts = 64, two_directions_threads = 128 };

template <class T>
__global__ void two_directions_columns(float *__restrict__ partial,    // (2, parts, C), parts = gridDim.y
                                       const T *__restrict__ dout,     // (N, C)
                                       const T *__restrict__ x,        // (N, C)
                                       const float *__restrict__ mean, // (N)
                                       const float *__restrict__ rstd, // (N)
                                       int N, int C) {
    __shared__ float shared[2][two_directions_rows][warp_size];
    long long c = (long long)blockIdx.x * warp_size + threadIdx.x;
    float weight_sum = 0.0f, bias_sum = 0.0f;
    if (c < C) {
        for (long long n = blockIdx.y * two_directions_rows + threadIdx.y; n < N;
             n += gridDim.y * two_directions_rows) {
            float d = to_float(dout[n * C + c]);
            weight_sum += d * ((to_float(x[n * C + c]) - mean[n]) * rstd[n]);
            bias_sum += d;
        }
    }
    shared[0][threadIdx.y][threadIdx.x] = weight_sum;
    shared[1][threadIdx.y][threadIdx.x] = bias_sum;
    __syncthreads();
    if (threadIdx.y < 2 && c < C) { // warp 0 finishes dweight, warp 1 dbias
        float sum = 0.0f;
        for (int row = 0; row < two_directions_rows; row++) { sum += shared[threadIdx.y][row][threadIdx.x]; }
        partial[((size_t)threadIdx.y * gridDim.y + blockIdx.y) * C + c] = sum;
    }
}

// Stage 2: one thread per column adds the parts in their order.
static __global__ void two_directions_finish(float *__restrict__ dweight,       // (C)
                                             float *__restrict__ dbias,         // (C)
                                             const float *__restrict__ partial, // (2, parts, C)
                                             int parts, int C) {
    long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) { return; }
    float weight_sum = 0.0f, bias_sum = 0.0f;
    for (int first = 0; first < parts; first += 8) { // sums of sums lose fewer digits
        float weight_part = 0.0f, bias_part = 0.0f;
        for (int part = first; part < first + 8 && part < parts; part++) {
            weight_part += partial[(size_t)part * C + c];
            bias_part += partial[((size_t)parts + part) * C + c];
        }
        weight_sum += weight_part;
        bias_sum += bias_part;
    }
    dweight[c] += weight_sum;
    dbias[c] += bias_sum;
}

//:omit
// A block has a row. dinp may be dout or dsum, so these are not __restrict__. dsum may be null.
template <class T>
__global__ void two_directions_rows_kernel(T *dinp,                        // (N, C)
                                           const T *dout,                  // (N, C)
                                           const T *dsum,                  // (N, C) or null
                                           const T *__restrict__ x,        // (N, C)
                                           const T *__restrict__ weight,   // (C)
                                           const float *__restrict__ mean, // (N)
                                           const float *__restrict__ rstd, // (N)
                                           int C) {
    __shared__ float shared[2 * warp_size];
    size_t row = (size_t)blockIdx.x * C;
    float row_mean = mean[blockIdx.x], row_rstd = rstd[blockIdx.x];
    float2 sums = make_float2(0.0f, 0.0f);
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        float g = to_float(dout[row + c]) * to_float(weight[c]);
        sums.x += g;
        sums.y += g * ((to_float(x[row + c]) - row_mean) * row_rstd);
    }
    sums = block_sum2(sums, shared);
    float g_mean = sums.x / C, g_xhat_mean = sums.y / C;
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        float xhat = (to_float(x[row + c]) - row_mean) * row_rstd;
        float value = row_rstd * (to_float(dout[row + c]) * to_float(weight[c]) - g_mean - xhat * g_xhat_mean);
        dinp[row + c] = from_float<T>(dsum ? value + to_float(dsum[row + c]) : value);
    }
}

//:end
// dweight and dbias. Call it before dinp is written, which may be dout.
template <class T>
int two_directions_sums(float *dweight, float *dbias, const T *dout, const T *x, const float *mean, const float *rstd,
                        int N, int C, cudaStream_t stream) {
    int parts = (N - 1) / two_directions_rows + 1;
    if (parts > two_directions_most_parts) { parts = two_directions_most_parts; }
    float *partial; // (2, parts, C)
    CUDA_CHECK(cudaMallocAsync((void **)&partial, (size_t)2 * parts * C * sizeof(float), stream));
    constexpr int threads = two_directions_threads;
    dim3 column_grid((C - 1) / warp_size + 1, parts), column_block(warp_size, two_directions_rows);
    two_directions_columns<<<column_grid, column_block, 0, stream>>>(partial, dout, x, mean, rstd, N, C);
    two_directions_finish<<<(C - 1) / threads + 1, threads, 0, stream>>>(dweight, dbias, partial, parts, C);
    cudaError_t launched = cudaGetLastError();
    CUDA_CHECK(cudaFreeAsync(partial, stream));
    return launched;
}

//:omit
template <class T>
int two_directions_launch(T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum, const T *x,
                          const T *weight, const float *mean, const float *rstd, int N, int C, cudaStream_t stream) {
    CUDA_CHECK((cudaError_t)two_directions_sums<T>(dweight, dbias, dout, x, mean, rstd, N, C, stream));
    int threads = C >= 4096 ? 512 : two_directions_threads;
    two_directions_rows_kernel<<<N, threads, 0, stream>>>(dinp, dout, dsum, x, weight, mean, rstd, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

//:end
#endif
