// attention_fused.cu — causal self-attention whose scores stay on the chip
//
// Purpose   The taught form writes H T T scores and reads them back. Here a block keeps a tile of queries, reads the keys once,
//           tile by tile, and rescales its sums when a larger score appears (the online softmax of lab 2). Memory grows with T,
//           not with T T.
// Math      For a tile of keys, s = Q K^T, m the largest score so far, l the sum of weights so far, o the output so far:
//               m' = max(m, max s)    p = exp(s - m')    l' = l exp(m - m') + sum p    o' = o exp(m - m') + p V
//           and out = o / l at the end. Scores, m, l and o are fp32 in registers.
// Bytes     6 B T C elements, 4 without a cache: Q, K and V are read (K and V again from L2 by each block of queries), out and
//           the cache are written. The taught form moves 3.5 B H T T elements of scores besides: at T = 1024 and D = 64 9 times
//           as many.
// Kernels   attention_fma_kernel     fp32, and older GPUs: fp32 multiply-adds. 32 queries by 32 keys; a thread has 4 queries,
//                                    2 keys of the tile, and every 16th channel of the output
//           attention_tensor_kernel<T, P, M>  16-bit types, from sm_80 on: both products on tensor cores. P is 64 or 128: the
//                                    head's channels, padded with zeros. A block of 4 warps has 64 M queries of a head, a warp
//                                    16 M of them, and reads the keys in tiles of 64. The next tile is copied to shared memory
//                                    while this one is multiplied (two stages). p is rounded to T for the second product. Each
//                                    8x8 matrix from shared memory serves M products. M = 1 is limited by shared memory. M = 2
//                                    has fewer blocks, too few for a short prompt, and is used only without a cache.
//           Dropped: the same with dropout. A weight is dropped after it has been added to l, just before the second product.
//           attention_warpgroup_kernel, in a file of its own: heads of 64 or 128 channels on compute capability 9.0, without
//           dropout
// Launches  1, where the taught form has 5. The kernel reads the heads from qkv directly, and writes the cache.
#include "gpt2/model/attention_fused.cuh"

#include "common/fast_math.cuh"
#include "gpt2/model/attention_tiles.cuh"
#include "gpt2/model/attention_warpgroup.cuh"
#include "gpt2/model/tensor_core.cuh"

#include <cmath>

// ---- fp32, and older GPUs: multiply-adds ----

enum { fma_tile = 32, fma_threads = 128, rows_of_thread = 4, columns = 16 }; // columns: the threads that share rows

// 32 rows of D elements, as fp32, to (32, P + 1) in shared memory; zeros past the last row and channel.
template <class T, int P>
__device__ static void load_tile(float *to, const T *from, int first, int rows, int D, int64_t stride) {
    for (int i = threadIdx.x; i < fma_tile * P; i += fma_threads) {
        int row = i / P, d = i % P;
        to[row * (P + 1) + d] = first + row < rows && d < D ? to_float(from[(first + row) * stride + d]) : 0.0f;
    }
}

// A reduction over the 16 threads that share rows.
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
    const int first = (gridDim.y - 1 - blockIdx.y) * fma_tile; // the block with the most keys first
    const int keys = min(lengths[b], min(first + fma_tile, T_));
    const int64_t stride = (int64_t)3 * H * D;
    const T *from = qkv + b * T_ * stride + (int64_t)h * D; // Q; K and V are C and 2C further
    const T *from_k = from + (int64_t)H * D, *from_v = from + (int64_t)2 * H * D;

    for (int i = threadIdx.x; k != nullptr && i < fma_tile * D; i += fma_threads) { // this tile to the cache
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
        __syncthreads(); // no thread reads the keys any more
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
            float shrink = expf(largest[r] - highest), total = 0.0f; // highest is finite: every query sees key 0
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
        __syncthreads(); // no thread reads the values any more
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

// ---- 16-bit types, from sm_80 on: tensor cores ----

template <int P, int M> constexpr size_t tensor_shared_bytes() { // Q, and two stages of K and V
    return (4 + M) * sizeof(uint16_t) * tensor_tile * (P + 8);
}

template <class T, int P, int M, bool Dropped>
__global__ void __launch_bounds__(tensor_threads, P == 64 && M == 1 ? 4 : 2)
    attention_tensor_kernel(T *__restrict__ out,             // (B, T, H, D)
                            T *__restrict__ k,               // (B, H, S, D)
                            T *__restrict__ v,               // (B, H, S, D)
                            float *__restrict__ lse,         // (B, H, T)
                            const T *__restrict__ qkv,       // (B, T, 3, H, D)
                            const int *__restrict__ lengths, // (B)
                            int T_, int H, int D, int S, float scale, bool whole, dropout drop) {
    constexpr int width = P + 8, tile = tensor_tile * width, rows = tensor_tile * M;
    extern __shared__ uint4 shared[];
    T *query_tile = (T *)shared, *key_tiles = query_tile + M * tile, *value_tiles = key_tiles + 2 * tile;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int h = blockIdx.x % H, b = blockIdx.x / H;
    const int first = (gridDim.y - 1 - blockIdx.y) * rows; // the block with the most keys first
    const int own = 16 * M * warp, query0 = first + own;   // the warp's first row, of the block and of the sequence
    const int keys = min(lengths[b], min(first + rows, T_)), tiles = (keys + tensor_tile - 1) / tensor_tile;
    const int stride = 3 * H * D;
    const T *from = qkv + (int64_t)b * T_ * stride + h * D;
    const int64_t cached = ((int64_t)b * H + h) * S * D;

    for (int m = 0; m < M; m++) {
        copy_tile<T, P>(query_tile + m * tile, from, first + m * tensor_tile, T_, D, stride, whole);
    }
    // The block's own tile of keys and values goes to the cache, whether or not a query attends to it.
    if (M == 1 && k != nullptr) {
        copy_tile<T, P>(key_tiles + tile, from + H * D, first, T_, D, stride, whole);
        copy_tile<T, P>(value_tiles + tile, from + 2 * H * D, first, T_, D, stride, whole);
    }
    __pipeline_commit();
    copy_tile<T, P>(key_tiles, from + H * D, 0, T_, D, stride, whole);
    copy_tile<T, P>(value_tiles, from + 2 * H * D, 0, T_, D, stride, whole);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    if (M == 1 && k != nullptr) {
        store_tile<T, P>(k + cached, key_tiles + tile, first, T_, D, D, whole);
        store_tile<T, P>(v + cached, value_tiles + tile, first, T_, D, D, whole);
    }

    uint32_t query[M][P / 16][4];
    load_rows<T, P, M>(query, query_tile + own * width);
    float o[M][P / 8][4] = {}, largest[M][2], sum[M][2] = {}; // of the rows g and g + 8
#pragma unroll
    for (int m = 0; m < M; m++) { largest[m][0] = largest[m][1] = -INFINITY; }
    const float base2 = scale * 1.44269504f; // exp(scale x) = exp2(base2 x)

    for (int i = 0; i < tiles; i++) {
        __pipeline_wait_prior(0);
        __syncthreads(); // the tile has arrived, and no thread reads the one before
        if (i + 1 < tiles) {
            int stage = (i + 1) % 2 * tile, next = (i + 1) * tensor_tile;
            copy_tile<T, P>(key_tiles + stage, from + H * D, next, T_, D, stride, whole);
            copy_tile<T, P>(value_tiles + stage, from + 2 * H * D, next, T_, D, stride, whole);
        }
        __pipeline_commit();
        if (i * tensor_tile >= query0 + 16 * M) { continue; } // no query of the warp attends to it
        const T *key_tile = key_tiles + i % 2 * tile, *value_tile = value_tiles + i % 2 * tile;

        float s[M][tensor_tile / 8][4] = {};
#pragma unroll
        for (int c = 0; c < P / 16; c++) {
#pragma unroll
            for (int n = 0; n < tensor_tile / 16; n++) { // 16 keys at a time
                uint32_t b4[4]; // lanes 0-7 address the left half of the first eight keys, 8-15 the right half
                load_matrices(b4, key_tile + (16 * n + lane / 16 * 8 + lane % 8) * width + 16 * c + lane / 8 % 2 * 8);
#pragma unroll
                for (int m = 0; m < M; m++) {
                    multiply_add<T>(s[m][2 * n], query[m][c], b4[0], b4[1]);
                    multiply_add<T>(s[m][2 * n + 1], query[m][c], b4[2], b4[3]);
                }
            }
        }
        if ((i + 1) * tensor_tile > min(keys, query0 + 1)) { // the tile has masked scores
#pragma unroll
            for (int j = 0; j < M * tensor_tile / 8 * 4; j++) {
                const int m = j / 4 / (tensor_tile / 8), n = j / 4 % (tensor_tile / 8), e = j % 4;
                const int key = i * tensor_tile + 8 * n + 2 * t + e % 2;
                if (key > query0 + 16 * m + g + e / 2 * 8 || key >= keys) { s[m][n][e] = -INFINITY; }
            }
        }
#pragma unroll
        for (int j = 0; j < 2 * M; j++) { // rows g, g + 8: each in the registers of four neighbouring lanes
            const int m = j / 2, half = j % 2;
            float highest = largest[m][half];
#pragma unroll
            for (int n = 0; n < tensor_tile / 8; n++) {
                highest = fmaxf(highest, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
            }
            highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
            highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 2)); // finite: every query sees key 0
            float shrink = fast_exp2(base2 * (largest[m][half] - highest)), offset = base2 * highest, total = 0.0f;
            largest[m][half] = highest;
#pragma unroll
            for (int n = 0; n < tensor_tile / 8; n++) {
#pragma unroll
                for (int e = 2 * half; e < 2 * half + 2; e++) {
                    s[m][n][e] = fast_exp2(base2 * s[m][n][e] - offset);
                    total += s[m][n][e];
                }
            }
            sum[m][half] = sum[m][half] * shrink + total; // this lane's columns
#pragma unroll
            for (int n = 0; n < P / 8; n++) {
                o[m][n][2 * half] *= shrink;
                o[m][n][2 * half + 1] *= shrink;
            }
        }
        if constexpr (Dropped) {
#pragma unroll
            for (int j = 0; j < M * tensor_tile / 8 * 4; j++) {
                const int m = j / 4 / (tensor_tile / 8), n = j / 4 % (tensor_tile / 8), e = j % 4;
                const uint64_t row =
                    (uint64_t)blockIdx.x * T_ + (query0 + 16 * m + g + e / 2 * 8); // blockIdx.x: b H + h
                s[m][n][e] *= dropout_factor(drop, row * T_ + (i * tensor_tile + 8 * n + 2 * t + e % 2));
            }
        }
#pragma unroll
        for (int c = 0; c < tensor_tile / 16;
             c++) { // the layout of the weights is that of the next product's left factor
            uint32_t p[M][4];
#pragma unroll
            for (int m = 0; m < M; m++) {
                p[m][0] = pack<T>(s[m][2 * c][0], s[m][2 * c][1]), p[m][1] = pack<T>(s[m][2 * c][2], s[m][2 * c][3]);
                p[m][2] = pack<T>(s[m][2 * c + 1][0], s[m][2 * c + 1][1]);
                p[m][3] = pack<T>(s[m][2 * c + 1][2], s[m][2 * c + 1][3]);
            }
#pragma unroll
            for (int n = 0; n < P / 16; n++) {
                uint32_t b4[4];
                load_matrices_transposed(b4, value_tile + (16 * c + lane % 16) * width + 16 * n + lane / 16 * 8);
#pragma unroll
                for (int m = 0; m < M; m++) {
                    multiply_add<T>(o[m][2 * n], p[m], b4[0], b4[1]);
                    multiply_add<T>(o[m][2 * n + 1], p[m], b4[2], b4[3]);
                }
            }
        }
    }

#pragma unroll
    for (int j = 0; j < 2 * M; j++) {
        const int m = j / 2, half = j % 2;
        float total = sum[m][half] + __shfl_xor_sync(0xffffffffu, sum[m][half], 1);
        total += __shfl_xor_sync(0xffffffffu, total, 2);
        float over = 1.0f / total;
        int64_t query_row = query0 + 16 * m + 8 * half + g;
        if (query_row >= T_) { continue; }
        if (lse != nullptr && t == 0) {
            lse[((int64_t)b * H + h) * T_ + query_row] = scale * largest[m][half] + logf(total);
        }
        T *to = out + ((b * T_ + query_row) * H + h) * D;
#pragma unroll
        for (int n = 0; n < P / 8; n++) {
            int d = 8 * n + 2 * t;
            if (whole && d < D) {
                *(uint32_t *)(to + d) = pack<T>(o[m][n][2 * half] * over, o[m][n][2 * half + 1] * over);
            } else {
                if (d < D) { to[d] = from_float<T>(o[m][n][2 * half] * over); }
                if (d + 1 < D) { to[d + 1] = from_float<T>(o[m][n][2 * half + 1] * over); }
            }
        }
    }
}

// ---- launches ----

template <class T, int P, int M, bool Dropped>
static int launch_tensor(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                         int T_, int H, int D, int S, float scale, const dropout &drop) {
    constexpr int rows = tensor_tile * M;
    constexpr size_t shared = tensor_shared_bytes<P, M>();
    const dim3 blocks((unsigned)(B * H), (unsigned)((T_ + rows - 1) / rows));
    if (shared > 48 << 10) {
        TRY(cudaFuncSetAttribute(attention_tensor_kernel<T, P, M, Dropped>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)shared));
    }
    attention_tensor_kernel<T, P, M, Dropped><<<blocks, tensor_threads, shared, device.stream>>>(
        out, k, v, lse, qkv, lengths, T_, H, D, S, scale, D % 8 == 0, drop);
    return cudaGetLastError();
}

template <class T, int P>
static int launch_padded(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                         int T_, int H, int D, int S, bool tensor_cores, const dropout &drop, bool ends) {
    const float scale = 1.0f / sqrtf((float)D);
    if constexpr (sizeof(T) == 2) {
#if !defined(SIMT_CPU_BACKEND)
        if (tensor_cores && drop.below == 0 && has_attention_warpgroup(device, out, k, v, qkv, D)) {
            return attention_warpgroup(device, out, k, v, lse, qkv, lengths, B, T_, H, D, S, ends);
        }
#endif
        (void)ends; // these compute all rows
        if (tensor_cores) {
            constexpr int most = P == 64 ? 2 : 1; // limited by the registers
            auto launch = k == nullptr ? launch_tensor<T, P, most, false> : launch_tensor<T, P, 1, false>;
            if (drop.below > 0) {
                if (k != nullptr) { return cudaErrorNotSupported; }
                launch = launch_tensor<T, P, most, true>;
            }
            return launch(device, out, k, v, lse, qkv, lengths, B, T_, H, D, S, scale, drop);
        }
    }
    if (drop.below > 0) { return cudaErrorNotSupported; }
    dim3 blocks((unsigned)(B * H), (unsigned)((T_ + fma_tile - 1) / fma_tile));
    attention_fma_kernel<T, P>
        <<<blocks, fma_threads, 0, device.stream>>>(out, k, v, lse, qkv, lengths, T_, H, D, S, scale);
    return cudaGetLastError();
}

template <class T>
int attention_fused(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                    int T_, int H, int D, int S, bool tensor_cores, const dropout &drop, bool ends) {
    if (D > most_fused_channels) { return cudaErrorInvalidValue; }
    return (D <= 64 ? launch_padded<T, 64> : launch_padded<T, 128>)(device, out, k, v, lse, qkv, lengths, B, T_, H, D,
                                                                    S, tensor_cores, drop, ends);
}

#define INSTANTIATE(T)                                                                                              \
    template int attention_fused(gpt2_device &, T *, T *, T *, float *, const T *, const int *, int, int, int, int, \
                                 int, bool, const dropout &, bool);
FOR_EACH_TYPE(INSTANTIATE)
