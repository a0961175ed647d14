// layernorm_backward_table.cuh — the dispatch table of LayerNorm's backward pass
#ifndef SPEED_OF_LIGHT_LAYERNORM_BACKWARD_TABLE_CUH
#define SPEED_OF_LIGHT_LAYERNORM_BACKWARD_TABLE_CUH

#include "../layernorm_one_pass.cuh"
#include "../layernorm_two_directions.cuh"
#include "../layernorm_vec.cuh"
#include "launch.cuh"
#include "layernorm_backward.cuh"
#include "scratch.cuh"

#include <algorithm>

// The first line that fits is chosen. A line fits rows of more than (vecs - 1) * threads and at most vecs * threads vecs, if a
// block of this device may have so much shared memory. If no line fits, as on a GPU with 64 KB for a block, the rows go to
// the kernels of layernorm_one_pass.cuh, which need less. Only rows that are not aligned, or too long for those, are read
// twice.
//
// Each multiprocessor has one block, for as few partial sums as possible. A kernel that starts early must also be spread
// evenly: two blocks of the next call would fit on the first multiprocessor that is free, and another would stay empty. So a
// block takes at least half of the shared memory.
template <class T> struct layernorm_backward_choice {
    int vecs, threads; // vecs of a thread, threads of a row
    int groups;        // of a block: rows at a time
    int cluster;       // blocks of a row
    int capability;    // compute capability, at least
    int most_rows;     // 0: any number
    size_t shared;     // bytes of the pipeline
    void (*kernel)(layernorm_backward_arguments<T>);
};

// Up to few_rows rows the latency of the second stage costs more than reading x and dout twice. Up to few_waves rows each
// warp has only some of them.
enum { few_rows = 512, few_waves = 20000 };

template <class T, bool RESIDUAL, int VECS, int STAGES, int WARPS>
layernorm_backward_choice<T> warps_line(int capability, int most_rows = 0) {
    constexpr int tensors = RESIDUAL ? 3 : 2, threads = WARPS * warp_size;
    return {VECS,
            warp_size,
            WARPS,
            1,
            capability,
            most_rows,
            row_pipeline<T, tensors, VECS, STAGES, threads>::bytes,
            layernorm_backward_warps<T, RESIDUAL, VECS, STAGES, true, threads>};
}

template <class T, bool RESIDUAL, int VECS, int STAGES, int THREADS, int GROUPS, int CLUSTER>
layernorm_backward_choice<T> groups_line(int capability) {
    constexpr int tensors = RESIDUAL ? 3 : 2;
    return {VECS,
            THREADS * CLUSTER,
            GROUPS,
            CLUSTER,
            capability,
            0,
            row_pipeline<T, tensors, VECS, STAGES, THREADS * GROUPS>::bytes,
            layernorm_backward_groups<T, RESIDUAL, VECS, STAGES, THREADS, GROUPS, CLUSTER>};
}

template <class T, bool RESIDUAL>
int layernorm_backward_launch(T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum, const T *x,
                              const T *weight, const float *mean, const float *rstd, int N, int C,
                              cudaStream_t stream) {
    // The same number of columns is twice as many vecs in 32 bits as in 16.
    constexpr int four = sizeof(T) == 4, narrow = four ? 96 : 128, middle = four ? 512 : 384, S = RESIDUAL ? 2 : 3;
    constexpr int S768 = RESIDUAL && !four ? 4 : 2; // 8192 rows on an H200: 0.79 of a copy, with 2 stages 0.77
    // clang-format off
    const layernorm_backward_choice<T> table[] = {
        // Columns: vecs of a thread, rows in flight, warps of a block (compute capability, rows at most)
        //                      VECS, STAGES, WARPS       a warp has a row
        warps_line<T, RESIDUAL, 1,    3,      8>(75),
        warps_line<T, RESIDUAL, 2,    3,      8>(75),
        warps_line<T, RESIDUAL, 3,    S768,   8>(75, few_waves),          // 768 columns of 16 bits
        warps_line<T, RESIDUAL, 3,    2,      8>(75),                     // the same, less shared memory
        four ? warps_line<T, RESIDUAL, 6, 2, 8>(75, few_waves)            // 768 columns of 32 bits
             : warps_line<T, RESIDUAL, 4, 2, 8>(75),                      // 1024 columns of 16 bits
        // Columns: the same, threads of a group in a block, groups of a block, blocks of a cluster
        //                      VECS, STAGES, THREADS, GROUPS, CLUSTER    a group has a row
        groups_line<T, RESIDUAL, 2,    3,      narrow,  4,     1>(75),     // 768 columns of 32 bits, 1600 of 16
        groups_line<T, RESIDUAL, 2,    3,      128,     4,     1>(75),
        groups_line<T, RESIDUAL, 3,    3,      128,     2,     1>(75),
        groups_line<T, RESIDUAL, 4,    3,      128,     2,     1>(75),     // 1600 columns of 32 bits, 4096 of 16
        groups_line<T, RESIDUAL, 2,    2,      middle,  1 + four, 1>(75),  // 4096 columns of 32 bits
        groups_line<T, RESIDUAL, 2,    2,      512,     1,     1>(75),
        groups_line<T, RESIDUAL, 3,    2,      512,     1,     1>(75),
        groups_line<T, RESIDUAL, 4,    2,      512,     1,     1>(75),     // 16384 columns of 16 bits
        groups_line<T, RESIDUAL, 3,    2,      512,     1,     2>(90),
        groups_line<T, RESIDUAL, 4,    S,      512,     1,     2>(90),     // 16384 columns of 32 bits
    };
    // clang-format on
    layernorm_backward_arguments<T> a = {dinp,   dweight, dbias, nullptr, dout, dsum, x,
                                         weight, mean,    rstd,  N,       C,    0,    1.0f / C};
    int row_vecs = C / vec<T>::size, capability = compute_capability(), most_shared = most_shared_memory();
    bool aligned = rows_aligned<T>(C, {dinp, dout, dsum, x, weight});
    if (aligned && N <= few_rows && row_vecs <= few_most_warps * warp_size && (const T *)dinp != dout) {
        unsigned threads = row_vecs <= 256 ? 256 : (row_vecs + warp_size - 1) / warp_size * warp_size;
        unsigned blocks = N + (row_vecs + few_vecs - 1) / few_vecs;
        return launch({blocks, threads, stream}, layernorm_backward_few<T, RESIDUAL>, a);
    }
    auto shared_of =
        [&](const layernorm_backward_choice<T> &line) { // of the pipeline, and later of the sums of the groups
            size_t combined = line.groups > 1 ? (size_t)line.groups * 2 * C * sizeof(float) : 0;
            size_t half = capability >= 90 ? most_shared / 2 : 0; // where a kernel may start early
            return std::max({line.shared, combined, half});
        };
    auto fits = [&](const layernorm_backward_choice<T> &line) {
        return aligned && row_vecs > (line.vecs - 1) * line.threads && row_vecs <= line.vecs * line.threads &&
               (line.most_rows == 0 || N <= line.most_rows) && capability >= line.capability &&
               shared_of(line) + 1024 <= (size_t)most_shared;
    };
    const layernorm_backward_choice<T> *line = first_that_fits("layernorm_backward", table, fits);
    if (!line) { // not enough shared memory for a pipeline, or not aligned
        static const one_pass_form forms[] = {ONE_PASS_COMBINED, ONE_PASS_BLOCKS};
        for (one_pass_form form : forms) {
            int status = aligned ? one_pass_launch<T, RESIDUAL>(form, dinp, dweight, dbias, dout, dsum, x, weight, mean,
                                                                rstd, N, C, stream)
                                 : (int)cudaErrorNotSupported;
            if (status != cudaErrorNotSupported) { return status; } // else the row is too long for its registers
        }
        return two_directions_launch<T>(dinp, dweight, dbias, dout, dsum, x, weight, mean, rstd, N, C, stream);
    }
    a.parts = multiprocessor_count() / line->cluster;
    int needed = (N - 1) / line->groups + 1;
    if (a.parts > needed) { a.parts = needed; }
#if defined(SIMT_CPU_BACKEND)
    if (line->cluster > 1) { a.parts = 1; } // where clusters run one after the other
#endif
    scratch partial; // (parts, 2, C)
    CUDA_CHECK(take_scratch(&partial, (size_t)a.parts * 2 * C * sizeof(float), stream));
    a.partial = partial.memory;
    unsigned blocks = a.parts * line->cluster, threads = line->threads / line->cluster * line->groups;
    int status = launch_clusters({blocks, threads, stream, shared_of(*line)}, line->cluster, line->kernel, a);
    if (status == cudaSuccess) {
        bool wide = C > 4096; // there are enough blocks for smaller ones
        unsigned threads = wide ? 256 : 512, columns = wide ? 64 : 32;
        status = launch({(2 * C + columns - 1) / columns, threads, stream},
                        wide ? layernorm_backward_finish<256, 16> : layernorm_backward_finish<512, 8>, dweight, dbias,
                        (const float *)a.partial, a.parts, C);
    }
    CUDA_CHECK(return_scratch(partial, stream));
    return status;
}

#endif
