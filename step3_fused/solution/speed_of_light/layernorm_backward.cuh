// layernorm_backward.cuh — speed of light for the backward pass of LayerNorm, with and without a residual branch
//
// dinp needs sums along the rows, dweight and dbias need sums down the columns, and x and dout should be read once. So the
// blocks are persistent: each walks over many rows and keeps the sums of its columns in registers until the end, while
// row_pipeline.cuh copies the next rows into shared memory.
//
//   layernorm_backward_warps    a warp has a row; the column sums of a block's warps are added in shared memory at the end
//   layernorm_backward_groups   several warps, a block, or a cluster of two blocks has a row
//   layernorm_backward_finish   the second stage: each block has written a row of partial sums, and this kernel adds them in
//                               a fixed order: no atomics, the same bits in every run
//   layernorm_backward_few      few rows: one kernel computes both directions
//
// layernorm_backward_table.cuh chooses.
#ifndef SPEED_OF_LIGHT_LAYERNORM_BACKWARD_CUH
#define SPEED_OF_LIGHT_LAYERNORM_BACKWARD_CUH

#include "../reduce.cuh"
#include "../vec.cuh"
#include "hopper.cuh"
#include "row_pipeline.cuh"

template <class T> struct layernorm_backward_arguments {
    T *dinp;           // (N, C)
    float *dweight;    // (C)
    float *dbias;      // (C)
    float *partial;    // (parts, 2, C): partial sums of dweight and dbias, of each block or cluster
    const T *dout;     // (N, C)
    const T *dsum;     // (N, C) or null: added to dinp
    const T *x;        // (N, C)
    const T *weight;   // (C)
    const float *mean; // (N)
    const float *rstd; // (N)
    int N, C, parts;
    float inverse_C;
};

// Statistics for xhat = (x - mean) * rstd. Sums along the row are taken of x - mean and multiplied by rstd once.
// (x * rstd - mean * rstd would be one instruction, but loses all digits in a row of equal values.)
struct layernorm_row {
    float mean, rstd;
};

// A thread's weights: as floats where there are registers for them, else packed.
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
    // One instruction less is exact enough for a 16-bit x; in a row of equal values the slope is 0.
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

// The column sums of all groups go to shared memory, (GROUPS, 2, C) floats. Then each thread adds four neighbouring columns,
// group after group. partial: (2, C).
template <int GROUPS, class Pipeline, int VECS, int size>
__device__ inline void layernorm_backward_combine(float4 *partial, float4 *shared, int group, const Pipeline &pipeline,
                                                  const float (&dweight)[VECS][size], const float (&dbias)[VECS][size],
                                                  int C) {
    __syncthreads(); // all warps are done with the pipeline, whose memory is used again
    float *mine = (float *)shared + (size_t)group * 2 * C;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (!pipeline.has(k)) { continue; }
#pragma unroll
        for (int i = 0; i < size; i += 4) {
            const float *w = dweight[k] + i, *b = dbias[k] + i;
            *(float4 *)(mine + pipeline.column(k) + i) = make_float4(w[0], w[1], w[2], w[3]);
            *(float4 *)(mine + C + pipeline.column(k) + i) = make_float4(b[0], b[1], b[2], b[3]);
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

// Prefetches row n into L2 before the dependency wait: the end of the previous kernel leaves the memory idle. Called by one
// thread of a row.
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

// KEEP: the row goes to registers in the first pass, which frees its stage early; else the second pass reads it again.
template <class T, bool RESIDUAL, int VECS, int STAGES, bool KEEP, int THREADS>
__global__ void __launch_bounds__(THREADS) layernorm_backward_warps(const layernorm_backward_arguments<T> a) {
    constexpr int size = vec<T>::size, tensors = RESIDUAL ? 3 : 2, warps = THREADS / warp_size;
    extern __shared__ uint4 pipeline_memory[];
    let_next_kernel_start();
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    int stride = gridDim.x * warps, n = blockIdx.x * warps + warp;
    if (starts_early && lane == 0) { layernorm_backward_prefetch<RESIDUAL>(a, n); }
    wait_for_previous_kernel();
    row_pipeline<T, tensors, VECS, STAGES, THREADS> pipeline(pipeline_memory, lane * size, warp_size * size, a.C);
    const T *from[3] = {a.x, a.dout, a.dsum};
    auto fetch = [&](int stage, long long n) {
        pipeline.fetch_statistics(stage, a.mean, a.rstd, n, a.N);
        pipeline.fetch(stage, from, n, a.N);
    };
    for (int stage = 0; stage < STAGES; stage++) { fetch(stage, n + (long long)stage * stride); }

    layernorm_weights<T, VECS> weight;
    float dweight[VECS][size] = {}, dbias[VECS][size] = {};
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (pipeline.has(k)) { weight.load(k, a.weight + pipeline.column(k)); }
    }
    for (int stage = 0; n < a.N; n += stride, stage = stage + 1 == STAGES ? 0 : stage + 1) {
        __pipeline_wait_prior(STAGES - 1);
        layernorm_row row = {pipeline.mean(stage), pipeline.rstd(stage)};
        float2 sums = make_float2(0.0f, 0.0f);
        vec<T> x[VECS], dout[VECS], dsum[VECS];
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!pipeline.has(k)) { continue; }
            x[k] = pipeline.get(stage, 0, k);
            dout[k] = pipeline.get(stage, 1, k);
            if (RESIDUAL && KEEP) { dsum[k] = pipeline.get(stage, 2, k); }
            float w[size];
            weight.get(k, w);
            layernorm_backward_sums(x[k], dout[k], w, row, sums, dweight[k], dbias[k]);
        }
        if (KEEP) { fetch(stage, n + (long long)STAGES * stride); }
        float2 means = make_float2(warp_sum(sums.x) * a.inverse_C, warp_sum(sums.y) * a.inverse_C);
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!pipeline.has(k)) { continue; }
            if (!KEEP) {
                x[k] = pipeline.get(stage, 0, k);
                dout[k] = pipeline.get(stage, 1, k);
                if (RESIDUAL) { dsum[k] = pipeline.get(stage, 2, k); }
            }
            float w[size];
            weight.get(k, w);
            vec<T> dinp = layernorm_backward_dinp<T, RESIDUAL>(x[k], dout[k], w, dsum[k], row, means);
            vec_store_once(a.dinp + (size_t)n * a.C + pipeline.column(k), dinp);
        }
        if (!KEEP) { fetch(stage, n + (long long)STAGES * stride); }
    }
    __pipeline_wait_prior(0);

    float4 *partial = (float4 *)(a.partial + (size_t)blockIdx.x * 2 * a.C);
    layernorm_backward_combine<warps>(partial, (float4 *)pipeline_memory, warp, pipeline, dweight, dbias, a.C);
}

// ---- a group of threads has a row: some warps of a block, a whole block, or a cluster of two blocks ----
//
// The blocks of a cluster have half of the columns each. The sums along a row must cross a barrier. To hide the wait, the
// first pass over the next row comes before the second pass over this row.

// THREADS: of a group, or of each block of a cluster. GROUPS: of a block that is not in a cluster. A multiprocessor has one
// block: with this launch bound the compiler gives each of 256 threads as many registers as it needs, and spills none.
template <class T, bool RESIDUAL, int VECS, int STAGES, int THREADS, int GROUPS, int CLUSTER>
__global__ void __launch_bounds__(THREADS *GROUPS, THREADS *GROUPS <= 256 ? 1 : 0)
    layernorm_backward_groups(const layernorm_backward_arguments<T> a) {
    constexpr int size = vec<T>::size, tensors = RESIDUAL ? 3 : 2, warps = THREADS / warp_size, parts = warps * CLUSTER;
    static_assert(STAGES >= 2 && (GROUPS == 1 || CLUSTER == 1),
                  "this row and the next one; several groups, or a cluster");
    extern __shared__ uint4 pipeline_memory[];
    __shared__ float2 exchanged[GROUPS * 2 * parts]; // the sums of each warp of a group, for two rows
    let_next_kernel_start();
    int lane = threadIdx.x % warp_size, group = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
    int rank = cluster_rank<CLUSTER>(), place = rank * warps + thread / warp_size;
    int number = cluster_number<CLUSTER>(), stride = a.parts * GROUPS, n = number + group * a.parts;
    constexpr int early = GROUPS == 1 ? STAGES : 1; // rows
    if (starts_early && thread == 0 && rank == 0) {
#pragma unroll 1
        for (int i = 0; i < early; i++) { layernorm_backward_prefetch<RESIDUAL>(a, n + (long long)i * stride); }
    }
    wait_for_previous_kernel();
    float2 *exchange = exchanged + group * 2 * parts;
    row_pipeline<T, tensors, VECS, STAGES, THREADS * GROUPS> pipeline(pipeline_memory, (rank * THREADS + thread) * size,
                                                                      CLUSTER * THREADS * size, a.C);
    const T *from[3] = {a.x, a.dout, a.dsum};
    // mean and rstd go through the pipeline too, but where a row takes few instructions two more copies cost more than two
    // registers.
    constexpr bool through_pipeline = sizeof(T) == 4 || VECS > 2;
    auto fetch = [&](int stage, long long n) {
        if (through_pipeline) { pipeline.fetch_statistics(stage, a.mean, a.rstd, n, a.N); }
        pipeline.fetch(stage, from, n, a.N);
    };
    auto statistics = [&](int stage, long long n) {
        if (through_pipeline) { return make_float2(pipeline.mean(stage), pipeline.rstd(stage)); }
        return n < a.N ? make_float2(a.mean[n], a.rstd[n]) : make_float2(0.0f, 0.0f);
    };
    for (int stage = 0; stage < STAGES; stage++) { fetch(stage, n + (long long)stage * stride); }

    layernorm_weights<T, VECS> weight;
    float dweight[VECS][size] = {}, dbias[VECS][size] = {};
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (pipeline.has(k)) { weight.load(k, a.weight + pipeline.column(k)); }
    }
    // The first pass over the row in `stage`; each warp puts its sums for the other warps of the group.
    auto first_pass = [&](int stage, int parity, const layernorm_row &row) {
        float2 sums = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!pipeline.has(k)) { continue; }
            float w[size];
            weight.get(k, w);
            layernorm_backward_sums(pipeline.get(stage, 0, k), pipeline.get(stage, 1, k), w, row, sums, dweight[k],
                                    dbias[k]);
        }
        sums = make_float2(warp_sum(sums.x), warp_sum(sums.y));
        exchange_put<CLUSTER>(exchange, parity * parts + place, sums);
    };
    auto barrier = [&]() {
        if (GROUPS > 1) {
            group_barrier(group, THREADS);
        } else {
            exchange_wait<CLUSTER>();
        }
    };
    exchange_start<CLUSTER>();
    __pipeline_wait_prior(STAGES - 1);
    float2 next_row = make_float2(0.0f, 0.0f);
    layernorm_row row = {0.0f, 0.0f};
    if (n < a.N) {
        float2 this_row = statistics(0, n);
        row = {this_row.x, this_row.y};
        if (!through_pipeline) { next_row = statistics(0, n + (long long)stride); }
        first_pass(0, 0, row);
    }
    exchange_arrive<CLUSTER>();
    barrier();
    // All groups of a block take part in equally many rounds, in the last one some without a row.
    for (int round = number, stage = 0, parity = 0; round < a.N; round += stride, n += stride, parity ^= 1) {
        float2 sums = make_float2(0.0f, 0.0f);
        if (n >= a.N) {
            // no row, no sums
        } else if (parts <= 8) {
#pragma unroll
            for (int part = 0; part < parts; part++) {
                float2 more = exchange_get<CLUSTER>(exchange, parity * parts + part);
                sums = make_float2(sums.x + more.x, sums.y + more.y);
            }
        } else {
            for (int part = lane; part < parts; part += warp_size) {
                float2 more = exchange_get<CLUSTER>(exchange, parity * parts + part);
                sums = make_float2(sums.x + more.x, sums.y + more.y);
            }
            sums = make_float2(warp_sum(sums.x), warp_sum(sums.y));
        }
        float2 means = make_float2(sums.x * a.inverse_C, sums.y * a.inverse_C);
        int next = stage + 1 == STAGES ? 0 : stage + 1;
        layernorm_row coming = {next_row.x, next_row.y};
        if (!through_pipeline) { next_row = statistics(0, n + 2LL * stride); } // one row before it is needed
        if (n < a.N - stride) {
            __pipeline_wait_prior(STAGES - 2);
            if (through_pipeline) { coming = {pipeline.mean(next), pipeline.rstd(next)}; }
            first_pass(next, parity ^ 1, coming);
        }
        exchange_arrive<CLUSTER>();
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!pipeline.has(k) || n >= a.N) { continue; }
            float w[size];
            weight.get(k, w);
            vec<T> dinp = layernorm_backward_dinp<T, RESIDUAL>(pipeline.get(stage, 0, k), pipeline.get(stage, 1, k), w,
                                                               pipeline.get(stage, RESIDUAL ? 2 : 0, k), row, means);
            vec_store_once(a.dinp + (size_t)n * a.C + pipeline.column(k), dinp);
        }
        fetch(stage, n + (long long)STAGES * stride);
        stage = next;
        row = coming;
        barrier();
    }
    __pipeline_wait_prior(0);

    float *partial = a.partial + (size_t)number * 2 * a.C; // (2, C)
    if constexpr (GROUPS > 1) {
        layernorm_backward_combine<GROUPS>((float4 *)partial, (float4 *)pipeline_memory, group, pipeline, dweight,
                                           dbias, a.C);
    } else {
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!pipeline.has(k)) { continue; }
#pragma unroll
            for (int i = 0; i < size; i += 4) {
                const float *w = dweight[k] + i, *b = dbias[k] + i;
                *(float4 *)(partial + pipeline.column(k) + i) = make_float4(w[0], w[1], w[2], w[3]);
                *(float4 *)(partial + a.C + pipeline.column(k) + i) = make_float4(b[0], b[1], b[2], b[3]);
            }
        }
    }
}

// ---- the second stage ----

// LANES threads read a partial row, so a block adds 4 * LANES columns of dweight and dbias. The threads of a column combine
// their sums at the end.
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
    float before = finishes ? *to : 0.0f; // in flight while the parts are added
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

// ---- few rows: both directions at once ----
//
// With few rows only the latency counts, so no work waits for other work. The first N blocks each compute a row of dinp. The
// others compute 64 bytes of columns of dweight and dbias each, for which they read x and dout again, from L2. There are no
// partial sums and no second stage. dinp may not be dout here, which the other blocks still read.

enum { few_vecs = 4, few_most_warps = 32 }; // vecs of columns of a block; warps of a block, at most

// One vec a thread: all loads are in flight at once.
template <class T, bool RESIDUAL>
__device__ inline void layernorm_backward_few_row(const layernorm_backward_arguments<T> &a, float2 *shared) {
    int c = threadIdx.x * vec<T>::size;
    size_t at = (size_t)blockIdx.x * a.C + c;
    bool has = c < a.C;
    float2 sums = make_float2(0.0f, 0.0f);
    float weight[vec<T>::size], unused[2][vec<T>::size] = {};
    vec<T> x, dout, dsum;
    if (has) {
        x = vec_load(a.x + at);
        dout = vec_load(a.dout + at);
        vec_unpack(vec_load(a.weight + c), weight);
        if (RESIDUAL) { dsum = vec_load(a.dsum + at); }
    }
    layernorm_row row = {a.mean[blockIdx.x], a.rstd[blockIdx.x]};
    if (has) { layernorm_backward_sums(x, dout, weight, row, sums, unused[0], unused[1]); }

    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    sums = make_float2(warp_sum(sums.x), warp_sum(sums.y));
    if (lane == 0) { shared[warp] = sums; }
    __syncthreads();
    float2 part = lane < warps ? shared[lane] : make_float2(0.0f, 0.0f);
    float2 means = make_float2(warp_sum(part.x) * a.inverse_C, warp_sum(part.y) * a.inverse_C);
    if (has) { vec_store(a.dinp + at, layernorm_backward_dinp<T, RESIDUAL>(x, dout, weight, dsum, row, means)); }
}

// A thread takes one vec of every (threads / 4)-th row. shared: (warps, 4, 2 sizes)
template <class T>
__device__ inline void layernorm_backward_few_columns(const layernorm_backward_arguments<T> &a, float *shared) {
    constexpr int size = vec<T>::size, sums = few_vecs * 2 * size; // of a block, one for each thread
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    int start = (blockIdx.x - a.N) * few_vecs * size, c = start + threadIdx.x % few_vecs * size;

    int finishing = start + threadIdx.x / (2 * size) * size + threadIdx.x % size;
    bool finishes = threadIdx.x < sums && finishing < a.C;
    float *to = (threadIdx.x % (2 * size) < size ? a.dweight : a.dbias) + finishing;
    float before = finishes ? *to : 0.0f;

    float dweight[size] = {}, dbias[size] = {}, weight[size] = {};
    float2 row = make_float2(0.0f, 0.0f);
    if (c < a.C) {
#pragma unroll 4
        for (int n = threadIdx.x / few_vecs; n < a.N; n += blockDim.x / few_vecs) {
            vec<T> x = vec_load(a.x + (size_t)n * a.C + c), dout = vec_load(a.dout + (size_t)n * a.C + c);
            layernorm_backward_sums(x, dout, weight, layernorm_row{a.mean[n], a.rstd[n]}, row, dweight, dbias);
        }
    }
#pragma unroll
    for (int i = 0; i < size; i++) {
#pragma unroll
        for (int offset = few_vecs; offset < warp_size; offset *= 2) {
            dweight[i] += __shfl_xor_sync(all_lanes, dweight[i], offset);
            dbias[i] += __shfl_xor_sync(all_lanes, dbias[i], offset);
        }
        if (lane < few_vecs) {
            shared[warp * sums + lane * 2 * size + i] = dweight[i];
            shared[warp * sums + lane * 2 * size + size + i] = dbias[i];
        }
    }
    __syncthreads();
    if (!finishes) { return; }
    float even = 0.0f, odd = 0.0f; // two short sums keep more digits than a long one
    for (int other = 0; other < warps; other += 2) {
        even += shared[other * sums + threadIdx.x];
        if (other + 1 < warps) { odd += shared[(other + 1) * sums + threadIdx.x]; }
    }
    *to = before + (even + odd);
}

template <class T, bool RESIDUAL>
__global__ void __launch_bounds__(few_most_warps *warp_size)
    layernorm_backward_few(const layernorm_backward_arguments<T> a) {
    __shared__ __align__(16) float shared[few_most_warps * few_vecs * 2 * vec<T>::size];
    let_next_kernel_start();
    int c = threadIdx.x * vec<T>::size;
    if (starts_early && blockIdx.x < (unsigned)a.N && c < a.C) {
        size_t at = (size_t)blockIdx.x * a.C + c;
        prefetch_l2(a.x + at);
        prefetch_l2(a.dout + at);
        if (RESIDUAL) { prefetch_l2(a.dsum + at); }
        if (blockIdx.x == 0) { prefetch_l2(a.weight + c); }
    }
    wait_for_previous_kernel();
    if (blockIdx.x < (unsigned)a.N) {
        layernorm_backward_few_row<T, RESIDUAL>(a, (float2 *)shared);
    } else {
        layernorm_backward_few_columns<T>(a, shared);
    }
}

#endif
