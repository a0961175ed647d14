// attention_fused_backward.cu — the gradient of fused causal attention on tensor cores, for 16-bit types
//
// Purpose   The gradient of attention_backward.cu, without a (T, T) tensor in memory. The forward pass kept one number for each
//           row, lse; from it a tile of P is computed again, in registers.
// Math      with s = Q K^T, each row i:     p = exp(scale s - lse_i)     delta_i = sum_d dout_id out_id (= sum_j p dp)
//             dV = p^T dout     dp = dout V^T     ds = p (dp - delta_i)     dQ = scale ds K     dK = scale ds^T Q
//           s, dp and all sums are fp32 in registers; p and ds are rounded to T for the products that follow.
// Bytes     Q, K, V, dout and out are read, dqkv is written: 11 B T C elements. Tiles are read again from L2. The taught form
//           moves 8.5 B H T T elements of scores besides, and 22 B T C to split and join the heads.
// Dropout   With the factors f of the mask: dV = (f p)^T dout and ds = p (f dp - delta_i). delta keeps its form, because out
//           has them.
// Launches  2, where the taught form has 9.
//           Heads of 64 channels on compute capability 9.0, without dropout: attention_warpgroup_backward.cu, with the same two
//           launches
// Kernels   attention_dq_kernel<T, P, M>   a block has 64 M queries and reads the keys; it also computes delta
//           attention_dkv_kernel<T, P, M>  a block has 64 M keys and reads the queries that attend to them; its scores are
//                                          transposed: a row is a key
//           Two kernels compute seven products, where one kernel would need five. In exchange each sum belongs to one thread and
//           has a fixed order, without atomics. P is 64 or 128: the head's channels, padded with zeros. A warp has 16 M rows of
//           the block, so an 8x8 matrix from shared memory serves M products. The layout of a product's result is that of the
//           next one's left factor, so p and ds stay in registers.
// Tiles     64 rows, in two stages: the next tile is copied while this one is multiplied. The block's own rows pass through the
//           stages' memory into registers. 16 columns of a tile are computed at a time, which limits the registers of s and dp;
//           groups of 16 that are masked for the whole warp are skipped.
#include "common/fast_math.cuh"
#include "gpt2/model/attention_fused.cuh"
#include "gpt2/model/attention_tiles.cuh"
#include "gpt2/model/attention_warpgroup.cuh"
#include "gpt2/model/tensor_core.cuh"

#include <cmath>

constexpr float log2_of_e = 1.44269504f; // exp(x) = exp2(log2_of_e x)

template <int P> constexpr int backward_shared_bytes() { // two stages, each of two tiles and two numbers for each row
    return 4 * (int)sizeof(uint16_t) * tensor_tile * (P + 8) + 4 * (int)sizeof(float) * tensor_tile;
}

// s (16 M, 16) = rows (16 M, P) columns^T, of 16 rows of a tile.
template <class T, int P, int M>
__device__ inline void multiply_transposed(float (&s)[M][2][4], const uint32_t (&rows)[M][P / 16][4],
                                           const T *columns) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < P / 16; c++) {
        uint32_t b[4]; // lanes 0-7 address the left half of the first eight columns, 8-15 the right half
        load_matrices(b, columns + (lane / 16 * 8 + lane % 8) * (P + 8) + 16 * c + lane / 8 % 2 * 8);
#pragma unroll
        for (int m = 0; m < M; m++) {
            multiply_add<T>(s[m][0], rows[m][c], b[0], b[1]);
            multiply_add<T>(s[m][1], rows[m][c], b[2], b[3]);
        }
    }
}

// sum (16 M, P) += s (16 M, 16) x (16, P), of 16 rows of a tile.
template <class T, int P, int M>
__device__ inline void add_product(float (&sum)[M][P / 8][4], const float (&s)[M][2][4], const T *x) {
    const int lane = threadIdx.x % 32;
    uint32_t a[M][4];
#pragma unroll
    for (int m = 0; m < M; m++) {
        a[m][0] = pack<T>(s[m][0][0], s[m][0][1]), a[m][1] = pack<T>(s[m][0][2], s[m][0][3]);
        a[m][2] = pack<T>(s[m][1][0], s[m][1][1]), a[m][3] = pack<T>(s[m][1][2], s[m][1][3]);
    }
#pragma unroll
    for (int n = 0; n < P / 16; n++) {
        uint32_t b[4];
        load_matrices_transposed(b, x + lane % 16 * (P + 8) + 16 * n + lane / 16 * 8);
#pragma unroll
        for (int m = 0; m < M; m++) {
            multiply_add<T>(sum[m][2 * n], a[m], b[0], b[1]);
            multiply_add<T>(sum[m][2 * n + 1], a[m], b[2], b[3]);
        }
    }
}

// A warp's 16 M rows of sums, times `scale`, as T to shared memory.
template <class T, int P, int M>
__device__ inline void store_rows(T *rows, const float (&sum)[M][P / 8][4], float scale) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
        for (int n = 0; n < P / 8; n++) {
            T *to = rows + (16 * m + g) * (P + 8) + 8 * n + 2 * t;
            *(uint32_t *)to = pack<T>(scale * sum[m][n][0], scale * sum[m][n][1]);
            *(uint32_t *)(to + 8 * (P + 8)) = pack<T>(scale * sum[m][n][2], scale * sum[m][n][3]);
        }
    }
}

// This lane's part of delta, for the row whose dout is in registers: the channels 2t and 2t + 1 of every eight.
template <class T, int P>
__device__ inline float row_delta(const uint32_t (&dout)[P / 16][4], int half, const T *out, int D, bool whole) {
    const int t = threadIdx.x % 4;
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < P / 8; n++) {
        const int d = 8 * n + 2 * t;
        float2 x = unpack<T>(dout[n / 2][n % 2 * 2 + half]), y = {0.0f, 0.0f};
        if (whole && d < D) {
            y = unpack<T>(*(const uint32_t *)(out + d));
        } else {
            if (d < D) { y.x = to_float(out[d]); }
            if (d + 1 < D) { y.y = to_float(out[d + 1]); }
        }
        sum += x.x * y.x + x.y * y.y;
    }
    return sum;
}

template <class T, int P, int M, bool Dropped>
__global__ void __launch_bounds__(tensor_threads, P == 64 && M == 1 ? 3 : 2)
    attention_dq_kernel(T *__restrict__ dqkv,          // (B, T, 3, H, D), its Q
                        float *__restrict__ delta,     // (B, H, T)
                        const T *__restrict__ dout,    // (B, T, H, D)
                        const T *__restrict__ out,     // (B, T, H, D)
                        const T *__restrict__ qkv,     // (B, T, 3, H, D)
                        const float *__restrict__ lse, // (B, H, T)
                        int T_, int H, int D, float scale, bool whole, dropout drop) {
    constexpr int width = P + 8, tile = tensor_tile * width, rows = tensor_tile * M;
    extern __shared__ uint4 shared[];
    T *tiles = (T *)shared; // K and V of one stage, then of the other
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int h = blockIdx.x % H, b = blockIdx.x / H;
    const int first = (gridDim.y - 1 - blockIdx.y) * rows;                     // the block with the most keys first
    const int count = (min(first + rows, T_) + tensor_tile - 1) / tensor_tile; // of tiles that its queries attend to
    const int C = H * D, stride = 3 * C;
    const int64_t row_of_b = (int64_t)b * T_, row_of_h = ((int64_t)b * H + h) * T_;
    const T *q = qkv + row_of_b * stride + h * D, *o = out + row_of_b * C + h * D;
    const int own = 16 * M * warp, query0 = first + own; // the warp's first row, of the block and of the sequence
    const auto copy = [&](int i) {
        T *to = tiles + i % 2 * 2 * tile;
        copy_tile<T, P>(to, q + C, i * tensor_tile, T_, D, stride, whole);
        copy_tile<T, P>(to + tile, q + 2 * C, i * tensor_tile, T_, D, stride, whole);
    };

    for (int m = 0; m < M; m++) {
        copy_tile<T, P>(tiles + m * tile, q, first + m * tensor_tile, T_, D, stride, whole);
        copy_tile<T, P>(tiles + (M + m) * tile, dout + row_of_b * C + h * D, first + m * tensor_tile, T_, D, C, whole);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    uint32_t query[M][P / 16][4], dheads[M][P / 16][4];
    load_rows<T, P, M>(query, tiles + own * width);
    load_rows<T, P, M>(dheads, tiles + M * tile + own * width);
    __syncthreads();
    copy(0);
    __pipeline_commit();

    float offset[M][2], middle[M][2]; // lse in base 2, and delta, of the rows g and g + 8
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = query0 + 16 * m + 8 * half + g;
            const bool there = row < T_;
            float sum = there ? row_delta<T, P>(dheads[m], half, o + (int64_t)row * C, D, whole) : 0.0f;
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            middle[m][half] = sum;
            offset[m][half] = there ? log2_of_e * lse[row_of_h + row] : INFINITY; // INFINITY: p = 0
            if (there && t == 0) { delta[row_of_h + row] = sum; }
        }
    }

    float dq[M][P / 8][4] = {};
    const float base2 = scale * log2_of_e;
    for (int i = 0; i < count; i++) {
        __pipeline_wait_prior(0);
        __syncthreads(); // the tile has arrived, and no thread reads the one before
        if (i + 1 < count) { copy(i + 1); }
        __pipeline_commit();
        const T *key_tile = tiles + i % 2 * 2 * tile, *value_tile = key_tile + tile;

        const int seen =
            min(query0 + 16 * M - i * tensor_tile, (int)tensor_tile) / 16; // attended to by the warp's queries
#pragma unroll 1
        for (int n = 0; n < seen; n++) {
            float s[M][2][4] = {}, dp[M][2][4] = {};
            multiply_transposed<T, P, M>(s, query, key_tile + 16 * n * width);
            multiply_transposed<T, P, M>(dp, dheads, value_tile + 16 * n * width);
            const int last =
                query0 + g - (i * tensor_tile + 16 * n + 2 * t); // the last of the lane's keys that row g attends to
#pragma unroll
            for (int m = 0; m < M; m++) {
#pragma unroll
                for (int j = 0; j < 2; j++) {
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        float p = fast_exp2(base2 * s[m][j][e] - offset[m][e / 2]);
                        if (8 * j + e % 2 > last + 16 * m + e / 2 * 8) { p = 0.0f; }
                        if constexpr (Dropped) {
                            const uint64_t row = (uint64_t)row_of_h + (query0 + 16 * m + g + e / 2 * 8);
                            const int key = i * tensor_tile + 16 * n + 8 * j + 2 * t + e % 2;
                            dp[m][j][e] *= dropout_factor(drop, row * T_ + key);
                        }
                        s[m][j][e] = p * (dp[m][j][e] - middle[m][e / 2]);
                    }
                }
            }
            add_product<T, P, M>(dq, s, key_tile + 16 * n * width);
        }
    }

    __syncthreads(); // no thread reads the last tile any more
    store_rows<T, P, M>(tiles + own * width, dq, scale);
    __syncthreads();
    for (int m = 0; m < M; m++) {
        store_tile<T, P>(dqkv + row_of_b * stride + h * D, tiles + m * tile, first + m * tensor_tile, T_, D, stride,
                         whole);
    }
}

template <class T, int P, int M, bool Dropped>
__global__ void __launch_bounds__(tensor_threads, P == 64 && M == 1 ? 3 : 2)
    attention_dkv_kernel(T *__restrict__ dqkv,            // (B, T, 3, H, D), its K and V
                         const T *__restrict__ dout,      // (B, T, H, D)
                         const T *__restrict__ qkv,       // (B, T, 3, H, D)
                         const float *__restrict__ lse,   // (B, H, T)
                         const float *__restrict__ delta, // (B, H, T)
                         int T_, int H, int D, float scale, bool whole, dropout drop) {
    constexpr int width = P + 8, tile = tensor_tile * width, rows = tensor_tile * M;
    extern __shared__ uint4 shared[];
    T *tiles = (T *)shared;                       // Q and dout of one stage, then of the other
    float *numbers = (float *)(tiles + 4 * tile); // lse and delta of one stage, then of the other
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int h = blockIdx.x % H, b = blockIdx.x / H;
    const int first = blockIdx.y * rows; // the block with the most queries first
    const int begin = first / tensor_tile,
              count = (T_ + tensor_tile - 1) / tensor_tile; // of tiles of queries that attend to its keys
    const int C = H * D, stride = 3 * C;
    const int64_t row_of_b = (int64_t)b * T_, row_of_h = ((int64_t)b * H + h) * T_;
    const T *q = qkv + row_of_b * stride + h * D;
    const int own = 16 * M * warp, key0 = first + own; // the warp's first row, of the block and of the sequence
    const bool upper = threadIdx.x >= tensor_tile;     // half of the threads copy lse, the other half delta
    const float *numbers_from = (upper ? delta : lse) + row_of_h + threadIdx.x % tensor_tile;
    const auto copy = [&](int i) {
        T *to = tiles + i % 2 * 2 * tile;
        copy_tile<T, P>(to, q, i * tensor_tile, T_, D, stride, whole);
        copy_tile<T, P>(to + tile, dout + row_of_b * C + h * D, i * tensor_tile, T_, D, C, whole);
        float *number = numbers + i % 2 * 2 * tensor_tile + threadIdx.x;
        if (i * tensor_tile + (int)threadIdx.x % tensor_tile < T_) {
            __pipeline_memcpy_async(number, numbers_from + i * tensor_tile, sizeof *number);
        } else {
            *number = upper ? 0.0f : INFINITY; // INFINITY: p = 0
        }
    };

    for (int m = 0; m < M; m++) {
        copy_tile<T, P>(tiles + m * tile, q + C, first + m * tensor_tile, T_, D, stride, whole);
        copy_tile<T, P>(tiles + (M + m) * tile, q + 2 * C, first + m * tensor_tile, T_, D, stride, whole);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    uint32_t key[M][P / 16][4], value[M][P / 16][4];
    load_rows<T, P, M>(key, tiles + own * width);
    load_rows<T, P, M>(value, tiles + M * tile + own * width);
    __syncthreads();
    copy(begin);
    __pipeline_commit();

    float dk[M][P / 8][4] = {}, dv[M][P / 8][4] = {};
    const float base2 = scale * log2_of_e;
    for (int i = begin; i < count; i++) {
        __pipeline_wait_prior(0);
        __syncthreads(); // the tile has arrived, and no thread reads the one before
        if (i + 1 < count) { copy(i + 1); }
        __pipeline_commit();
        const T *query_tile = tiles + i % 2 * 2 * tile, *dout_tile = query_tile + tile;
        const float *offsets = numbers + i % 2 * 2 * tensor_tile, *middles = offsets + tensor_tile;

        const int end = (min(T_ - i * tensor_tile, (int)tensor_tile) + 15) / 16;
#pragma unroll 1
        for (int n = max(key0 - i * tensor_tile, 0) / 16; n < end; n++) { // queries that attend to a key of the warp
            float s[M][2][4] = {}, dp[M][2][4] = {};
            multiply_transposed<T, P, M>(s, key, query_tile + 16 * n * width);
            multiply_transposed<T, P, M>(dp, value, dout_tile + 16 * n * width);
            const int last =
                i * tensor_tile + 16 * n + 2 * t - (key0 + g); // the last key that the lane's first query attends to
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const float2 offset = *(const float2 *)(offsets + 16 * n + 8 * j + 2 * t);
                const float2 middle = *(const float2 *)(middles + 16 * n + 8 * j + 2 * t);
#pragma unroll
                for (int m = 0; m < M; m++) {
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        float p = fast_exp2(base2 * s[m][j][e] - log2_of_e * (e % 2 ? offset.y : offset.x));
                        if (16 * m + e / 2 * 8 > last + 8 * j + e % 2) { p = 0.0f; }
                        s[m][j][e] = p;
                        if constexpr (Dropped) {
                            const uint64_t row =
                                (uint64_t)row_of_h + (i * tensor_tile + 16 * n + 8 * j + 2 * t + e % 2);
                            const float factor = dropout_factor(drop, row * T_ + (key0 + 16 * m + g + e / 2 * 8));
                            s[m][j][e] *= factor;
                            dp[m][j][e] *= factor;
                        }
                        dp[m][j][e] = p * (dp[m][j][e] - (e % 2 ? middle.y : middle.x));
                    }
                }
            }
            add_product<T, P, M>(dv, s, dout_tile + 16 * n * width);
            add_product<T, P, M>(dk, dp, query_tile + 16 * n * width);
        }
    }

    __syncthreads(); // no thread reads the last tile any more
    store_rows<T, P, M>(tiles + own * width, dk, scale);
    store_rows<T, P, M>(tiles + M * tile + own * width, dv, 1.0f);
    __syncthreads();
    T *to = dqkv + row_of_b * stride + h * D;
    for (int m = 0; m < M; m++) {
        const int row = first + m * tensor_tile;
        store_tile<T, P>(to + C, tiles + m * tile, row, T_, D, stride, whole);
        store_tile<T, P>(to + 2 * C, tiles + (M + m) * tile, row, T_, D, stride, whole);
    }
}

template <class T, int P, int M, bool Dropped>
static int launch_padded(gpt2_device &device, T *dqkv, float *delta, const T *dout, const T *out, const T *qkv,
                         const float *lse, int B, int T_, int H, int D, const dropout &drop) {
    constexpr int shared = backward_shared_bytes<P>(), rows = tensor_tile * M;
    const float scale = 1.0f / sqrtf((float)D);
    const bool whole = D % 8 == 0;
    const dim3 blocks((unsigned)(B * H), (unsigned)((T_ + rows - 1) / rows));
    if (shared > 48 << 10) {
        TRY(cudaFuncSetAttribute(attention_dq_kernel<T, P, M, Dropped>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 shared));
        TRY(cudaFuncSetAttribute(attention_dkv_kernel<T, P, M, Dropped>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 shared));
    }
    attention_dq_kernel<T, P, M, Dropped><<<blocks, tensor_threads, shared, device.stream>>>(
        dqkv, delta, dout, out, qkv, lse, T_, H, D, scale, whole, drop);
    TRY(cudaGetLastError());
    attention_dkv_kernel<T, P, M, Dropped>
        <<<blocks, tensor_threads, shared, device.stream>>>(dqkv, dout, qkv, lse, delta, T_, H, D, scale, whole, drop);
    return cudaGetLastError();
}

template <class T>
int attention_fused_backward(gpt2_device &device, T *dqkv, float *delta, const T *dout, const T *out, const T *qkv,
                             const float *lse, int B, int T_, int H, int D, const dropout &drop) {
    if (D > most_fused_channels) { return cudaErrorInvalidValue; }
    if constexpr (has_fused_backward<T>) {
#if !defined(SIMT_CPU_BACKEND)
        if (drop.below == 0 && has_attention_warpgroup_backward(device, dqkv, dout, out, qkv, D)) {
            return attention_warpgroup_backward(device, dqkv, delta, dout, out, qkv, lse, B, T_, H);
        }
#endif
        const auto launch = drop.below > 0
                                ? (D <= 64 ? launch_padded<T, 64, 2, true> : launch_padded<T, 128, 1, true>)
                                : (D <= 64 ? launch_padded<T, 64, 2, false> : launch_padded<T, 128, 1, false>);
        return launch(device, dqkv, delta, dout, out, qkv, lse, B, T_, H, D, drop);
    }
    return cudaErrorNotSupported;
}

#define INSTANTIATE(T)                                                                                                 \
    template int attention_fused_backward(gpt2_device &, T *, float *, const T *, const T *, const T *, const float *, \
                                          int, int, int, int, const dropout &);
FOR_EACH_TYPE(INSTANTIATE)
