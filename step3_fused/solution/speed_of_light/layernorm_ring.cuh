// layernorm_ring.cuh — rows on their way to the threads that will use them, in shared memory
//
// A thread holds the vecs first, first + step, ... of each row. row_ring copies its part of the rows to come into
// shared memory, by cp.async where the GPU has it (sm_80), while it works on the row before. Nobody else touches these
// bytes, so waiting for one's own copies is all the synchronisation there is; and neighbouring threads have
// neighbouring 16 bytes, so there are no bank conflicts.
#ifndef SPEED_OF_LIGHT_LAYERNORM_RING_CUH
#define SPEED_OF_LIGHT_LAYERNORM_RING_CUH

#include "../vec.cuh"

#include <cuda_pipeline_primitives.h>

template <class T, int TENSORS, int VECS, int STAGES, int THREADS> struct row_ring {
    static constexpr int slots = STAGES * VECS * TENSORS * THREADS;
    static constexpr size_t bytes = slots * 16 + STAGES * 2 * THREADS * 4;
    uint4 *mine;       // my slots: mine[((stage * VECS + k) * TENSORS + tensor) * THREADS]
    float *statistics; // mean and rstd of each stage's row, for me: statistics[(stage * 2 + i) * THREADS]
    int first, step, C;

    __device__ row_ring(uint4 *shared, int first, int step, int C)
        : mine(shared + threadIdx.x), statistics((float *)(shared + slots) + threadIdx.x), first(first), step(step),
          C(C) {}

    __device__ int column(int k) const { return first + k * step; }
    // Only the last vec may be missing: whoever chooses VECS takes no more than the row needs.
    __device__ bool has(int k) const { return k + 1 < VECS || column(k) < C; }
    __device__ vec<T> get(int stage, int tensor, int k) const {
        return {mine[((stage * VECS + k) * TENSORS + tensor) * THREADS]};
    }

    __device__ float mean(int stage) const { return statistics[stage * 2 * THREADS]; }
    __device__ float rstd(int stage) const { return statistics[(stage * 2 + 1) * THREADS]; }

    // The statistics of row n, as a part of the next fetch.
    __device__ void fetch_statistics(int stage, const float *mean, const float *rstd, long long n, int N) {
        if (n >= N) { return; }
        __pipeline_memcpy_async(statistics + stage * 2 * THREADS, mean + n, 4);
        __pipeline_memcpy_async(statistics + (stage * 2 + 1) * THREADS, rstd + n, 4);
    }

    // Row n of each tensor into a stage; nothing if there is no such row. __pipeline_wait_prior(i) waits for all but
    // the last i calls.
    __device__ void fetch(int stage, const T *const *from, long long n, int N) {
        if (n < N) {
            size_t start = (size_t)n * C + first;
#pragma unroll
            for (int k = 0; k < VECS; k++) {
                if (!has(k)) { continue; }
#pragma unroll
                for (int tensor = 0; tensor < TENSORS; tensor++) {
                    __pipeline_memcpy_async(mine + ((stage * VECS + k) * TENSORS + tensor) * THREADS,
                                            from[tensor] + start + k * step, 16);
                }
            }
        }
        __pipeline_commit();
    }
};

#endif
