// attention_fused.cu — causal self-attention whose scores never leave the chip
//
// Purpose   The taught form writes H T T scores and reads them back; here a block keeps a tile of queries, walks over the keys
//           once, and corrects its sums when a larger score turns up (the online softmax of lab 2). Memory grows with T, not T T.
// Math      attention_fused.cuh, and attention_fused_tensor.cuh for the steps of the walk
// Bytes     6 B T C elements: Q, K, V read; out and the cache (where there is one) written. At T = 1024, D = 64 the
//           taught form moves 9 times that.
// Kernels   attention_tensor_kernel  16-bit types, from sm_80 on: both products on tensor cores (attention_fused_tensor.cuh)
//           attention_fma_kernel     fp32, and older GPUs: fp32 multiply-adds. 32 queries by 32 keys; a thread has 4 queries,
//                                    2 keys of the tile, and every 16th channel of the output
// Launches  1, where the taught form has 5: the heads are taken from qkv as they lie, and go to the cache on the way.
#include "gpt2/model/attention_fused.cuh"

#include "gpt2/model/attention_fused_tensor.cuh"

#include <cmath>

enum { fma_tile = 32, fma_threads = 128, rows_of_thread = 4, columns = 16 }; // columns: threads that share rows

// 32 rows of D elements, as fp32, to (32, P + 1) in shared memory; zeros where there is nothing.
template <class T, int P>
__device__ static void load_tile(float *to, const T *from, int first, int rows, int D, int64_t stride) {
    for (int i = threadIdx.x; i < fma_tile * P; i += fma_threads) {
        int row = i / P, d = i % P;
        to[row * (P + 1) + d] = first + row < rows && d < D ? to_float(from[(first + row) * stride + d]) : 0.0f;
    }
}

// Over the 16 threads that share rows.
template <class Combine> __device__ static float over_columns(float value, Combine combine) {
    for (int offset = columns / 2; offset > 0; offset /= 2) {
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    return value;
}

template <class T, int P>
__global__ void __launch_bounds__(fma_threads) attention_fma_kernel(T *__restrict__ out,             // (B, T, H, D)
                                                                    T *__restrict__ k,               // (B, H, S, D)
                                                                    T *__restrict__ v,               // (B, H, S, D)
                                                                    float *__restrict__ lse,         // (B, H, T)
                                                                    const T *__restrict__ qkv,       // (B, T, 3, H, D)
                                                                    const int *__restrict__ lengths, // (B)
                                                                    int T_, int H, int D, int S, float scale) {
    __shared__ float query[fma_tile * (P + 1)], tile[fma_tile * (P + 1)], weights[fma_tile * (fma_tile + 1)];
    const int tx = threadIdx.x % columns, ty = threadIdx.x / columns;
    const int h = blockIdx.x % H, b = blockIdx.x / H;
    const int first = (gridDim.y - 1 - blockIdx.y) * fma_tile; // the longest first
    const int keys = min(lengths[b], min(first + fma_tile, T_));
    const int64_t stride = (int64_t)3 * H * D;
    const T *from = qkv + b * T_ * stride + (int64_t)h * D; // Q; K and V are C and 2C further
    const T *from_k = from + (int64_t)H * D, *from_v = from + (int64_t)2 * H * D;

    for (int i = threadIdx.x; k != nullptr && i < fma_tile * D; i += fma_threads) { // this tile goes into the cache
        int t = first + i / D, d = i % D;
        if (t >= T_) { continue; }
        int64_t cached = (((int64_t)b * H + h) * S + t) * D + d;
        k[cached] = from_k[t * stride + d];
        v[cached] = from_v[t * stride + d];
    }
    load_tile<T, P>(query, from, first, T_, D, stride);

    float o[rows_of_thread][P / columns] = {}, largest[rows_of_thread], sum[rows_of_thread] = {};
    for (int r = 0; r < rows_of_thread; r++) { largest[r] = -INFINITY; }
    for (int start = 0; start < keys; start += fma_tile) {
        load_tile<T, P>(tile, from_k, start, T_, D, stride);
        __syncthreads();
        float s[rows_of_thread][2] = {};
        for (int d = 0; d < P; d++) {
            float key[2] = {tile[tx * (P + 1) + d], tile[(tx + columns) * (P + 1) + d]};
#pragma unroll
            for (int r = 0; r < rows_of_thread; r++) {
                float q = query[(rows_of_thread * ty + r) * (P + 1) + d];
                s[r][0] += q * key[0];
                s[r][1] += q * key[1];
            }
        }
        __syncthreads(); // all are done with the keys
        load_tile<T, P>(tile, from_v, start, T_, D, stride);
#pragma unroll
        for (int r = 0; r < rows_of_thread; r++) {
            int row = first + rows_of_thread * ty + r;
            float highest = largest[r];
            for (int j = 0; j < 2; j++) {
                int position = start + tx + columns * j;
                s[r][j] = position <= row && position < keys ? scale * s[r][j] : -INFINITY;
                highest = fmaxf(highest, s[r][j]);
            }
            highest = over_columns(highest, [](float x, float y) { return fmaxf(x, y); });
            float shrink = expf(largest[r] - highest), total = 0.0f; // highest is finite: key 0 counts for every query
            largest[r] = highest;
            for (int j = 0; j < 2; j++) {
                float weight = expf(s[r][j] - highest);
                weights[(rows_of_thread * ty + r) * (fma_tile + 1) + tx + columns * j] = weight;
                total += weight;
            }
            sum[r] = sum[r] * shrink + over_columns(total, [](float x, float y) { return x + y; });
            for (int c = 0; c < P / columns; c++) { o[r][c] *= shrink; }
        }
        __syncthreads();
        for (int j = 0; j < fma_tile; j++) {
#pragma unroll
            for (int c = 0; c < P / columns; c++) {
                float value = tile[j * (P + 1) + tx + columns * c];
#pragma unroll
                for (int r = 0; r < rows_of_thread; r++) {
                    o[r][c] += weights[(rows_of_thread * ty + r) * (fma_tile + 1) + j] * value;
                }
            }
        }
        __syncthreads(); // all are done with the values
    }

#pragma unroll
    for (int r = 0; r < rows_of_thread; r++) {
        int row = first + rows_of_thread * ty + r;
#pragma unroll
        for (int c = 0; c < P / columns; c++) {
            int d = tx + columns * c;
            if (row < T_ && d < D) { out[(((int64_t)b * T_ + row) * H + h) * D + d] = from_float<T>(o[r][c] / sum[r]); }
        }
        if (lse != nullptr && tx == 0 && row < T_) { lse[((int64_t)b * H + h) * T_ + row] = largest[r] + logf(sum[r]); }
    }
}

template <class T, int P, int M>
static int launch_tensor(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                         int T_, int H, int D, int S, float scale) {
    constexpr int rows = tensor_tile * M;
    constexpr size_t shared = tensor_shared_bytes<P, M>();
    const dim3 blocks((unsigned)(B * H), (unsigned)((T_ + rows - 1) / rows));
    if (shared > 48 << 10) {
        TRY(cudaFuncSetAttribute(attention_tensor_kernel<T, P, M>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)shared));
    }
    attention_tensor_kernel<T, P, M><<<blocks, tensor_threads, shared, device.stream>>>(out, k, v, lse, qkv, lengths,
                                                                                        T_, H, D, S, scale, D % 8 == 0);
    return cudaGetLastError();
}

template <class T, int P>
static int launch_padded(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                         int T_, int H, int D, int S, bool tensor_cores) {
    const float scale = 1.0f / sqrtf((float)D);
    if constexpr (sizeof(T) == 2) {
        if (tensor_cores) {
            constexpr int most = P == 64 ? 2 : 1; // what registers have room for
            const auto launch = k == nullptr ? launch_tensor<T, P, most> : launch_tensor<T, P, 1>;
            return launch(device, out, k, v, lse, qkv, lengths, B, T_, H, D, S, scale);
        }
    }
    dim3 blocks((unsigned)(B * H), (unsigned)((T_ + fma_tile - 1) / fma_tile));
    attention_fma_kernel<T, P>
        <<<blocks, fma_threads, 0, device.stream>>>(out, k, v, lse, qkv, lengths, T_, H, D, S, scale);
    return cudaGetLastError();
}

template <class T>
int attention_fused(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                    int T_, int H, int D, int S, bool tensor_cores) {
    if (D > most_fused_channels) { return cudaErrorInvalidValue; }
    return (D <= 64 ? launch_padded<T, 64> : launch_padded<T, 128>)(device, out, k, v, lse, qkv, lengths, B, T_, H, D,
                                                                    S, tensor_cores);
}

#define INSTANTIATE(T)                                                                                              \
    template int attention_fused(gpt2_device &, T *, T *, T *, float *, const T *, const int *, int, int, int, int, \
                                 int, bool);
FOR_EACH_TYPE(INSTANTIATE)
