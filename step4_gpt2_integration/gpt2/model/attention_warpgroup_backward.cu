// attention_warpgroup_backward.cu — the gradient of causal self-attention for Hopper: see attention_warpgroup.cuh
//
// The mathematics is that of attention_fused_backward.cu, in the same two kernels with seven products:
//
//   attention_warpgroup_dq_kernel     a block has 64 queries and reads the keys before them:
//                                     s = Q K^T, dp = dout V^T, dQ += ds K; it also computes delta
//   attention_warpgroup_dkv_kernel    a block has 64 keys and reads the queries that attend to them, so s and dp are transposed:
//                                     s = K Q^T, dp = V dout^T, dV += p dout, dK += ds Q
//
// A block is one warpgroup. Its own rows are left factors and stay in registers, as do its sums. The tiles that it reads stay in
// shared memory as the copy engine writes them: wgmma reads a tile by rows for s and dp, and transposed for the sums. The
// accumulators of s and dp have the layout of a left factor, so p and ds go from registers into the next product. Each sum
// belongs to one thread and has a fixed order, without atomics.
//
// Products are asynchronous. A step starts s and dp of its tile, then the sums of the tile before. Its exponentials are
// computed while dp and the sums are multiplied. Other blocks of the multiprocessor multiply meanwhile. The sums of a tile may
// not start in its own step: nvcc 13.0 then gives ds the registers of the own rows.
//
// A thread requests the copies: it refills a stage of the ring after all four warps have released it.
//
// Rows past the end of the sequence arrive as zeros, and their lse and delta are set to 0. Then p is 1, but dout, Q, dp and ds
// are 0, so such queries add nothing.
//
// Elsewhere, and on the CPU backend, attention_fused_backward.cu computes the same with mma.sync.
// nvcc: -gencode arch=compute_90a,code=sm_90a
#include "gpt2/model/attention_warpgroup.cuh"

#if !defined(SIMT_CPU_BACKEND)

#include "common/fast_math.cuh"
#include "gpt2/model/warpgroup_tiles.cuh"

#include <cuda_pipeline_primitives.h>

static constexpr int threads = 128, warps = threads / 32;

// Stages of a ring of pairs of tiles. Two blocks of each kernel share a multiprocessor: they need up to 220 registers a thread.
static constexpr int stages = 4, blocks_together = 2;

// Own tiles, the ring, numbers, barriers
static constexpr size_t shared_bytes(int own, int numbers) {
    return tile_alignment + (own + 2 * stages) * tile_bytes + numbers * sizeof(float) +
           (1 + 2 * stages) * sizeof(uint64_t);
}
static constexpr int warp_numbers = 4 * tile; // lse and delta of a tile's rows, in two stages
static constexpr size_t dq_bytes = shared_bytes(3, 0), dkv_bytes = shared_bytes(2, warps *warp_numbers);

#if WARPGROUP_PTX

using namespace warpgroup;

static constexpr float log2_of_e = 1.44269504f; // exp(x) = exp2(log2_of_e x)

// A ring of pairs of tiles. All warps read it, and the block's first thread fills it: `copy` requests pair i, of `count`, for a
// stage.
struct pairs {
    char *tiles;
    uint64_t *full, *empty;
    int count;

    template <class Copy> __device__ void open(Copy copy) const { // by the first thread
        for (int i = 0; i < stages; i++) {
            open_barrier_for(full + i, 1);
            open_barrier_for(empty + i, warps);
        }
        publish_barriers();
        for (int i = 0; i < stages && i < count; i++) { copy(i, i); }
    }
    __device__ char *first(int i) const { return tiles + i % stages * 2 * tile_bytes; }
    __device__ char *second(int i) const { return first(i) + tile_bytes; }
    __device__ void wait(int i) const { wait_for(full + i % stages, i / stages % 2); }

    // The warp no longer reads pair i.
    __device__ void release(int i) const {
        if (threadIdx.x % 32 == 0) { arrive(empty + i % stages); }
    }
    // Requests the pair that follows pair i in its stage, when all warps have released pair i.
    template <class Copy> __device__ void refill(int i, Copy copy) const {
        if (threadIdx.x == 0 && i >= 0 && i + stages < count) {
            wait_for(empty + i % stages, i / stages % 2);
            copy(i % stages, i + stages);
        }
    }
};

// d = own rows^T, of 64 rows each
template <class T>
__device__ inline void begin_scores(float (&d)[tile / 2], const uint32_t (&own)[channels / 16][4], const char *rows) {
    const uint64_t factor = describe(rows);
    pin(d);
    begin_products();
#pragma unroll
    for (int c = 0; c < channels / 16; c++) { multiply_keys<T>(d, own[c], factor + 2 * c, c > 0); }
    commit_products();
}

// sum += p rows
template <class T>
__device__ inline void begin_sum(float (&sum)[channels / 2], const uint32_t (&p)[tile / 16][4], const char *rows) {
    const uint64_t factor = describe(rows);
    pin(sum);
    begin_products();
#pragma unroll
    for (int c = 0; c < tile / 16; c++) { multiply_values<T>(sum, p[c], factor + 128 * c); }
    commit_products();
}

template <class T> __device__ inline void pack_all(uint32_t (&p)[tile / 16][4], const float (&s)[tile / 2]) {
#pragma unroll
    for (int c = 0; c < tile / 16; c++) {
#pragma unroll
        for (int i = 0; i < 4; i++) { p[c][i] = pack<T>(s[8 * c + 2 * i], s[8 * c + 2 * i + 1]); }
    }
}

// Where ldmatrix and stmatrix find the lane's row of matrices 2c and 2c + 1 of the warp's 16 rows
__device__ inline char *chunk_of(char *own, int c) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane % 16;
    return own + row * 128 + ((2 * c + lane / 16) ^ row % 8) * 16;
}

__device__ inline void load_own(uint32_t (&to)[channels / 16][4], char *own) {
#pragma unroll
    for (int c = 0; c < channels / 16; c++) { load_matrices(to[c], chunk_of(own, c)); }
}

// The sums, times `scale`, replace the warp's rows of a tile in shared memory.
template <class T> __device__ inline void store_own(char *own, const float (&sum)[channels / 2], float scale) {
#pragma unroll
    for (int c = 0; c < channels / 16; c++) {
        uint32_t both[4];
#pragma unroll
        for (int n = 0; n < 4; n++) { both[n] = pack<T>(scale * sum[8 * c + 2 * n], scale * sum[8 * c + 2 * n + 1]); }
        store_matrices(chunk_of(own, c), both);
    }
}

#endif

template <class T>
__global__ void __launch_bounds__(threads, blocks_together)
    attention_warpgroup_dq_kernel(const __grid_constant__ CUtensorMap dqkv, // (B, T, 3 H, 64), its Q is written
                                  const __grid_constant__ CUtensorMap dout, // (B, T, H, 64)
                                  const __grid_constant__ CUtensorMap out,  // (B, T, H, 64)
                                  const __grid_constant__ CUtensorMap qkv,  // (B, T, 3 H, 64)
                                  float *__restrict__ delta,                // (B, H, T)
                                  const float *__restrict__ lse,            // (B, H, T)
                                  shape of) {
#if WARPGROUP_PTX
    extern __shared__ uint4 shared[];
    char *own = (char *)(((uintptr_t)shared + tile_alignment - 1) / tile_alignment * tile_alignment); // Q, dout, out
    char *pair_tiles = own + 3 * tile_bytes;
    uint64_t *own_full = (uint64_t *)(pair_tiles + 2 * stages * tile_bytes);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int tiles = (of.T + tile - 1) / tile;
    const place at = place_of((int)blockIdx.x, tiles, of);
    const int last = tiles - 1 - at.step; // its tile; those with the most keys first

    // Keys and values, in descending order: the masked ones are first.
    const pairs ring = {pair_tiles, own_full + 1, own_full + 1 + stages, last + 1};
    const auto copy_pair = [&](int stage, int i) {
        char *to = ring.tiles + stage * 2 * tile_bytes;
        expect_bytes(ring.full + stage, 2 * tile_bytes);
        copy_tile_in(to, &qkv, of.H + at.head, (last - i) * tile, at.sequence, ring.full + stage);
        copy_tile_in(to + tile_bytes, &qkv, 2 * of.H + at.head, (last - i) * tile, at.sequence, ring.full + stage);
    };
    if (threadIdx.x == 0) {
        open_barrier_for(own_full, 1);
        publish_barriers();
        expect_bytes(own_full, 3 * tile_bytes);
        copy_tile_in(own, &qkv, at.head, last * tile, at.sequence, own_full);
        copy_tile_in(own + tile_bytes, &dout, at.head, last * tile, at.sequence, own_full);
        copy_tile_in(own + 2 * tile_bytes, &out, at.head, last * tile, at.sequence, own_full);
        ring.open(copy_pair);
    }
    __syncthreads();

    const int row0 = threadIdx.x / 32 * 16 + g; // of the tile: the lane's first row; the other is row0 + 8
    const int64_t row_of_h = ((int64_t)at.sequence * of.H + at.head) * of.T;
    uint32_t query[channels / 16][4], dheads[channels / 16][4], result[channels / 16][4], ds[tile / 16][4];
    float offset[2], middle[2]; // lse in base 2, and delta
    wait_for(own_full, 0);
    load_own(query, own);
    load_own(dheads, own + tile_bytes);
    load_own(result, own + 2 * tile_bytes);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float sum = 0.0f;
#pragma unroll
        for (int n = 0; n < channels / 8; n++) {
            const float2 x = unpack<T>(dheads[n / 2][n % 2 * 2 + half]), y = unpack<T>(result[n / 2][n % 2 * 2 + half]);
            sum += x.x * y.x + x.y * y.y;
        }
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        const int row = last * tile + row0 + 8 * half;
        middle[half] = sum;
        offset[half] = row < of.T ? log2_of_e * lse[row_of_h + row] : 0.0f;
        if (row < of.T && t == 0) { delta[row_of_h + row] = sum; }
    }

    float s[tile / 2] = {}, dp[tile / 2] = {}, dq[channels / 2] = {};
    const float base2 = of.scale * log2_of_e;
    const auto begin_tile = [&](int i) {
        ring.wait(i);
        begin_scores<T>(s, query, ring.first(i));
        begin_scores<T>(dp, dheads, ring.second(i));
    };
    const auto weigh = [&] {
        pin(s);
#pragma unroll
        for (int n = 0; n < tile / 2; n++) { s[n] = fast_exp2(fmaf(base2, s[n], -offset[n % 4 / 2])); }
        pin(s); // else the compiler delays them until the next wait
    };
    const auto differentiate = [&] {
        pin(dp);
#pragma unroll
        for (int n = 0; n < tile / 2; n++) { s[n] *= dp[n] - middle[n % 4 / 2]; }
        pack_all<T>(ds, s);
    };

    begin_tile(0);
    wait_for_products<1>();
    weigh();
#pragma unroll
    for (int n = 0; n < tile / 2; n++) { // the tile on the diagonal
        if (n / 4 * 8 + 2 * t + n % 2 > row0 + n % 4 / 2 * 8) { s[n] = 0.0f; }
    }
    wait_for_products<0>();
    differentiate();
    for (int i = 1; i <= last; i++) {
        begin_tile(i);
        begin_sum<T>(dq, ds, ring.first(i - 1));
        wait_for_products<2>();
        weigh();
        ring.refill(i - 2, copy_pair); // its branch keeps the wait below behind the exponentials
        wait_for_products<0>();
        pin(dq);
        ring.release(i - 1);
        differentiate();
    }
    begin_sum<T>(dq, ds, ring.first(last));
    wait_for_products<0>();
    pin(dq);

    store_own<T>(own, dq, of.scale); // a warp reads and writes its own rows alone
    publish_writes();
    __syncthreads();
    if (threadIdx.x == 0) {
        copy_tile_out(&dqkv, own, at.head, last * tile, at.sequence);
        wait_for_copies_out();
    }
#else
    (void)delta, (void)lse, (void)of; // never launched elsewhere
    __trap();
#endif
}

template <class T>
__global__ void __launch_bounds__(threads, blocks_together)
    attention_warpgroup_dkv_kernel(const __grid_constant__ CUtensorMap dqkv, // (B, T, 3 H, 64), its K and V are written
                                   const __grid_constant__ CUtensorMap dout, // (B, T, H, 64)
                                   const __grid_constant__ CUtensorMap qkv,  // (B, T, 3 H, 64)
                                   const float *__restrict__ lse,            // (B, H, T)
                                   const float *__restrict__ delta,          // (B, H, T)
                                   shape of) {
#if WARPGROUP_PTX
    extern __shared__ uint4 shared[];
    char *own = (char *)(((uintptr_t)shared + tile_alignment - 1) / tile_alignment * tile_alignment); // K, V
    char *pair_tiles = own + 2 * tile_bytes;
    float *all_numbers = (float *)(pair_tiles + 2 * stages * tile_bytes);
    float *numbers = all_numbers + threadIdx.x / 32 * warp_numbers; // the warp's own: no other warp waits for them
    uint64_t *own_full = (uint64_t *)(all_numbers + warps * warp_numbers);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int tiles = (of.T + tile - 1) / tile;
    const place at = place_of((int)blockIdx.x, tiles, of);
    const int begin = at.step;       // its tile; those with the most queries first
    const int count = tiles - begin; // of tiles of queries
    const int64_t row_of_h = ((int64_t)at.sequence * of.H + at.head) * of.T;

    // Queries and dout, in ascending order: the masked ones are first.
    const pairs ring = {pair_tiles, own_full + 1, own_full + 1 + stages, count};
    const auto copy_pair = [&](int stage, int i) {
        char *to = ring.tiles + stage * 2 * tile_bytes;
        expect_bytes(ring.full + stage, 2 * tile_bytes);
        copy_tile_in(to, &qkv, at.head, (begin + i) * tile, at.sequence, ring.full + stage);
        copy_tile_in(to + tile_bytes, &dout, at.head, (begin + i) * tile, at.sequence, ring.full + stage);
    };
    const auto copy_numbers = [&](int i) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = (begin + i) * tile + 32 * half + lane;
            float *to = numbers + i % 2 * 2 * tile + 32 * half + lane;
            const bool there = row < of.T;
            const int64_t from = row_of_h + (there ? row : 0);
            __pipeline_memcpy_async(to, lse + from, sizeof *to, there ? 0 : sizeof *to);
            __pipeline_memcpy_async(to + tile, delta + from, sizeof *to, there ? 0 : sizeof *to);
        }
        __pipeline_commit();
    };
    copy_numbers(0);
    if (threadIdx.x == 0) {
        open_barrier_for(own_full, 1);
        publish_barriers();
        expect_bytes(own_full, 2 * tile_bytes);
        copy_tile_in(own, &qkv, of.H + at.head, begin * tile, at.sequence, own_full);
        copy_tile_in(own + tile_bytes, &qkv, 2 * of.H + at.head, begin * tile, at.sequence, own_full);
        ring.open(copy_pair);
    }
    __syncthreads();

    uint32_t key[channels / 16][4], value[channels / 16][4], p[tile / 16][4], ds[tile / 16][4];
    wait_for(own_full, 0);
    load_own(key, own);
    load_own(value, own + tile_bytes);

    float s[tile / 2] = {}, dp[tile / 2] = {}, dk[channels / 2] = {}, dv[channels / 2] = {};
    const float base2 = of.scale * log2_of_e;
    const float *offsets = nullptr; // lse of the lane's columns; their delta is a tile further
    const auto begin_tile = [&](int i) {
        __pipeline_wait_prior(0);
        __syncwarp(); // the numbers have arrived, and no lane reads those before
        if (i + 1 < count) { copy_numbers(i + 1); }
        offsets = numbers + i % 2 * 2 * tile + 2 * t;
        ring.wait(i);
        begin_scores<T>(s, key, ring.first(i));
        begin_scores<T>(dp, value, ring.second(i));
    };
    const auto begin_sums = [&](int i) {
        begin_sum<T>(dv, p, ring.second(i));
        begin_sum<T>(dk, ds, ring.first(i));
    };
    const auto weigh = [&] {
        pin(s);
#pragma unroll
        for (int n = 0; n < tile / 8; n++) {
            const float2 offset = *(const float2 *)(offsets + 8 * n);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                float &x = s[4 * n + e];
                x = fast_exp2(fmaf(base2, x, -log2_of_e * (e % 2 ? offset.y : offset.x)));
            }
        }
        pin(s); // else the compiler delays them until the next wait
    };
    const auto differentiate = [&] {
        pin(dp);
        pack_all<T>(p, s);
#pragma unroll
        for (int n = 0; n < tile / 8; n++) {
            const float2 middle = *(const float2 *)(offsets + tile + 8 * n);
#pragma unroll
            for (int e = 0; e < 4; e++) { s[4 * n + e] *= dp[4 * n + e] - (e % 2 ? middle.y : middle.x); }
        }
        pack_all<T>(ds, s);
    };

    begin_tile(0);
    wait_for_products<1>();
    weigh();
    const int row0 = threadIdx.x / 32 * 16 + g; // of the tile: the lane's first key; the other is row0 + 8
#pragma unroll
    for (int n = 0; n < tile / 2; n++) { // the tile on the diagonal
        if (n / 4 * 8 + 2 * t + n % 2 < row0 + n % 4 / 2 * 8) { s[n] = 0.0f; }
    }
    wait_for_products<0>();
    differentiate();
    for (int i = 1; i < count; i++) {
        begin_tile(i);
        begin_sums(i - 1);
        wait_for_products<3>();
        weigh();
        ring.refill(i - 2, copy_pair); // its branch keeps the wait below behind the exponentials
        wait_for_products<0>();
        pin(dv);
        pin(dk);
        ring.release(i - 1);
        differentiate();
    }
    begin_sums(count - 1);
    wait_for_products<0>();
    pin(dv);
    pin(dk);

    store_own<T>(own, dk, of.scale); // a warp reads and writes its own rows alone
    store_own<T>(own + tile_bytes, dv, 1.0f);
    publish_writes();
    __syncthreads();
    if (threadIdx.x == 0) {
        copy_tile_out(&dqkv, own, of.H + at.head, begin * tile, at.sequence);
        copy_tile_out(&dqkv, own + tile_bytes, 2 * of.H + at.head, begin * tile, at.sequence);
        wait_for_copies_out();
    }
#else
    (void)lse, (void)delta, (void)of; // never launched elsewhere
    __trap();
#endif
}

// ---- launches ----

template <class T>
bool has_attention_warpgroup_backward(const gpt2_device &device, const T *dqkv, const T *dout, const T *out,
                                      const T *qkv, int D) {
    return device.capability == 90 && D == channels &&
           ((uintptr_t)dqkv | (uintptr_t)dout | (uintptr_t)out | (uintptr_t)qkv) % 16 == 0;
}

template <class T>
int attention_warpgroup_backward(gpt2_device &device, T *dqkv, float *delta, const T *dout, const T *out, const T *qkv,
                                 const float *lse, int B, int T_, int H) {
    CUtensorMap to, gradients, results, from;
    TRY(describe_heads(&to, dqkv, B, T_, 3 * H));
    TRY(describe_heads(&gradients, dout, B, T_, H));
    TRY(describe_heads(&results, out, B, T_, H));
    TRY(describe_heads(&from, qkv, B, T_, 3 * H));
    TRY(cudaFuncSetAttribute(attention_warpgroup_dq_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)dq_bytes));
    TRY(cudaFuncSetAttribute(attention_warpgroup_dkv_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)dkv_bytes));
    const shape of = shape_of(B, T_, H);
    const unsigned blocks = (unsigned)((int64_t)B * H * ((T_ + tile - 1) / tile));
    attention_warpgroup_dq_kernel<T>
        <<<blocks, threads, dq_bytes, device.stream>>>(to, gradients, results, from, delta, lse, of);
    TRY(cudaGetLastError());
    attention_warpgroup_dkv_kernel<T>
        <<<blocks, threads, dkv_bytes, device.stream>>>(to, gradients, from, lse, delta, of);
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                              \
    template bool has_attention_warpgroup_backward(const gpt2_device &, const T *, const T *, const T *, const T *, \
                                                   int);                                                            \
    template int attention_warpgroup_backward(gpt2_device &, T *, float *, const T *, const T *, const T *,         \
                                              const float *, int, int, int);
INSTANTIATE(__half)
INSTANTIATE(__nv_bfloat16)

#endif
