// attention_fused_tensor.cuh — fused causal attention on tensor cores, for the 16-bit types
//
// Purpose   What attention_fused.cu says, with both products on tensor cores. A block of 4 warps takes 64 M queries of
//           a head, a warp 16 M of them, and walks over the keys in tiles of 64.
// Math      With s = Q K^T (a tile), m the largest score so far, l the sum of the weights so far, and o the output so far:
//               m' = max(m, max s)    p = exp(s - m')    l' = l exp(m - m') + sum p    o' = o exp(m - m') + p V
//           and out = o / l at the end. Scores, m, l and o are fp32 in registers; p is rounded to T for the second product.
// Bytes     Q, K, V once from memory (K and V again from L2 by each block of queries), out and the cache written once:
//           6 B T C elements (4 without a cache). The taught form moves 3.5 B H T T of scores besides: at T = 1024 and
//           D = 64 that is 9 times as much.
// Kernel    attention_tensor_kernel<T, P, M>, P: 64 or 128, the head's channels padded with zeros. While a tile is
//           multiplied the next one is copied to shared memory (two stages). Each 8x8 matrix from there serves M
//           products: with M = 1 shared memory is the limit, with M = 2 there are fewer blocks, too few for a short
//           prompt; and no cache then.
#ifndef GPT2_ATTENTION_FUSED_TENSOR_CUH
#define GPT2_ATTENTION_FUSED_TENSOR_CUH

#include "common/fast_math.cuh"
#include "gpt2/model/attention_tiles.cuh"
#include "gpt2/model/tensor_core.cuh"

template <int P, int M> constexpr size_t tensor_shared_bytes() { // Q, and two stages of K and V
    return (4 + M) * sizeof(uint16_t) * tensor_tile * (P + 8);
}

template <class T, int P, int M>
__global__ void __launch_bounds__(tensor_threads, P == 64 && M == 1 ? 4 : 2)
    attention_tensor_kernel(T *__restrict__ out,             // (B, T, H, D)
                            T *__restrict__ k,               // (B, H, S, D)
                            T *__restrict__ v,               // (B, H, S, D)
                            float *__restrict__ lse,         // (B, H, T)
                            const T *__restrict__ qkv,       // (B, T, 3, H, D)
                            const int *__restrict__ lengths, // (B)
                            int T_, int H, int D, int S, float scale, bool whole) {
    constexpr int width = P + 8, tile = tensor_tile * width, rows = tensor_tile * M;
    extern __shared__ uint4 shared[];
    T *query_tile = (T *)shared, *key_tiles = query_tile + M * tile, *value_tiles = key_tiles + 2 * tile;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int h = blockIdx.x % H, b = blockIdx.x / H;
    const int first = (gridDim.y - 1 - blockIdx.y) * rows; // the longest first
    const int own = 16 * M * warp, query0 = first + own;   // the warp's first row, of the block and of the sequence
    const int keys = min(lengths[b], min(first + rows, T_)), tiles = (keys + tensor_tile - 1) / tensor_tile;
    const int stride = 3 * H * D;
    const T *from = qkv + (int64_t)b * T_ * stride + h * D;
    const int64_t cached = ((int64_t)b * H + h) * S * D;

    for (int m = 0; m < M; m++) {
        copy_tile<T, P>(query_tile + m * tile, from, first + m * tensor_tile, T_, D, stride, whole);
    }
    // The block's own tile of keys and values goes to the cache, whether or not a query looks at it.
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
        __syncthreads(); // the tile is there, and all are done with the one before
        if (i + 1 < tiles) {
            int stage = (i + 1) % 2 * tile, next = (i + 1) * tensor_tile;
            copy_tile<T, P>(key_tiles + stage, from + H * D, next, T_, D, stride, whole);
            copy_tile<T, P>(value_tiles + stage, from + 2 * H * D, next, T_, D, stride, whole);
        }
        __pipeline_commit();
        if (i * tensor_tile >= query0 + 16 * M) { continue; } // no query of the warp sees it
        const T *key_tile = key_tiles + i % 2 * tile, *value_tile = value_tiles + i % 2 * tile;

        float s[M][tensor_tile / 8][4] = {};
#pragma unroll
        for (int c = 0; c < P / 16; c++) {
#pragma unroll
            for (int n = 0; n < tensor_tile / 16;
                 n++) { // 16 keys: lanes 0-7 the first eight's left half, 8-15 its right
                uint32_t b4[4];
                load_matrices(b4, key_tile + (16 * n + lane / 16 * 8 + lane % 8) * width + 16 * c + lane / 8 % 2 * 8);
#pragma unroll
                for (int m = 0; m < M; m++) {
                    multiply_add<T>(s[m][2 * n], query[m][c], b4[0], b4[1]);
                    multiply_add<T>(s[m][2 * n + 1], query[m][c], b4[2], b4[3]);
                }
            }
        }
        if ((i + 1) * tensor_tile > min(keys, query0 + 1)) { // not every score counts
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
            highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 2)); // finite: key 0 counts for every query
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
#pragma unroll
        for (int c = 0; c < tensor_tile / 16; c++) { // the weights lie as the next product's left factor should
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

#endif
