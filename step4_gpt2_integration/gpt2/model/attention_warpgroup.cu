// attention_warpgroup.cu — causal self-attention for Hopper: see attention_warpgroup.cuh
//
// One kernel for heads of D = 64 and of D = 128 channels. A tile has as many rows as a head has channels.
//
// A block computes a tile of queries of a head. Its last warps, the producer, only request copies: a thread asks the copy
// engine for tiles of keys or values, which arrive in a ring of stages. The other warps are the consumer, a warpgroup for each
// 64 queries, which multiplies whole tiles: wgmma reads keys and values in shared memory, and keeps the scores in registers.
//
// Products are asynchronous. While the consumer computes the weights of a tile, the product of the weights of the tile before
// with its values runs. Another warpgroup of the multiprocessor multiplies when this one does not: of two more blocks for D =
// 64, of the same block for D = 128.
//
// Tiles beyond the diagonal are not copied. The others come in descending order, so that the masked ones are first.
//
// Bytes of a block: a tile of queries and of results, and all keys and values before them, which a section of heads keeps in L2.
//
// With a cache, a block stores the keys and values of its own positions there. The tile is in shared memory, as the first of the
// ring: the producer requests its copy to the cache before the stage is used again. Only a block past its sequence's
// end, or one whose results are not needed (`ends`), fetches its own tile for that alone.
//
// Elsewhere, and on the CPU backend, attention_fused.cu computes the same with mma.sync.
// nvcc: -gencode arch=compute_90a,code=sm_90a
#include "gpt2/model/attention_warpgroup.cuh"

#if !defined(SIMT_CPU_BACKEND)

#include "common/fast_math.cuh"
#include "gpt2/model/warpgroup_tiles.cuh"

#include <algorithm>
#include <cmath>

// How a block computes heads of D channels.
//
// 64: one warpgroup multiplies. A multiprocessor has four parts of 16,384 registers. The 15 warps of three blocks are at most
// four in a part: 128 registers.
// 128: two warpgroups multiply by the same keys and values, in the multiprocessor's only block. A thread holds 64 scores, 64
// results, 32 registers of queries and 32 of weights: 192. At the launch 384 threads have 168 registers each. So the producer
// is a whole warpgroup, which gives most of its registers to the consumer. The block stays for further tiles of queries
// (find_tile), because no other block multiplies while it waits for its first tile. Its producer requests the next queries
// while the consumer still multiplies.
template <int D> struct plan {
    static_assert(D == 64 || D == 128);
    static constexpr bool stays = D == 128;
    static constexpr int groups = D / 64, stages = stays ? 2 : 3, rows = tile * groups;
    static constexpr int consumer_threads = 128 * groups, threads = consumer_threads + (stays ? 128 : 32);
    static constexpr int registers_of_thread = stays ? 168 : 128, of_producer = 40, of_consumer = 232;
    static constexpr int column_bytes = rows * channels * 2, bytes = D / channels * column_bytes; // of a tile

    // Queries, later results, which have a tile of their own in a block that stays; keys; values; barriers
    static constexpr int own_tiles = stays ? 2 : 1;
    static constexpr size_t shared_bytes =
        tile_alignment + (own_tiles + 2 * stages) * bytes + (2 + 4 * stages) * sizeof(uint64_t);
};

#if WARPGROUP_PTX

using namespace warpgroup;

template <int stages> struct ring_place {
    int stage = 0;
    unsigned parity = 0;
    __device__ void advance() {
        if (++stage == stages) { stage = 0, parity ^= 1; }
    }
};

// The tile of queries that a block computes in this turn, and its head. False: there is none left. A block that stays computes
// pairs of tiles of one head, the tile with the most keys and that with the fewest and so on, because pairs take equally long.
template <int D> __device__ static bool find_tile(place &at, int &own, int turn, const shape &of, bool pairs) {
    const int tiles = (of.T + plan<D>::rows - 1) / plan<D>::rows;
    if constexpr (!plan<D>::stays) {
        at = place_of((int)blockIdx.x, tiles, of);
        own = tiles - 1 - at.step; // the blocks with the most keys come first
        return turn == 0;
    } else {
        const int steps = pairs ? (tiles + 1) / 2 : tiles;
        const int i = (int)blockIdx.x + (pairs ? turn / 2 : turn) * (int)gridDim.x;
        if (i >= of.B * of.H * steps) { return false; }
        at = place_of(i, steps, of);
        own = tiles - 1 - at.step;
        if (pairs && turn % 2 == 1) { own = at.step < own ? at.step : -1; } // -1: the tile in the middle has no other
        return true;
    }
}

// Scores become weights; the rows' maxima and sums are kept up to date. A lane has parts of two rows, and four neighbouring lanes
// share them. shrink: what earlier sums and results are multiplied by.
template <int N>
__device__ static void soften(float (&s)[N], float (&largest)[2], float (&sum)[2], float (&shrink)[2], float base2) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float highest = largest[half];
#pragma unroll
        for (int n = 0; n < N / 4; n++) {
            highest = fmaxf(highest, fmaxf(s[4 * n + 2 * half], s[4 * n + 2 * half + 1]));
        }
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
        highest = fmaxf(highest,
                        __shfl_xor_sync(0xffffffffu, highest, 2)); // finite: every query sees a key of its first tile
        const float offset = base2 * highest;
        shrink[half] = fast_exp2(base2 * largest[half] - offset);
        largest[half] = highest;
        float total[2] = {}; // of even and of odd columns
#pragma unroll
        for (int n = 0; n < N / 4; n++) {
#pragma unroll
            for (int e = 0; e < 2; e++) {
                float &x = s[4 * n + 2 * half + e];
                x = fast_exp2(fmaf(base2, x, -offset));
                total[e] += x;
            }
        }
        sum[half] = fmaf(sum[half], shrink[half], total[0] + total[1]);
    }
}

#endif

template <class T, int D>
__global__ void __maxnreg__(plan<D>::registers_of_thread)
    attention_warpgroup_kernel(const __grid_constant__ CUtensorMap qkv, // (B, T, 3 H, D)
                               const __grid_constant__ CUtensorMap out, // (B, T, H, D)
                               const __grid_constant__ CUtensorMap k,   // (B, H, S, D), the first T positions
                               const __grid_constant__ CUtensorMap v,   // likewise
                               float *__restrict__ lse,                 // (B, H, T)
                               const int *__restrict__ lengths,         // (B)
                               shape of,
                               bool pairs,  // a block that stays computes pairs of tiles
                               bool cached, // keys and values go to the cache
                               bool ends) { // blocks without the last query of their sequence compute nothing
#if WARPGROUP_PTX
    using block = plan<D>;
    constexpr int stages = block::stages, rows = block::rows, bytes = block::bytes;
    extern __shared__ uint4 shared[];
    char *queries = (char *)(((uintptr_t)shared + tile_alignment - 1) / tile_alignment * tile_alignment);
    char *results = queries + (block::own_tiles - 1) * bytes;
    char *key_tiles = results + bytes, *value_tiles = key_tiles + stages * bytes;
    uint64_t *queries_full = (uint64_t *)(value_tiles + stages * bytes), *queries_empty = queries_full + 1;
    uint64_t *key_full = queries_empty + 1, *key_empty = key_full + stages;
    uint64_t *value_full = key_empty + stages, *value_empty = value_full + stages;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    place at;
    int own, seen, last; // tile of queries; of keys. last < 0: the block need not compute this tile of queries
    const auto find = [&](int turn) {
        if (!find_tile<D>(at, own, turn, of, pairs)) { return false; }
        seen = min(lengths[at.sequence], of.T);
        last = !ends || (seen - 1) / rows == own ? (min((own + 1) * rows, seen) - 1) / rows : -1;
        return true;
    };
    if constexpr (!block::stays) { find(0); }
    const auto each_tile = [&](auto work) {
        if constexpr (!block::stays) {
            work();
        } else {
            for (int turn = 0; find(turn); turn++) {
                if (own >= 0) { work(); }
            }
        }
    };

    if (threadIdx.x == 0) {
        open_barrier_for(queries_full, 1);
        open_barrier_for(queries_empty, block::consumer_threads / 32);
        for (int i = 0; i < stages; i++) {
            open_barrier_for(key_full + i, 1);
            open_barrier_for(value_full + i, 1);
            open_barrier_for(key_empty + i, block::consumer_threads / 32);
            open_barrier_for(value_empty + i, block::consumer_threads / 32);
        }
        publish_barriers();
    }
    __syncthreads();

    if (threadIdx.x >= block::consumer_threads) { // ---- the producer ----
        if constexpr (block::stays) { give_registers<block::of_producer>(); }
        if (threadIdx.x != block::consumer_threads) { return; }
        ring_place<stages> to, from; // from: the own tile
        unsigned parity = 1;
        each_tile([&] {
            if (last >= 0) {
                if constexpr (block::stays) {
                    wait_for(queries_empty, parity);
                    parity ^= 1;
                }
                expect_bytes(queries_full, bytes);
                copy_tile_in<D, rows>(queries, &qkv, at.head, own * rows, at.sequence, queries_full);
            }
            from = to;
            bool to_keep = cached && own == last;
            auto keep = [&] {
                wait_for(key_full + from.stage, from.parity);
                copy_tile_out<D, rows>(&k, key_tiles + from.stage * bytes, at.head, own * rows, at.sequence);
                wait_for(value_full + from.stage, from.parity);
                copy_tile_out<D, rows>(&v, value_tiles + from.stage * bytes, at.head, own * rows, at.sequence);
                wait_for_copies_out();
                to_keep = false;
            };
            auto fetch = [&](int j) {
                wait_for(key_empty + to.stage, to.parity ^ 1);
                expect_bytes(key_full + to.stage, bytes);
                copy_tile_in<D, rows>(key_tiles + to.stage * bytes, &qkv, of.H + at.head, j * rows, at.sequence,
                                      key_full + to.stage);
                wait_for(value_empty + to.stage, to.parity ^ 1);
                expect_bytes(value_full + to.stage, bytes);
                copy_tile_in<D, rows>(value_tiles + to.stage * bytes, &qkv, 2 * of.H + at.head, j * rows, at.sequence,
                                      value_full + to.stage);
                to.advance();
            };
            for (int j = last; j >= 0; j--) {
                if (to_keep && last - j == stages) { keep(); }
                fetch(j);
            }
            if (cached && own != last) {
                from = to, to_keep = true;
                fetch(own);
            }
            if (to_keep) { keep(); }
        });
        return;
    }

    // ---- the consumer ----
    if constexpr (block::stays) { take_registers<block::of_consumer>(); }
    const int g = lane / 4, t = lane % 4, group = block::groups == 1 ? 0 : warp / 4;
    const float base2 = of.scale * 1.44269504f; // exp(scale x) = exp2(base2 x)
    const int own_row = 16 * warp + lane % 16;  // whose address the lane gives to ldmatrix and stmatrix
    auto chunk_of = [&](char *own_tile, int c) {
        return own_tile + c / 4 * block::column_bytes + own_row * 128 + ((2 * (c % 4) + lane / 16) ^ own_row % 8) * 16;
    };
    ring_place<stages> keys, values;
    unsigned parity = 0;
    each_tile([&] {
        const int first = own * rows, row0 = first + 16 * warp; // the warp's first row
        const auto pass = [&] {                                 // the own tile, which was there for the cache alone
            if constexpr (block::stays) {
                if (!cached || own == last) { return; }
                wait_for(key_full + keys.stage, keys.parity);
                wait_for(value_full + values.stage, values.parity);
                if (lane == 0) { arrive(key_empty + keys.stage), arrive(value_empty + values.stage); }
                keys.advance();
                values.advance();
            }
        };
        if (last < 0) {
            pass();
            return;
        }

        uint32_t query[D / 16][4], p[rows / 16][4];
        wait_for(queries_full, parity);
#pragma unroll
        for (int c = 0; c < D / 16; c++) { load_matrices(query[c], chunk_of(queries, c)); }
        if constexpr (block::stays) {
            __syncwarp(); // all lanes have read
            if (lane == 0) { arrive(queries_empty); }
            parity ^= 1;
        }

        float s[rows / 2] = {}, o[D / 2] = {}, largest[2] = {-INFINITY, -INFINITY}, sum[2] = {}, shrink[2];
        auto multiply_by_keys = [&] {
            wait_for(key_full + keys.stage, keys.parity);
            const uint64_t factor = describe(key_tiles + keys.stage * bytes);
            pin(s);
            begin_products();
#pragma unroll
            for (int c = 0; c < D / 16; c++) { // 16 channels are 32 bytes of a row: 2 units of the address
                multiply_keys<T>(s, query[c], factor + c / 4 * (block::column_bytes / 16) + 2 * (c % 4), c > 0);
            }
            commit_products();
        };
        auto multiply_by_values = [&] {
            wait_for(value_full + values.stage, values.parity);
            const uint64_t factor = describe(value_tiles + values.stage * bytes, block::column_bytes);
            pin(o);
            begin_products();
#pragma unroll
            for (int c = 0; c < rows / 16; c++) { // 16 keys are 16 rows: 2048 bytes, 128 units
                multiply_values<T>(o, p[c], factor + 128 * c);
            }
            commit_products();
        };
        auto release_keys = [&] {
            pin(s);
            if (lane == 0) { arrive(key_empty + keys.stage); }
            keys.advance();
        };
        auto release_values = [&] {
            pin(o);
            if (lane == 0) { arrive(value_empty + values.stage); }
            values.advance();
        };
        auto weigh = [&](int j) {
            if ((j + 1) * rows > min(seen, row0 + 1)) { // the tile has masked scores
#pragma unroll
                for (int n = 0; n < rows / 2; n++) {
                    const int key = j * rows + n / 4 * 8 + 2 * t + n % 2;
                    if (key > row0 + g + n % 4 / 2 * 8 || key >= seen) { s[n] = -INFINITY; }
                }
            }
            soften(s, largest, sum, shrink, base2);
        };
        auto pack_weights = [&] { // their layout is that of the next product's left factor
#pragma unroll
            for (int c = 0; c < rows / 16; c++) {
#pragma unroll
                for (int i = 0; i < 4; i++) { p[c][i] = pack<T>(s[8 * c + 2 * i], s[8 * c + 2 * i + 1]); }
            }
        };

        multiply_by_keys();
        wait_for_products<0>();
        release_keys();
        weigh(last);
        pack_weights();
        for (int j = last - 1; j >= 0; j--) {
            multiply_by_keys();
            multiply_by_values(); // of tile j + 1
            wait_for_products<1>();
            release_keys();
            weigh(j);
            wait_for_products<0>();
            release_values();
#pragma unroll
            for (int n = 0; n < D / 2; n++) { o[n] *= shrink[n % 4 / 2]; }
            pack_weights();
        }
        multiply_by_values();
        wait_for_products<0>();
        release_values();

        // The results replace the queries, or the results before them, in shared memory. They go from there to memory.
        pass();
        if (block::stays && threadIdx.x % 128 == 0) { wait_for_copies_out(); }
        meet(1 + group, 128);
        float over[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float total = sum[half] + __shfl_xor_sync(0xffffffffu, sum[half], 1);
            total += __shfl_xor_sync(0xffffffffu, total, 2);
            over[half] = 1.0f / total;
            const int row = row0 + g + 8 * half;
            if (lse != nullptr && t == 0 && row < of.T) {
                lse[((int64_t)at.sequence * of.H + at.head) * of.T + row] = of.scale * largest[half] + logf(total);
            }
        }
#pragma unroll
        for (int c = 0; c < D / 16; c++) {
            uint32_t both[4];
#pragma unroll
            for (int n = 0; n < 4; n++) {
                both[n] = pack<T>(o[8 * c + 2 * n] * over[n % 2], o[8 * c + 2 * n + 1] * over[n % 2]);
            }
            store_matrices(chunk_of(results, c), both);
        }
        publish_writes();
        meet(1 + group, 128);
        if (threadIdx.x % 128 == 0) {
            copy_tile_out<D, rows>(&out, results + group * tile_bytes, at.head, first + group * tile, at.sequence);
            if constexpr (!block::stays) { wait_for_copies_out(); }
        }
    });
    if (block::stays && threadIdx.x % 128 == 0) { wait_for_copies_out(); }
#else
    (void)lse, (void)lengths, (void)of, (void)pairs, (void)cached, (void)ends; // never launched elsewhere
    __trap();
#endif
}

// ---- launches ----

template <class T>
bool has_attention_warpgroup(const gpt2_device &device, const T *out, const T *k, const T *v, const T *qkv, int D) {
    const uintptr_t addresses = (uintptr_t)out | (uintptr_t)k | (uintptr_t)v | (uintptr_t)qkv;
    return device.capability == 90 && (D == 64 || D == 128) && addresses % 16 == 0;
}

template <class T, int D>
static int launch(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B, int T_,
                  int H, int S, bool ends) {
    using block = plan<D>;
    constexpr int rows = block::rows;
    const int64_t C = (int64_t)H * D;
    CUtensorMap from, to, to_k = {}, to_v = {};
    TRY(describe_heads(&from, qkv, B, T_, 3 * H, D, rows));
    TRY(describe_heads(&to, out, B, T_, H, D)); // each warpgroup stores its rows
    if (k != nullptr) {
        TRY(describe_heads_at(&to_k, k, B, T_, H, (int64_t)S * D, D, S * C, D, rows));
        TRY(describe_heads_at(&to_v, v, B, T_, H, (int64_t)S * D, D, S * C, D, rows));
    }
    TRY(cudaFuncSetAttribute(attention_warpgroup_kernel<T, D>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)block::shared_bytes));
    const int64_t tiles = (T_ + rows - 1) / rows, all = B * H * tiles;
    const bool pairs = all > device.multiprocessors; // else each tile has a multiprocessor of its own
    const int64_t blocks =
        block::stays && pairs ? std::min<int64_t>(B * H * ((tiles + 1) / 2), device.multiprocessors) : all;
    attention_warpgroup_kernel<T, D><<<(unsigned)blocks, block::threads, block::shared_bytes, device.stream>>>(
        from, to, to_k, to_v, lse, lengths, shape_of(B, T_, H, D), pairs, k != nullptr, ends);
    return cudaGetLastError();
}

template <class T>
int attention_warpgroup(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                        int T_, int H, int D, int S, bool ends) {
    return (D == 64 ? launch<T, 64> : launch<T, 128>)(device, out, k, v, lse, qkv, lengths, B, T_, H, S, ends);
}

#define INSTANTIATE(T)                                                                                             \
    template bool has_attention_warpgroup(const gpt2_device &, const T *, const T *, const T *, const T *, int);   \
    template int attention_warpgroup(gpt2_device &, T *, T *, T *, float *, const T *, const int *, int, int, int, \
                                     int, int, bool);
INSTANTIATE(__half)
INSTANTIATE(__nv_bfloat16)

#endif
