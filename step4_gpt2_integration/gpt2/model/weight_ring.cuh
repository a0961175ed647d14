// weight_ring.cuh — the weights of a decoding step, streamed through a ring in shared memory by a warp of its own
//
// A block owns fixed rows of each matrix. They are read in units: up to 8 rows, C columns of each. A row of the MLP's second matrix has
// 4 C columns, so it is in four units, one for each piece. The order of a step's units is fixed: it depends on no result.
//
// A lane of the streaming warp requests each row of a unit as a bulk copy, and the copy engine (TMA) fetches it. All warps that
// multiply read each unit, each of them its own columns. Two mbarriers belong to a unit: `full` says that its rows are there, and
// `empty` that every warp has read them, so that other rows may take their places.
//
// The streaming warp runs ahead until the ring is full, but only `in_flight` units are being copied at a time: results of other blocks
// would queue behind more.
//
// From sm_90 on. The CPU backend has no ring: its products read the weights where they are.
#ifndef GPT2_WEIGHT_RING_CUH
#define GPT2_WEIGHT_RING_CUH

#include "common/warp.cuh"
#include "gpt2/model/mbarrier.cuh"

enum { unit_rows = 8, ring_barriers = 64 };

// The block's rows of a matrix that each layer has (kinds 0 to 3), or of the last one (kind 4).
template <class T> struct matrix_part {
    const T *weights; // the block's first row, in the first layer
    int64_t stride;   // from a layer to the next, in elements
    int first, rows;  // of the whole matrix
    int pieces;       // of C columns, in a row
};

// In shared memory, 128-byte aligned. A place holds C elements; the next one begins `stride` bytes later, an odd multiple of 64, so that
// the same columns of two rows are in different banks.
struct ring_memory {
    char *places;
    uint64_t *full, *empty; // (ring_barriers)
    int count, stride;
    int in_flight; // units
};

__host__ __device__ inline int ring_stride(int row_bytes) {
    return (row_bytes + 127) / 128 * 128 + 64;
}

// ---- barriers and copies ----

// The barriers' phases are complete after one arrival, and after one of each multiplying warp. By one thread, before any use.
__device__ inline void open_ring(const ring_memory &ring, int warps) {
#if HOPPER_PTX
    for (int i = 0; i < ring_barriers; i++) {
        mbarrier::open_barrier_for(ring.full + i, 1);
        mbarrier::open_barrier_for(ring.empty + i, (unsigned)warps);
    }
    mbarrier::publish_barriers();
#else
    (void)ring, (void)warps;
#endif
}

#if HOPPER_PTX
__device__ inline void copy_row(void *to, const void *from, unsigned bytes, uint64_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     mbarrier::address(to)),
                 "l"(from), "r"(bytes), "r"(mbarrier::address(barrier))
                 : "memory");
}

// Is unit `count` there, or read by all?
__device__ inline bool is_complete_of(uint64_t *barriers, unsigned count) {
    return mbarrier::is_complete(barriers + count % ring_barriers, count / ring_barriers % 2);
}
#endif

// The block's zeros in the ring come before copies. By the threads that wrote them, before they meet.
__device__ inline void zeros_before_copies() {
#if HOPPER_PTX
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// ---- the streaming warp ----

// The units of all steps, in their order.
template <class T> struct unit_order {
    const matrix_part<T> *parts; // (5), in shared memory
    int layers, steps;           // steps left; 0: there are no more units
    int kind = 0, layer = 0, row = 0, piece = 0;

    __device__ unit_order(const matrix_part<T> *parts, int layers, int steps)
        : parts(parts), layers(layers), steps(steps) {
        skip_empty();
    }

    __device__ int rows() const { return min((int)unit_rows, parts[kind].rows - row); }

    __device__ void advance() {
        if (++piece == parts[kind].pieces) { piece = 0, row += unit_rows; }
        skip_empty();
    }

    __device__ void skip_empty() {
        while (steps > 0 && row >= parts[kind].rows) {
            row = 0, kind++;
            if (kind == 4 && layer + 1 < layers) {
                kind = 0, layer++;
            } else if (kind == 5) {
                kind = 0, layer = 0, steps--;
            }
        }
    }
};

// By a warp: it returns when all units have been requested, or when `ended` is set, and no copy is on its way. Lane r requests row r.
template <class T>
__device__ void stream_weights(const ring_memory &ring, const matrix_part<T> *parts, int C, int layers, int steps,
                               volatile int *ended) {
#if HOPPER_PTX
    unit_order<T> next(parts, layers, steps), oldest = next; // the oldest unit in the ring
    const unsigned bytes = (unsigned)C * (unsigned)sizeof(T);
    const int lane = (int)threadIdx.x % warp_size;
    unsigned requested = 0, freed = 0;
    int free = ring.count, place = 0;
    bool stop = false;
    for (; next.steps > 0; requested++) {
        const int rows = next.rows();
        while (free < rows || requested - freed == ring_barriers) {
            while (!is_complete_of(ring.empty, freed) && !stop) { stop = *ended; }
            if (__any_sync(all_lanes, stop)) { break; }
            free += oldest.rows(), freed++;
            oldest.advance();
        }
        if (__any_sync(all_lanes, stop)) { break; }
        if (requested >= (unsigned)ring.in_flight) {
            while (!is_complete_of(ring.full, requested - ring.in_flight)) {}
        }
        const matrix_part<T> &part = parts[next.kind];
        uint64_t *full = ring.full + requested % ring_barriers;
        if (lane == 0) { mbarrier::expect_bytes(full, bytes * (unsigned)rows); }
        __syncwarp();
        if (lane < rows) {
            const int at = place + lane;
            copy_row(ring.places + (at >= ring.count ? at - ring.count : at) * ring.stride,
                     part.weights + next.layer * part.stride +
                         ((int64_t)(next.row + lane) * part.pieces + next.piece) * C,
                     bytes, full);
        }
        place += rows, free -= rows;
        place = place >= ring.count ? place - ring.count : place;
        next.advance();
    }
    for (unsigned i = requested - min(requested, (unsigned)ring.in_flight); i < requested; i++) {
        while (!is_complete_of(ring.full, i)) {}
    }
#else
    (void)ring, (void)parts, (void)C, (void)layers, (void)steps, (void)ended;
#endif
}

// ---- a multiplying warp ----

template <class T> struct unit_reader {
    ring_memory ring;
    int place = 0;
    unsigned count = 0;

    __device__ explicit unit_reader(const ring_memory &ring) : ring(ring) {}

    // Until the next `units` units are there, at most 4.
    __device__ void wait(int units) const {
#if HOPPER_PTX
        bool there;
        do {
            there = true;
#pragma unroll
            for (int i = 0; i < 4; i++) { there &= i >= units || is_complete_of(ring.full, count + i); }
        } while (!there);
#else
        (void)units;
#endif
    }

    // The row that many places after the first one of the next unit; `in_memory` is its address in the matrix.
    __device__ const T *row(int places, const T *in_memory) const {
#if HOPPER_PTX
        const int at = place + places;
        return (const T *)(ring.places + (at >= ring.count ? at - ring.count : at) * ring.stride);
#else
        (void)places;
        return in_memory;
#endif
    }

    // Every lane has read the next units, which have so many rows.
    __device__ void release(int units, int rows) {
#if HOPPER_PTX
        const unsigned lane = threadIdx.x % warp_size;
        __syncwarp();
        if (lane < units) { mbarrier::arrive(ring.empty + (count + lane) % ring_barriers); }
        count += units, place += rows;
        place = place >= ring.count ? place - ring.count : place;
#else
        (void)units, (void)rows;
#endif
    }
};

#endif
