// layernorm_forward_ring.cuh — the LayerNorm family forward with blocks that stay
//
// Each block walks over rows. Weight and bias stay in registers, and the next rows are on their way, through a ring in
// shared memory, while this one is computed. Best where the rows are few enough that all of them are asked for in the
// first moments; with many rows, fresh blocks in their natural order use the memory better.
#ifndef SPEED_OF_LIGHT_LAYERNORM_FORWARD_RING_CUH
#define SPEED_OF_LIGHT_LAYERNORM_FORWARD_RING_CUH

#include "layernorm_forward.cuh"
#include "layernorm_ring.cuh"

// WARP: a warp has a row, else a block. BLOCKS: that stay on a multiprocessor.
template <class T, residual_at AT, bool WARP, int VECS, int STAGES, int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS) layernorm_forward_ring(const layernorm_forward_arguments<T> a) {
    constexpr int size = vec<T>::size, tensors = AT == residual_at::nowhere ? 1 : 2, warps = THREADS / warp_size;
    constexpr int WARPS = WARP ? 1 : warps; // that share a row
    extern __shared__ uint4 ring_memory[];
    __shared__ float2 shared[2 * warp_size];
    let_next_kernel_start();
    int thread = WARP ? threadIdx.x % warp_size : threadIdx.x, warp = threadIdx.x / warp_size;
    int stride = WARP ? gridDim.x * warps : gridDim.x, n = WARP ? blockIdx.x * warps + warp : blockIdx.x;
    if (starts_early && thread == 0 && n < a.N) { // the first row, while the kernel before this one still runs
        size_t start = (size_t)n * a.C, bytes = (size_t)a.C * sizeof(T);
        prefetch_l2_bulk(a.x + start, bytes);
        if (AT != residual_at::nowhere) { prefetch_l2_bulk(a.residual + start, bytes); }
    }
    wait_for_previous_kernel();
    row_ring<T, tensors, VECS, STAGES, THREADS> ring(ring_memory, thread * size, (WARP ? warp_size : THREADS) * size,
                                                     a.C);
    const T *from[2] = {a.x, a.residual};
    for (int stage = 0; stage < STAGES; stage++) { ring.fetch(stage, from, n + (long long)stage * stride, a.N); }
    vec<T> weight[VECS], bias[VECS];
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (ring.has(k)) {
            weight[k] = vec_load(a.weight + ring.column(k));
            bias[k] = vec_load(a.bias + ring.column(k));
        }
    }
    for (int stage = 0; n < a.N; n += stride, stage = stage + 1 == STAGES ? 0 : stage + 1) {
        __pipeline_wait_prior(STAGES - 1);
        size_t start = (size_t)n * a.C;
        vec<T> row[VECS], added[VECS];
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!ring.has(k)) { continue; }
            row[k] = ring.get(stage, 0, k);
            if (AT == residual_at::after) { added[k] = ring.get(stage, 1, k); }
            if (AT == residual_at::before) {
                row[k] = vec_add(row[k], ring.get(stage, 1, k));
                vec_store_once(a.sum + start + ring.column(k), row[k]);
            }
            float x[size];
            vec_unpack(row[k], x);
#pragma unroll
            for (int i = 0; i < size; i++) { sum += x[i]; }
        }
        ring.fetch(stage, from, n + (long long)STAGES * stride, a.N);
        float mean = row_sum<WARPS>(sum, (float *)shared) * a.inverse_C;
        float2 distances = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!ring.has(k)) { continue; }
            float x[size];
            vec_unpack(row[k], x);
#pragma unroll
            for (int i = 0; i < size; i++) {
                float distance = x[i] - mean;
                if (sizeof(T) == 4) { distances.x += distance; }
                distances.y = fmaf(distance, distance, distances.y);
            }
        }
        float2 statistics = row_statistics<T, WARPS>(a, mean, distances, shared + warp_size);
        mean = statistics.x;
        float rstd = statistics.y;
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!ring.has(k)) { continue; }
            float x[size], w[size], b[size], r[size];
            vec_unpack(row[k], x);
            vec_unpack(weight[k], w);
            vec_unpack(bias[k], b);
            if (AT == residual_at::after) { vec_unpack(added[k], r); }
#pragma unroll
            for (int i = 0; i < size; i++) {
                x[i] = fmaf((x[i] - mean) * rstd, w[i], b[i]);
                if (AT == residual_at::after) { x[i] += r[i]; }
            }
            vec_pack(row[k], x);
            vec_store_once(a.out + start + ring.column(k), row[k]);
        }
        if (thread == 0) {
            a.mean[n] = mean;
            a.rstd[n] = rstd;
        }
    }
    __pipeline_wait_prior(0);
}

#endif
