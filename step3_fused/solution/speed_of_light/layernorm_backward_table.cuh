// layernorm_backward_table.cuh — which kernel for which shape: the dispatcher of LayerNorm's backward pass
#ifndef SPEED_OF_LIGHT_LAYERNORM_BACKWARD_TABLE_CUH
#define SPEED_OF_LIGHT_LAYERNORM_BACKWARD_TABLE_CUH

#include "../layernorm_one_pass.cuh"
#include "../layernorm_two_directions.cuh"
#include "../layernorm_vec.cuh"
#include "choice.cuh"
#include "common/scratch.cuh"
#include "layernorm_backward.cuh"
#include "layernorm_backward_few.cuh"
#include "layernorm_backward_teams.cuh"

#include <algorithm>

// A line fits rows of (vecs - 1) * threads to vecs * threads 16-byte pieces, where `threads` is the threads that share a
// row, if the device gives a block the shared memory it asks for. The first line that fits is taken. If none does, as on a
// GPU whose blocks get 64 KB, the rows go to the kernels of layernorm_one_pass.cuh, which need less; only what is not
// aligned, or too long for them, is read twice.
//
// One block stays on each multiprocessor, for as few partial sums as can be. So a block asks for half of the shared memory
// at least: the next call's blocks start early, would find room for two on the first multiprocessor that is free, and leave
// another one empty.
template <class T> struct layernorm_backward_choice {
    int vecs, threads; // 16-byte pieces a thread, threads that have a row
    int teams;         // rows at a time in a block
    int cluster;       // blocks that have a row together
    int capability;    // from this compute capability on
    int most_rows;     // 0: any number
    size_t shared;     // the ring, bytes
    void (*kernel)(layernorm_backward_arguments<T>);
};

// few_rows: up to so many, the latency of the second stage costs more than reading x and dout twice.
// few_waves: up to so many, each warp has only some rows.
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
            row_ring<T, tensors, VECS, STAGES, threads>::bytes,
            layernorm_backward_warps<T, RESIDUAL, VECS, STAGES, true, threads>};
}

template <class T, bool RESIDUAL, int VECS, int STAGES, int THREADS, int TEAMS, int CLUSTER>
layernorm_backward_choice<T> teams_line(int capability) {
    constexpr int tensors = RESIDUAL ? 3 : 2;
    return {VECS,
            THREADS * CLUSTER,
            TEAMS,
            CLUSTER,
            capability,
            0,
            row_ring<T, tensors, VECS, STAGES, THREADS * TEAMS>::bytes,
            layernorm_backward_teams<T, RESIDUAL, VECS, STAGES, THREADS, TEAMS, CLUSTER>};
}

template <class T, bool RESIDUAL>
int layernorm_backward_launch(T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum, const T *x,
                              const T *weight, const float *mean, const float *rstd, int N, int C,
                              cudaStream_t stream) {
    // 4-byte and 16-bit elements have rows of other lengths at the same columns.
    constexpr int four = sizeof(T) == 4, narrow = four ? 96 : 128, middle = four ? 512 : 384, S = RESIDUAL ? 2 : 3;
    constexpr int S768 = RESIDUAL && !four ? 4 : 2; // of 8192 rows: 0.79 of a copy's speed on an H200, with 2: 0.77
    // clang-format off
    const layernorm_backward_choice<T> table[] = {
        //                      VECS, STAGES, WARPS       a warp has a row
        warps_line<T, RESIDUAL, 1,    3,      8>(75),
        warps_line<T, RESIDUAL, 2,    3,      8>(75),
        warps_line<T, RESIDUAL, 3,    S768,   8>(75, few_waves),          // 768 columns of 16 bits
        warps_line<T, RESIDUAL, 3,    2,      8>(75),                     // the same, less shared memory
        four ? warps_line<T, RESIDUAL, 6, 2, 8>(75, few_waves)            // 768 columns of 32 bits
             : warps_line<T, RESIDUAL, 4, 2, 8>(75),                      // 1024 columns of 16 bits
        //                      VECS, STAGES, THREADS, TEAMS, CLUSTER     a team has a row
        teams_line<T, RESIDUAL, 2,    3,      narrow,  4,     1>(75),     // 768 columns of 32 bits, 1600 of 16
        teams_line<T, RESIDUAL, 2,    3,      128,     4,     1>(75),
        teams_line<T, RESIDUAL, 3,    3,      128,     2,     1>(75),
        teams_line<T, RESIDUAL, 4,    3,      128,     2,     1>(75),     // 1600 columns of 32 bits, 4096 of 16
        teams_line<T, RESIDUAL, 2,    2,      middle,  1 + four, 1>(75),  // 4096 columns of 32 bits
        teams_line<T, RESIDUAL, 2,    2,      512,     1,     1>(75),
        teams_line<T, RESIDUAL, 3,    2,      512,     1,     1>(75),
        teams_line<T, RESIDUAL, 4,    2,      512,     1,     1>(75),     // 16384 columns of 16 bits
        teams_line<T, RESIDUAL, 3,    2,      512,     1,     2>(90),
        teams_line<T, RESIDUAL, 4,    S,      512,     1,     2>(90),     // 16384 columns of 32 bits
    };
    // clang-format on
    layernorm_backward_arguments<T> a = {dinp,   dweight, dbias, nullptr, dout, dsum, x,
                                         weight, mean,    rstd,  N,       C,    0,    1.0f / C};
    int pieces = C / vec<T>::size, capability = compute_capability(), most_shared = most_shared_memory();
    bool aligned = rows_aligned<T>(C, {dinp, dout, dsum, x, weight});
    if (aligned && N <= few_rows && pieces <= few_most_warps * warp_size && (const T *)dinp != dout) {
        unsigned threads = pieces <= 256 ? 256 : (pieces + warp_size - 1) / warp_size * warp_size;
        unsigned blocks = N + (pieces + few_vecs - 1) / few_vecs;
        return launch({blocks, threads, 1, stream}, layernorm_backward_few<T, RESIDUAL>, a);
    }
    auto shared_of = [&](const layernorm_backward_choice<T> &line) { // the ring, and later the teams' sums
        size_t meeting = line.teams > 1 ? (size_t)line.teams * 2 * C * sizeof(float) : 0;
        size_t half = capability >= 90 ? most_shared / 2 : 0; // where blocks may start early
        return std::max({line.shared, meeting, half});
    };
    auto fits = [&](const layernorm_backward_choice<T> &line) {
        return aligned && pieces > (line.vecs - 1) * line.threads && pieces <= line.vecs * line.threads &&
               (line.most_rows == 0 || N <= line.most_rows) && capability >= line.capability &&
               shared_of(line) + 1024 <= (size_t)most_shared;
    };
    const layernorm_backward_choice<T> *line = first_that_fits("layernorm_backward", table, fits);
    if (!line) { // not enough shared memory for a ring, or not aligned
        static const one_pass_form forms[] = {ONE_PASS_MEET, ONE_PASS_BLOCKS};
        for (one_pass_form form : forms) {
            int status = aligned ? one_pass_launch<T, RESIDUAL>(form, dinp, dweight, dbias, dout, dsum, x, weight, mean,
                                                                rstd, N, C, stream)
                                 : (int)cudaErrorNotSupported;
            if (status != cudaErrorNotSupported) { return status; } // else too long for its registers
        }
        return two_directions_launch<T>(dinp, dweight, dbias, dout, dsum, x, weight, mean, rstd, N, C, stream);
    }
    a.parts = multiprocessor_count() / line->cluster;
    int needed = (N - 1) / line->teams + 1;
    if (a.parts > needed) { a.parts = needed; }
#if defined(SIMT_CPU_BACKEND)
    if (line->cluster > 1) { a.parts = 1; } // its clusters take turns
#endif
    scratch partial; // (parts, 2, C)
    CUDA_CHECK(take_scratch(&partial, (size_t)a.parts * 2 * C * sizeof(float), stream));
    a.partial = partial.memory;
    unsigned blocks = a.parts * line->cluster, threads = line->threads / line->cluster * line->teams;
    int status = launch({blocks, threads, (unsigned)line->cluster, stream, shared_of(*line)}, line->kernel, a);
    if (status == cudaSuccess) {
        bool wide = C > 4096; // enough blocks: each may be smaller
        unsigned threads = wide ? 256 : 512, columns = wide ? 64 : 32;
        status = launch({(2 * C + columns - 1) / columns, threads, 1, stream},
                        wide ? layernorm_backward_finish<256, 16> : layernorm_backward_finish<512, 8>, dweight, dbias,
                        (const float *)a.partial, a.parts, C);
    }
    CUDA_CHECK(return_scratch(partial, stream));
    return status;
}

#endif
