// row_pipeline.cuh — a pipeline of rows: the next rows are copied into shared memory while a thread works on this one
//
// A thread has the vecs at the columns first, first + step, ... of each row. It copies its own vecs of the next rows into
// its own places of shared memory (cp.async, from sm_80 on) and reads no others. So waiting for its own copies is all the
// synchronisation that it needs. Neighbouring threads have neighbouring 16 bytes: no bank conflicts.
#ifndef SPEED_OF_LIGHT_ROW_PIPELINE_CUH
#define SPEED_OF_LIGHT_ROW_PIPELINE_CUH

#include "../vec.cuh"

#include <cuda_pipeline_primitives.h>

template <class T, int TENSORS, int VECS, int STAGES, int THREADS> struct row_pipeline {
    static constexpr int slots = STAGES * VECS * TENSORS * THREADS;
    static constexpr size_t bytes = slots * 16 + STAGES * 2 * THREADS * 4;
    uint4 *mine;       // this thread's vecs: mine[((stage * VECS + k) * TENSORS + tensor) * THREADS]
    float *statistics; // this thread's copy of mean and rstd: statistics[(stage * 2 + i) * THREADS]
    int first, step, C;

    __device__ row_pipeline(uint4 *shared, int first, int step, int C)
        : mine(shared + threadIdx.x), statistics((float *)(shared + slots) + threadIdx.x), first(first), step(step),
          C(C) {}

    __device__ int column(int k) const { return first + k * step; }
    // Only the last vec may be missing: VECS is chosen as small as the row allows.
    __device__ bool has(int k) const { return k + 1 < VECS || column(k) < C; }
    __device__ vec<T> get(int stage, int tensor, int k) const {
        return {mine[((stage * VECS + k) * TENSORS + tensor) * THREADS]};
    }

    __device__ float mean(int stage) const { return statistics[stage * 2 * THREADS]; }
    __device__ float rstd(int stage) const { return statistics[(stage * 2 + 1) * THREADS]; }

    // Copies the statistics of row n; they belong to the next call of fetch.
    __device__ void fetch_statistics(int stage, const float *mean, const float *rstd, long long n, int N) {
        if (n >= N) { return; }
        __pipeline_memcpy_async(statistics + stage * 2 * THREADS, mean + n, 4);
        __pipeline_memcpy_async(statistics + (stage * 2 + 1) * THREADS, rstd + n, 4);
    }

    // Copies row n of each tensor into a stage, if there is such a row. __pipeline_wait_prior(i) waits for all calls but the
    // last i.
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
