// attention_warpgroup.cu — causal self-attention for Hopper: see attention_warpgroup.cuh
//
// A block computes 64 queries of a head, in five warps. The last warp, the producer, only requests copies: a thread asks the
// copy engine for tiles of 64 keys or values, which arrive in a ring of three stages. The other four warps are the consumer, a
// warpgroup, which multiplies whole tiles: wgmma reads keys and values in shared memory, and keeps the scores in registers.
//
// Products are asynchronous. While the consumer computes the weights of a tile, the product of the weights of the tile before with
// its values runs. Three blocks share a multiprocessor, so that one has products in flight when others have none.
//
// Tiles beyond the diagonal are not copied. The others come in descending order, so that the masked ones are first.
//
// Bytes of a block: 64 x 64 queries and results, and all keys and values before them, which a section of heads keeps in L2.
//
// With a cache, a block stores the keys and values of its own 64 positions there. The tile is in shared memory, as the first of the
// ring: the producer requests its copy to the cache before the stage is used again. Only a block past its sequence's
// end copies its own tile for that alone.
//
// Elsewhere, and on the CPU backend, attention_fused.cu computes the same with mma.sync.
// nvcc: -gencode arch=compute_90a,code=sm_90a
#include "gpt2/model/attention_warpgroup.cuh"

#if !defined(SIMT_CPU_BACKEND)

#include "common/fast_math.cuh"
#include "gpt2/model/warpgroup_tiles.cuh"

#include <cmath>

static constexpr int stages = 3, consumer_threads = 128, threads = consumer_threads + 32;

// A multiprocessor has four parts of 16,384 registers. The 15 warps of three blocks are at most four in a part: 128 registers.
static constexpr int registers_of_thread = 128;

// Queries, later results; keys; values; barriers
static constexpr size_t shared_bytes =
    tile_alignment + (1 + 2 * stages) * tile_bytes + (1 + 4 * stages) * sizeof(uint64_t);

#if WARPGROUP_PTX

using namespace warpgroup;

struct ring_place {
    int stage = 0;
    unsigned parity = 0;
    __device__ void advance() {
        if (++stage == stages) { stage = 0, parity ^= 1; }
    }
};

// Scores become weights; the rows' maxima and sums are kept up to date. A lane has parts of two rows, and four neighbouring lanes
// share them. shrink: what earlier sums and results are multiplied by.
__device__ static void soften(float (&s)[tile / 2], float (&largest)[2], float (&sum)[2], float (&shrink)[2],
                              float base2) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float highest = largest[half];
#pragma unroll
        for (int n = 0; n < tile / 8; n++) {
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
        for (int n = 0; n < tile / 8; n++) {
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

template <class T>
__global__ void __maxnreg__(registers_of_thread)
    attention_warpgroup_kernel(const __grid_constant__ CUtensorMap qkv, // (B, T, 3 H, 64)
                               const __grid_constant__ CUtensorMap out, // (B, T, H, 64)
                               const __grid_constant__ CUtensorMap k,   // (B, H, S, 64), the first T positions
                               const __grid_constant__ CUtensorMap v,   // likewise
                               float *__restrict__ lse,                 // (B, H, T)
                               const int *__restrict__ lengths,         // (B)
                               shape of,
                               bool cached, // keys and values go to the cache
                               bool ends) { // blocks without the last query of their sequence compute nothing
#if WARPGROUP_PTX
    extern __shared__ uint4 shared[];
    char *queries = (char *)(((uintptr_t)shared + tile_alignment - 1) / tile_alignment * tile_alignment);
    char *key_tiles = queries + tile_bytes, *value_tiles = key_tiles + stages * tile_bytes;
    uint64_t *queries_full = (uint64_t *)(value_tiles + stages * tile_bytes);
    uint64_t *key_full = queries_full + 1, *key_empty = key_full + stages;
    uint64_t *value_full = key_empty + stages, *value_empty = value_full + stages;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const place at = place_of((int)blockIdx.x, of);
    const int own = (of.T + tile - 1) / tile - 1 - at.step; // tile of queries. The blocks with the most keys come first
    const int first = own * tile, seen = min(lengths[at.sequence], of.T);
    const bool computes = !ends || (seen - 1) / tile == own;
    const int last = computes ? (min(first + tile, seen) - 1) / tile : -1; // tile of keys

    if (threadIdx.x == 0) {
        open_barrier_for(queries_full, 1);
        for (int i = 0; i < stages; i++) {
            open_barrier_for(key_full + i, 1);
            open_barrier_for(value_full + i, 1);
            open_barrier_for(key_empty + i, consumer_threads / 32);
            open_barrier_for(value_empty + i, consumer_threads / 32);
        }
        publish_barriers();
    }
    __syncthreads();

    if (threadIdx.x >= consumer_threads) { // ---- the producer ----
        if (lane != 0) { return; }
        if (computes) {
            expect_bytes(queries_full, tile_bytes);
            copy_box_in(queries, &qkv, at.head, first, at.sequence, queries_full);
        }
        ring_place to, from; // from: the own tile
        bool to_keep = cached && own == last;
        auto keep = [&] {
            wait_for(key_full + from.stage, from.parity);
            copy_box_out(&k, key_tiles + from.stage * tile_bytes, at.head, first, at.sequence);
            wait_for(value_full + from.stage, from.parity);
            copy_box_out(&v, value_tiles + from.stage * tile_bytes, at.head, first, at.sequence);
            wait_for_copies_out();
            to_keep = false;
        };
        auto fetch = [&](int j) {
            wait_for(key_empty + to.stage, to.parity ^ 1);
            expect_bytes(key_full + to.stage, tile_bytes);
            copy_box_in(key_tiles + to.stage * tile_bytes, &qkv, of.H + at.head, j * tile, at.sequence,
                        key_full + to.stage);
            wait_for(value_empty + to.stage, to.parity ^ 1);
            expect_bytes(value_full + to.stage, tile_bytes);
            copy_box_in(value_tiles + to.stage * tile_bytes, &qkv, 2 * of.H + at.head, j * tile, at.sequence,
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
        return;
    }
    if (!computes) { return; }

    // ---- the consumer ----
    const int g = lane / 4, t = lane % 4;
    const int row0 = first + 16 * warp;         // the warp's first row
    const float base2 = of.scale * 1.44269504f; // exp(scale x) = exp2(base2 x)
    const int own_row = 16 * warp + lane % 16;  // whose address the lane gives to ldmatrix and stmatrix
    auto chunk_of = [&](int c) { return queries + own_row * 128 + ((2 * c + lane / 16) ^ own_row % 8) * 16; };

    uint32_t query[channels / 16][4], p[tile / 16][4];
    wait_for(queries_full, 0);
#pragma unroll
    for (int c = 0; c < channels / 16; c++) { load_matrices(query[c], chunk_of(c)); }

    float s[tile / 2] = {}, o[channels / 2] = {}, largest[2] = {-INFINITY, -INFINITY}, sum[2] = {}, shrink[2];
    ring_place keys, values;
    auto multiply_by_keys = [&] {
        wait_for(key_full + keys.stage, keys.parity);
        const uint64_t factor = describe(key_tiles + keys.stage * tile_bytes);
        pin(s);
        begin_products();
#pragma unroll
        for (int c = 0; c < channels / 16; c++) { // 16 channels are 32 bytes of a row: 2 units of the address
            multiply_keys<T>(s, query[c], factor + 2 * c, c > 0);
        }
        commit_products();
    };
    auto multiply_by_values = [&] {
        wait_for(value_full + values.stage, values.parity);
        const uint64_t factor = describe(value_tiles + values.stage * tile_bytes);
        pin(o);
        begin_products();
#pragma unroll
        for (int c = 0; c < tile / 16; c++) { // 16 keys are 16 rows: 2048 bytes, 128 units
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
        if ((j + 1) * tile > min(seen, row0 + 1)) { // the tile has masked scores
#pragma unroll
            for (int n = 0; n < tile / 2; n++) {
                const int key = j * tile + n / 4 * 8 + 2 * t + n % 2;
                if (key > row0 + g + n % 4 / 2 * 8 || key >= seen) { s[n] = -INFINITY; }
            }
        }
        soften(s, largest, sum, shrink, base2);
    };
    auto pack_weights = [&] { // their layout is that of the next product's left factor
#pragma unroll
        for (int c = 0; c < tile / 16; c++) {
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
        for (int n = 0; n < channels / 2; n++) { o[n] *= shrink[n % 4 / 2]; }
        pack_weights();
    }
    multiply_by_values();
    wait_for_products<0>();
    release_values();

    // The results replace the queries in shared memory, and go from there to memory as one box.
    meet(1, consumer_threads);
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
    for (int c = 0; c < channels / 16; c++) {
        uint32_t both[4];
#pragma unroll
        for (int n = 0; n < 4; n++) {
            both[n] = pack<T>(o[8 * c + 2 * n] * over[n % 2], o[8 * c + 2 * n + 1] * over[n % 2]);
        }
        store_matrices(chunk_of(c), both);
    }
    publish_writes();
    meet(1, consumer_threads);
    if (threadIdx.x == 0) {
        copy_box_out(&out, queries, at.head, first, at.sequence);
        wait_for_copies_out();
    }
#else
    (void)lse, (void)lengths, (void)of, (void)cached, (void)ends; // never launched elsewhere
    __trap();
#endif
}

// ---- launches ----

template <class T>
bool has_attention_warpgroup(const gpt2_device &device, const T *out, const T *k, const T *v, const T *qkv, int D) {
    const uintptr_t addresses = (uintptr_t)out | (uintptr_t)k | (uintptr_t)v | (uintptr_t)qkv;
    return device.capability == 90 && D == channels && addresses % 16 == 0;
}

template <class T>
int attention_warpgroup(gpt2_device &device, T *out, T *k, T *v, float *lse, const T *qkv, const int *lengths, int B,
                        int T_, int H, int S, bool ends) {
    const int64_t C = (int64_t)H * channels;
    CUtensorMap from, to, to_k = {}, to_v = {};
    TRY(describe_heads(&from, qkv, B, T_, 3 * H));
    TRY(describe_heads(&to, out, B, T_, H));
    if (k != nullptr) {
        TRY(describe_heads_at(&to_k, k, B, T_, H, (int64_t)S * channels, channels, S * C));
        TRY(describe_heads_at(&to_v, v, B, T_, H, (int64_t)S * channels, channels, S * C));
    }
    TRY(cudaFuncSetAttribute(attention_warpgroup_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)shared_bytes));
    const shape of = shape_of(B, T_, H);
    const int64_t blocks = (int64_t)B * H * ((T_ + tile - 1) / tile);
    attention_warpgroup_kernel<T><<<(unsigned)blocks, threads, shared_bytes, device.stream>>>(
        from, to, to_k, to_v, lse, lengths, of, k != nullptr, ends);
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                             \
    template bool has_attention_warpgroup(const gpt2_device &, const T *, const T *, const T *, const T *, int);   \
    template int attention_warpgroup(gpt2_device &, T *, T *, T *, float *, const T *, const int *, int, int, int, \
                                     int, bool);
INSTANTIATE(__half)
INSTANTIATE(__nv_bfloat16)

#endif
