// layernorm_forward_table.cuh — which kernel for which shape: the dispatcher of the LayerNorm family forward
#ifndef SPEED_OF_LIGHT_LAYERNORM_FORWARD_TABLE_CUH
#define SPEED_OF_LIGHT_LAYERNORM_FORWARD_TABLE_CUH

#include "choice.cuh"
#include "layernorm_forward.cuh"
#include "layernorm_forward_ring.cuh"

// A line fits rows of (vecs - 1) * threads to vecs * threads 16-byte pieces, where `threads` is the threads that share a
// row, and up to most_rows rows, if the device gives a block the shared memory that it asks for. The first line that fits
// is taken.
constexpr size_t own_shared = 1024; // at most, beside the ring

template <class T> struct layernorm_forward_choice {
    int vecs, threads; // 16-byte pieces a thread, threads that share a row (0: a thread for each piece)
    int most_rows;     // 0: any number
    int rows;          // at a time in a block
    int blocks;        // a multiprocessor, for blocks that stay; 0: as many as it takes
    int capability;    // from this compute capability on
    size_t shared;     // the ring, bytes
    void (*kernel)(layernorm_forward_arguments<T>);
};

template <class T, residual_at AT, int VECS, int ROWS = 4, row_form FORM = row_form::usual>
layernorm_forward_choice<T> warps_line(int most_rows = 0) {
    return {VECS, warp_size, most_rows, ROWS, 0, 75, 0, layernorm_forward_warps<T, AT, VECS, ROWS, FORM>};
}
template <class T, residual_at AT, int VECS, int THREADS, row_form FORM = row_form::usual>
layernorm_forward_choice<T> blocks_line(int most_rows = 0) {
    return {VECS, THREADS, most_rows, 1, 0, 75, 0, layernorm_forward_blocks<T, AT, VECS, THREADS, FORM>};
}
template <class T, residual_at AT, bool WARP, int VECS, int STAGES, int THREADS, int BLOCKS>
layernorm_forward_choice<T> ring_line(int most_rows) {
    constexpr int tensors = AT == residual_at::nowhere ? 1 : 2;
    return {VECS,
            WARP ? warp_size : THREADS,
            most_rows,
            WARP ? THREADS / warp_size : 1,
            BLOCKS,
            80,
            row_ring<T, tensors, VECS, STAGES, THREADS>::bytes,
            layernorm_forward_ring<T, AT, WARP, VECS, STAGES, THREADS, BLOCKS>};
}

template <class T, residual_at AT> int layernorm_forward_launch(layernorm_forward_arguments<T> a, cudaStream_t stream) {
    constexpr bool wide = sizeof(T) == 4;
    constexpr int one_wave = 264, few_waves = 20000; // rows
    constexpr int V = wide ? 6 : 3, S = wide ? 2 : 3;
    // Where the residual comes last. In the notes: of a copy's speed on an H200 this way, and the usual way.
    constexpr bool after = AT == residual_at::after;
    constexpr int R = after && !wide ? 16 : 4;
    constexpr row_form stays = after && !wide ? row_form::out_stays : row_form::usual;
    constexpr row_form at_once = after && wide ? row_form::residual_at_once : row_form::usual;
    constexpr row_form to_l2 = after && !wide ? row_form::residual_to_l2 : row_form::usual;
    // 768 columns of 32 bits: an access a thread for each tensor, but two, from fewer threads, where there are more rows.
    constexpr row_form now = row_form::all_at_once;
    constexpr bool plain = wide && AT == residual_at::nowhere;
    constexpr int T768 = wide ? 192 : 96, V768 = wide ? 2 : 1, few = 16;
    // clang-format off
    const layernorm_forward_choice<T> table[] = {
        //                 VECS, THREADS                        latency is all: everything is asked for at once
        blocks_line<T, AT, 1,    T768, now>(few),               // 768 columns
        blocks_line<T, AT, V768, 96,   now>(one_wave),          // the same, in 16 bits the same kernel
        blocks_line<T, AT, 1,    0,    now>(one_wave),          // one access a thread for each tensor
        //               WARP,  VECS, STAGES, THREADS, BLOCKS   the next rows on their way, weights in registers
        ring_line<T, AT, true,  V,    S,      512,     1>(few_waves), // 768 columns
        wide ? blocks_line<T, AT, 2, 256>()                     // 1600 columns of 32 bits
             : ring_line<T, AT, false, 4, 3, 64, 8>(few_waves), // 1600 columns of 16 bits
        //                VECS                                  a warp has a row
        warps_line<T, AT, 1>(),
        warps_line<T, AT, 2>(),
        warps_line<T, AT, 3>(few_waves),                        // 768 columns of 16 bits
        warps_line<T, AT, 3, R, stays>(),                       // of 65536 rows: 0.98, 0.95
        warps_line<T, AT, 4>(),
        //                 VECS, THREADS                        a block has a row
        blocks_line<T, AT, 2,    128>(),                        // 768 columns of 32 bits
        blocks_line<T, AT, 3,    128>(),
        blocks_line<T, AT, 4,    128>(),                        // 4096 columns of 16 bits
        blocks_line<T, AT, 3,    256>(),
        plain ? blocks_line<T, AT, 2, 512, row_form::out_stays>() // 4096 columns of 32 bits
              : blocks_line<T, AT, 4, 256>(),
        blocks_line<T, AT, 8,    512, at_once>(),               // 16384 columns of 32 bits: 0.98, 0.94
        blocks_line<T, AT, 3,    512>(),
        blocks_line<T, AT, 4,    512, to_l2>(),                 // 16384 columns of 16 bits: 0.95, 0.85
        blocks_line<T, AT, 3,    1024>(),
        blocks_line<T, AT, 4,    1024>(),
    };
    // clang-format on
    bool aligned = rows_aligned<T>(a.C, {a.out, a.sum, a.x, a.residual, a.weight, a.bias});
    int pieces = a.C / vec<T>::size, capability = compute_capability(), most_shared = most_shared_memory();
    a.inverse_C = 1.0f / a.C;
    auto threads_of = [&](const layernorm_forward_choice<T> &line) {
        return line.threads ? line.threads : (pieces + warp_size - 1) / warp_size * warp_size;
    };
    auto fits = [&](const layernorm_forward_choice<T> &line) {
        int threads = threads_of(line);
        return aligned && pieces > (line.vecs - 1) * threads && pieces <= line.vecs * threads && threads <= 1024 &&
               (line.most_rows == 0 || a.N <= line.most_rows) && capability >= line.capability &&
               line.shared + own_shared <= (size_t)most_shared;
    };
    const layernorm_forward_choice<T> *line = first_that_fits("layernorm_forward", table, fits);
    if (!line) {
        unsigned threads = a.C >= 2048 ? 512 : 128;
        return launch({(unsigned)a.N, threads, 1, stream}, layernorm_forward_any<T, AT>, a);
    }
    int blocks = (a.N - 1) / line->rows + 1;
    if (line->blocks && blocks > line->blocks * multiprocessor_count()) {
        blocks = line->blocks * multiprocessor_count();
    }
    unsigned threads = threads_of(*line) * line->rows;
    return launch({(unsigned)blocks, threads, 1, stream, line->shared}, line->kernel, a);
}

#endif
