// weight_ring.cuh — the weights of a decoding step, streamed through a ring in shared memory by warps of their own
//
// A block reads fixed rows of each matrix, or parts of rows. They are read in units of a few rows. The order of a step's units is fixed:
// it depends on no result.
//
// A lane of the streaming warps requests a row, and the copy engine (TMA) fetches it. Four warps share a unit's rows, since one alone would
// issue too few requests: it executes an instruction about every six cycles. The warps that multiply read a unit, each of them its own
// columns or rows. Two mbarriers belong to a unit: `full` says that its rows are there, and `empty` that they have been read, so that
// other rows may take their place.
//
// The streaming warps run ahead until the ring is full, but only so many bytes are being copied at a time: results of other blocks would
// queue behind more.
//
// From sm_90 on. The CPU backend has no ring: its products read the weights where they are.
#ifndef GPT2_WEIGHT_RING_CUH
#define GPT2_WEIGHT_RING_CUH

#include "common/warp.cuh"
#include "gpt2/model/mbarrier.cuh"

enum { ring_barriers = 128, streaming_warps = 4, streaming_threads = streaming_warps * 32 };

// What the block reads of a matrix that each layer has (kinds 0 to 3), or of the last one (kind 4): runs of rows that follow each other.
template <class T> struct matrix_part {
    const T *weights;                 // the first row, from the first column that is read, in the first layer
    int64_t layer_stride, run_stride; // from a layer or a run to the next, in elements
    int pitch, columns;               // from a row to the next; what is read of it
    int runs, rows;                   // rows: of a run
    int unit;                         // rows of a unit; the last of a run may have fewer
    int first, next;                  // of the matrix: the first row, and the rows from a run to the next
};

// A row begins `ring_stride` bytes after the one before in its unit, an odd multiple of 64, so that the same columns of two rows are in
// different banks.
__host__ __device__ inline int ring_stride(int row_bytes) {
    return (row_bytes + 127) / 128 * 128 + 64;
}

struct __align__(16) unit_record {
    int offset, size; // of the unit in the ring, in bytes
    int taken;        // size, and the bytes at the end of the ring that it left free
    int unused;       // so that it is one access
};

struct ring_memory {
    char *places;           // 128-byte aligned
    uint64_t *full, *empty; // (ring_barriers)
    unit_record *records;   // (ring_barriers)
    int bytes, in_flight;
};

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

// The barriers' phases are complete after an arrival of each streaming lane, and one of each warp that multiplies. By one thread, before
// any use.
__device__ inline void open_ring(const ring_memory &ring, int warps) {
#if HOPPER_PTX
    for (int i = 0; i < ring_barriers; i++) {
        mbarrier::open_barrier_for(ring.full + i, streaming_threads);
        mbarrier::open_barrier_for(ring.empty + i, (unsigned)warps);
    }
#else
    (void)ring, (void)warps;
#endif
}

// The block's zeros in the ring come before copies. By the threads that wrote them, before they meet.
__device__ inline void zeros_before_copies() {
#if HOPPER_PTX
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// ---- the streaming warps ----

#if HOPPER_PTX
// What a streaming warp knows. All of them have the same values at the same unit.
struct ring_writer {
    const ring_memory &ring;
    volatile int *ended;
    int thread;                                     // of the streaming warps
    unsigned requested = 0, freed = 0, arrived = 0; // units
    int at = 0, free, in_flight = 0;                // bytes

    __device__ ring_writer(const ring_memory &ring, int thread, volatile int *ended)
        : ring(ring), ended(ended), thread(thread), free(ring.bytes) {}

    // Until unit `count` is there, or read by all. False: no unit is needed any more.
    __device__ bool await(uint64_t *barriers, unsigned count) const {
        while (!__all_sync(all_lanes, is_complete_of(barriers, count))) {
            if (__any_sync(all_lanes, *ended)) { return false; }
        }
        return true;
    }

    __device__ bool await_arrival() {
        if (!await(ring.full, arrived)) { return false; }
        in_flight -= ring.records[arrived++ % ring_barriers].size;
        return true;
    }

    __device__ bool await_place() {
        if (!await(ring.empty, freed)) { return false; }
        if (arrived == freed && !await_arrival()) { return false; }
        free += ring.records[freed++ % ring_barriers].taken;
        return true;
    }

    // The unit's rows begin at `from`. rows: of the unit, which takes the place of part.unit. False as above.
    template <class T> __device__ bool request(const matrix_part<T> &part, const T *from, int rows) {
        const int bytes = part.columns * (int)sizeof(T), stride = ring_stride(bytes), size = part.unit * stride;
        const int place = at + size > ring.bytes ? 0 : at;
        const int taken = size + (place == at ? 0 : ring.bytes - at);
        while (free < taken || requested - freed == ring_barriers) {
            if (!await_place()) { return false; }
        }
        while (in_flight + size > ring.in_flight && arrived != requested) {
            if (!await_arrival()) { return false; }
        }
        if (thread == 0) { ring.records[requested % ring_barriers] = {place, size, taken, 0}; }
        __syncwarp();
        uint64_t *full = ring.full + requested % ring_barriers;
        const int row = thread / warp_size + thread % warp_size * streaming_warps;
        if (row < rows) {
            mbarrier::expect_bytes(full, (unsigned)bytes);
            copy_row(ring.places + place + row * stride, from + (int64_t)row * part.pitch, (unsigned)bytes, full);
        } else {
            mbarrier::arrive(full);
        }
        at = place + size, free -= taken, in_flight += size, requested++;
        return true;
    }

    // Until no copy is on its way. A warp that was told to end earlier than others has no rows of their last units.
    __device__ void finish() {
        __shared__ unsigned by_warp[streaming_warps];
        by_warp[thread / warp_size] = requested;
        asm volatile("bar.sync 2, %0;" ::"n"((int)streaming_threads) : "memory");
        for (int i = 0; i < streaming_warps; i++) {
            for (; requested < by_warp[i]; requested++) { mbarrier::arrive(ring.full + requested % ring_barriers); }
        }
        for (; arrived != requested; arrived++) {
            while (!is_complete_of(ring.full, arrived)) {}
        }
    }
};

template <class T, class Begin>
__device__ void stream_steps(ring_writer &writer, const matrix_part<T> *parts, int layers, int steps,
                             Begin begin_layer) {
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i <= 4 * layers; i++) {
            if (i % 4 == 0) { begin_layer(i / 4); }
            const matrix_part<T> &part = parts[i < 4 * layers ? i % 4 : 4];
            const T *of_run = part.weights + (i < 4 * layers ? i / 4 : 0) * part.layer_stride;
            for (int run = 0; run < part.runs; run++, of_run += part.run_stride) {
                for (int row = 0; row < part.rows; row += part.unit) {
                    if (!writer.request(part, of_run + (int64_t)row * part.pitch, min(part.unit, part.rows - row))) {
                        return;
                    }
                }
            }
        }
    }
}
#endif

// By all streaming warps: they return when all units of all steps have been requested, or when `ended` is set, and no copy is on its way.
// parts: (5), in shared memory. begin_layer(layer) is called before the units of a layer, or of the last matrix
template <class T, class Begin>
__device__ void stream_weights(const ring_memory &ring, int thread, const matrix_part<T> *parts, int layers, int steps,
                               volatile int *ended, Begin begin_layer) {
#if HOPPER_PTX
    ring_writer writer(ring, thread, ended);
    stream_steps(writer, parts, layers, steps, begin_layer);
    writer.finish();
#else
    (void)ring, (void)thread, (void)parts, (void)layers, (void)steps, (void)ended, (void)begin_layer;
#endif
}

// ---- a multiplying warp ----

struct unit_reader {
    ring_memory ring;
    unsigned count = 0; // units that the warp has passed

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

    // Until the unit that comes i units after the next one is there.
    __device__ void wait_for(int i) const {
#if HOPPER_PTX
        while (!is_complete_of(ring.full, count + i)) {}
#else
        (void)i;
#endif
    }

    // The first row of the unit that comes i units after the next one.
    template <class T> __device__ const T *rows(int i) const {
#if HOPPER_PTX
        return (const T *)(ring.places + ring.records[(count + i) % ring_barriers].offset);
#else
        (void)i;
        return nullptr;
#endif
    }

    // Every lane has read what it needs of the next units.
    __device__ void release(int units) {
#if HOPPER_PTX
        const unsigned lane = threadIdx.x % warp_size;
        __syncwarp();
        if (lane < (unsigned)units) { mbarrier::arrive(ring.empty + (count + lane) % ring_barriers); }
#endif
        count += (unsigned)units;
    }
};

#endif
