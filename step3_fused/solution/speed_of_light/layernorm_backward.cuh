// layernorm_backward.cuh — speed of light for the backward pass of LayerNorm, with and without a residual branch
//
// dinp needs sums along the rows, dweight and dbias need sums down the columns, and x and dout should be read once. So
// the blocks stay: each walks over many rows and keeps the sums of its columns in registers until the end. Meanwhile the
// next rows are on their way: cp.async copies them into a ring in shared memory. A thread reads only what it copied
// itself, so the ring needs no barrier at all.
//
//   a warp     has a row; the warps' column sums meet in shared memory at the end
//   a block    has a row, each column belongs to one thread. The sums along a row must cross a barrier: the first pass
//              over the next row is done before the second pass over this one, so nobody waits for it
//   a cluster  of two blocks has a row, half of the columns each: the same, through distributed shared memory
//
// Each block ends with a row of partial sums. A second kernel, already there when the first one ends, adds the partial
// rows in their order: no atomics, the same bits in every run.
#ifndef SPEED_OF_LIGHT_LAYERNORM_BACKWARD_CUH
#define SPEED_OF_LIGHT_LAYERNORM_BACKWARD_CUH

#include "../reduce.cuh"
#include "../vec.cuh"
#include "common/hopper.cuh"
#include "layernorm_ring.cuh"

template <class T> struct layernorm_backward_arguments {
    T *dinp;           // (N, C)
    float *dweight;    // (C)
    float *dbias;      // (C)
    float *partial;    // (parts, 2, C): dweight's and dbias's part of each block or cluster
    const T *dout;     // (N, C)
    const T *dsum;     // (N, C) or null: added to dinp
    const T *x;        // (N, C)
    const T *weight;   // (C)
    const float *mean; // (N)
    const float *rstd; // (N)
    int N, C, parts;
    float inverse_C;
};

// What a row's xhat = (x - mean) * rstd is made of. Sums along the row are taken of x - mean, and multiplied by rstd once.
// (x * rstd - mean * rstd would be one instruction, and lose all digits of a row of equal values.)
struct layernorm_row {
    float mean, rstd;
};

// A thread's part of the weights: as floats where there are registers for them, else packed.
template <class T, int VECS> struct layernorm_weights {
    static constexpr bool unpacked = VECS * vec<T>::size <= 24;
    vec<T> packed[VECS];
    float values[VECS][vec<T>::size];

    __device__ void load(int k, const T *from) {
        packed[k] = vec_load(from);
        if (unpacked) { vec_unpack(packed[k], values[k]); }
    }
    __device__ void get(int k, float *to) const {
        if (!unpacked) { vec_unpack(packed[k], to); }
#pragma unroll
        for (int i = 0; i < vec<T>::size; i++) { to[i] = unpacked ? values[k][i] : to[i]; }
    }
};

// The first pass over one vec: the sums of g and of g * (x - mean) along the row, of dout * xhat and dout down the columns.
template <class T>
__device__ inline void layernorm_backward_sums(const vec<T> &x_vec, const vec<T> &dout_vec, const float *w,
                                               const layernorm_row &row, float2 &sums, float *dweight, float *dbias) {
    float x[vec<T>::size], d[vec<T>::size];
    vec_unpack(x_vec, x);
    vec_unpack(dout_vec, d);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) {
        float product = d[i] * (x[i] - row.mean);
        dweight[i] = fmaf(product, row.rstd, dweight[i]);
        dbias[i] += d[i];
        sums.x = fmaf(d[i], w[i], sums.x);
        sums.y = fmaf(product, w[i], sums.y);
    }
}

// The second pass: dinp = rstd (g - mean(g) - xhat mean(g xhat)), as dout * weight * rstd + (x - mean) * slope
// + offset.
template <class T, bool RESIDUAL>
__device__ inline vec<T> layernorm_backward_dinp(const vec<T> &x_vec, const vec<T> &dout_vec, const float *w,
                                                 const vec<T> &dsum, const layernorm_row &row, float2 means) {
    float x[vec<T>::size], d[vec<T>::size], r[vec<T>::size];
    vec_unpack(x_vec, x);
    vec_unpack(dout_vec, d);
    if (RESIDUAL) { vec_unpack(dsum, r); }
    float slope = -row.rstd * row.rstd * (row.rstd * means.y), offset = -row.rstd * means.x;
    // A 16-bit x has few digits to lose; and in a row of equal values the slope is 0.
    if (sizeof(T) == 2) { offset = fmaf(-row.mean, slope, offset); }
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) {
        float from_mean = sizeof(T) == 4 ? x[i] - row.mean : x[i];
        x[i] = fmaf(d[i] * w[i], row.rstd, fmaf(from_mean, slope, offset));
        if (RESIDUAL) { x[i] += r[i]; }
    }
    vec<T> result;
    vec_pack(result, x);
    return result;
}

// The groups' column sums meet in shared memory: (GROUPS, 2, C) floats. Then each thread adds four neighbouring columns,
// group after group. partial: (2, C).
template <int GROUPS, class Ring, int VECS, int size>
__device__ inline void layernorm_backward_meet(float4 *partial, float4 *shared, int group, const Ring &ring,
                                               const float (&dweight)[VECS][size], const float (&dbias)[VECS][size],
                                               int C) {
    __syncthreads(); // the ring is not needed any more
    float *mine = (float *)shared + (size_t)group * 2 * C;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (!ring.has(k)) { continue; }
#pragma unroll
        for (int i = 0; i < size; i += 4) {
            const float *w = dweight[k] + i, *b = dbias[k] + i;
            *(float4 *)(mine + ring.column(k) + i) = make_float4(w[0], w[1], w[2], w[3]);
            *(float4 *)(mine + C + ring.column(k) + i) = make_float4(b[0], b[1], b[2], b[3]);
        }
    }
    __syncthreads();
    int columns = C / 2; // float4s in two rows
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        float4 sum = shared[c];
#pragma unroll
        for (int other = 1; other < GROUPS; other++) {
            float4 more = shared[other * columns + c];
            sum = make_float4(sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w);
        }
        partial[c] = sum;
    }
}

// Row n starts for the L2, while the kernel before this one still runs: its end leaves the memory idle. For one of the
// threads that have the row.
template <bool RESIDUAL, class T>
__device__ inline void layernorm_backward_prefetch(const layernorm_backward_arguments<T> &a, long long n) {
    if (n >= a.N) { return; }
    size_t start = (size_t)n * a.C, bytes = (size_t)a.C * sizeof(T);
    prefetch_l2(a.mean + n);
    prefetch_l2(a.rstd + n);
    prefetch_l2_bulk(a.x + start, bytes);
    prefetch_l2_bulk(a.dout + start, bytes);
    if (RESIDUAL) { prefetch_l2_bulk(a.dsum + start, bytes); }
}

// ---- a warp has a row ----

// KEEP: the row is taken into registers at once, so its stage is free early; else it is read again in the second pass.
template <class T, bool RESIDUAL, int VECS, int STAGES, bool KEEP, int THREADS>
__global__ void __launch_bounds__(THREADS) layernorm_backward_warps(const layernorm_backward_arguments<T> a) {
    constexpr int size = vec<T>::size, tensors = RESIDUAL ? 3 : 2, warps = THREADS / warp_size;
    extern __shared__ uint4 ring_memory[];
    let_next_kernel_start();
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    int stride = gridDim.x * warps, n = blockIdx.x * warps + warp;
    if (starts_early && lane == 0) { layernorm_backward_prefetch<RESIDUAL>(a, n); }
    wait_for_previous_kernel();
    row_ring<T, tensors, VECS, STAGES, THREADS> ring(ring_memory, lane * size, warp_size * size, a.C);
    const T *from[3] = {a.x, a.dout, a.dsum};
    auto fetch = [&](int stage, long long n) {
        ring.fetch_statistics(stage, a.mean, a.rstd, n, a.N);
        ring.fetch(stage, from, n, a.N);
    };
    for (int stage = 0; stage < STAGES; stage++) { fetch(stage, n + (long long)stage * stride); }

    layernorm_weights<T, VECS> weight;
    float dweight[VECS][size] = {}, dbias[VECS][size] = {};
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (ring.has(k)) { weight.load(k, a.weight + ring.column(k)); }
    }
    for (int stage = 0; n < a.N; n += stride, stage = stage + 1 == STAGES ? 0 : stage + 1) {
        __pipeline_wait_prior(STAGES - 1);
        layernorm_row row = {ring.mean(stage), ring.rstd(stage)};
        float2 sums = make_float2(0.0f, 0.0f);
        vec<T> x[VECS], dout[VECS], dsum[VECS];
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!ring.has(k)) { continue; }
            x[k] = ring.get(stage, 0, k);
            dout[k] = ring.get(stage, 1, k);
            if (RESIDUAL && KEEP) { dsum[k] = ring.get(stage, 2, k); }
            float w[size];
            weight.get(k, w);
            layernorm_backward_sums(x[k], dout[k], w, row, sums, dweight[k], dbias[k]);
        }
        if (KEEP) { fetch(stage, n + (long long)STAGES * stride); }
        float2 means = make_float2(warp_sum(sums.x) * a.inverse_C, warp_sum(sums.y) * a.inverse_C);
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!ring.has(k)) { continue; }
            if (!KEEP) {
                x[k] = ring.get(stage, 0, k);
                dout[k] = ring.get(stage, 1, k);
                if (RESIDUAL) { dsum[k] = ring.get(stage, 2, k); }
            }
            float w[size];
            weight.get(k, w);
            vec<T> dinp = layernorm_backward_dinp<T, RESIDUAL>(x[k], dout[k], w, dsum[k], row, means);
            vec_store_once(a.dinp + (size_t)n * a.C + ring.column(k), dinp);
        }
        if (!KEEP) { fetch(stage, n + (long long)STAGES * stride); }
    }
    __pipeline_wait_prior(0);

    float4 *partial = (float4 *)(a.partial + (size_t)blockIdx.x * 2 * a.C);
    layernorm_backward_meet<warps>(partial, (float4 *)ring_memory, warp, ring, dweight, dbias, a.C);
}

// ---- the second stage ----

// LANES threads to a partial row, so a block takes 4 * LANES columns of dweight or dbias; the threads' sums meet at the
// end.
template <int THREADS, int LANES>
__global__ void __launch_bounds__(THREADS) layernorm_backward_finish(float *__restrict__ dweight, // (C)
                                                                     float *__restrict__ dbias,   // (C)
                                                                     const float *partial,        // (parts, 2, C)
                                                                     int parts, int C) {
    constexpr int warps = THREADS / warp_size, rows = THREADS / LANES, columns = 4 * LANES;
    __shared__ float4 shared[warps][LANES];
    let_next_kernel_start();
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    int column = blockIdx.x * columns + threadIdx.x % LANES * 4, finishing = blockIdx.x * columns + threadIdx.x;
    wait_for_previous_kernel();
    float *to = finishing < C ? dweight + finishing : dbias + (finishing - C);
    bool finishes = threadIdx.x < columns && finishing < 2 * C;
    float before = finishes ? *to : 0.0f; // on its way while the parts are added
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (column < 2 * C) {
#pragma unroll 8
        for (int part = threadIdx.x / LANES; part < parts; part += rows) {
            float4 more = __ldcg((const float4 *)(partial + (size_t)part * 2 * C + column));
            sum = make_float4(sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w);
        }
    }
#pragma unroll
    for (int offset = LANES; offset < warp_size; offset *= 2) {
        sum.x += __shfl_xor_sync(all_lanes, sum.x, offset);
        sum.y += __shfl_xor_sync(all_lanes, sum.y, offset);
        sum.z += __shfl_xor_sync(all_lanes, sum.z, offset);
        sum.w += __shfl_xor_sync(all_lanes, sum.w, offset);
    }
    if (lane < LANES) { shared[warp][lane] = sum; }
    __syncthreads();
    if (!finishes) { return; }
    float total = 0.0f;
#pragma unroll
    for (int other = 0; other < warps; other++) { total += ((const float *)shared[other])[threadIdx.x]; }
    *to = before + total;
}
#endif
