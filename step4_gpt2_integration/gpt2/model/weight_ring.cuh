// weight_ring.cuh — the weights of a decoding step, streamed through a ring in shared memory by warps of their own
//
// A block reads fixed parts of each matrix, box by box: four whole rows, or 64 bytes of each of its rows. In a 16-bit type both
// have as many bytes, and a place of the ring holds either. So it is with eight rows of codes of 8 bits. The order of a step's
// boxes is fixed: it depends on no result.
//
// A streaming thread requests a box by one instruction, and the copy engine (TMA) fetches it. Two mbarriers belong to a place:
// `full` says that its box is there, and `empty` that it has been read, so that another may take its place. The threads run
// ahead until the ring is full, but only so many boxes are being copied at a time: results of other blocks would queue behind
// more.
//
// In its place a box has columns of 64 bytes, one after the other. So eight lanes that read 16 bytes each, four of a row and
// four of the next, find them in different banks.
//
// From sm_90 on. The CPU backend has no ring: its products read the weights where they are.
#ifndef GPT2_WEIGHT_RING_CUH
#define GPT2_WEIGHT_RING_CUH

#include "common/warp.cuh"
#include "gpt2/model/mbarrier.cuh"
#include "gpt2/model/packets.cuh"

#include <algorithm>

#if !defined(SIMT_CPU_BACKEND)
#include "gpt2/model/tensor_map.cuh"
#endif

enum { most_places = 64, most_streamers = 3, column_bytes = 64, bytes_in_flight = 32 * 1024 };
enum { qkv, projection, fc, mlp, logits, kinds }; // a matrix of each layer, or the last one

template <class T> constexpr int box_columns = column_bytes / (int)sizeof(T);
template <class T> constexpr int box_rows = sizeof(T) == 1 ? 8 : 4;

// What the block reads of a matrix: runs of rows that follow each other, whole, or some columns of them.
template <class T> struct matrix_part {
    const T *weights;      // the matrix, in the first layer
    int64_t layer_stride;  // elements from a layer to the next
    int pitch;             // columns of the matrix
    int row, column;       // the first that is read
    int rows, columns;     // of a run
    int runs, next;        // at most three; rows from one to the next
    int whole;             // are the rows read whole? Then columns is pitch
    int boxes;             // of a run
    int value = 0;         // the first row's number among the values that its cluster computes
    int values_of_run = 0; // of the cluster
};

// The matrices as the copy engine sees them.
struct weight_maps {
#if defined(SIMT_CPU_BACKEND)
    int none;
#else
    CUtensorMap of[kinds];
#endif
};

struct ring_memory {
    char *boxes;            // (places), each of `bytes`, 128-byte aligned
    uint64_t *full, *empty; // (places)
    int places, bytes;
    int streamers;            // streaming warps, at most most_streamers. `places` is a multiple of them
    int of_whole, of_columns; // bytes that a box of either kind has
};

// The phase of a place's barriers changes each time that the ring comes round.
struct ring_place {
    int index = 0;
    unsigned parity = 0;

    __device__ ring_place after(int count, int places) const { // count: at most `places`
        const int next = index + count;
        return next < places ? ring_place{next, parity} : ring_place{next - places, parity ^ 1};
    }
};

// By one thread, before any use. warps: those that multiply
__device__ inline void open_ring(const ring_memory &ring, int warps) {
#if HOPPER_PTX
    for (int i = 0; i < ring.places; i++) {
        mbarrier::open_barrier_for(ring.full + i, 1);
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
__device__ inline void copy_box(void *to, const CUtensorMap *from, int column, int row, int layer, uint64_t *barrier,
                                uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(mbarrier::address(to)),
        "l"(from), "r"(column), "r"(row), "r"(0), "r"(layer), "r"(mbarrier::address(barrier)), "l"(policy)
        : "memory");
}

// Of a streaming warp's thread. The threads request boxes in turn, and each has its own places.
struct ring_writer {
    const ring_memory &ring;
    block_flags *flags;
    wait_state *waits;
    ring_place next, before;     // of the thread's next box, and of the one that must be there before it is requested
    int left;                    // boxes of others until the thread's next one
    uint64_t policy;             // weights are the first that leave L2: they come again only in the next step
    int together, requested = 0; // boxes that are copied at the same time; that were requested

    __device__ ring_writer(const ring_memory &ring, int warp, block_flags *flags, wait_state *waits)
        : ring(ring), flags(flags), waits(waits), next(ring_place().after(warp, ring.places)), left(warp),
          together(min(ring.places / ring.streamers, (bytes_in_flight - 1) / (ring.streamers * ring.bytes) + 1)) {
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    }

    // False: no box is needed any more. The block gives up when it has read nothing for too long.
    __device__ bool await(uint64_t *barrier, unsigned parity) const {
        wait_limit limit(waits);
        while (!mbarrier::is_complete(barrier, parity)) {
            if (atomicOr(&flags->finished, 0) != 0) { return false; }
            if (limit.passed()) { atomicExch(&flags->given_up, 1); }
        }
        return true;
    }

    // False as above.
    template <class T> __device__ bool request(const matrix_part<T> &part, const CUtensorMap *from, int layer) {
        const int of_run = part.boxes, boxes = part.runs * of_run;
        const int bytes = part.whole ? ring.of_whole : ring.of_columns;
        int box = left;
        for (; box < boxes; box += ring.streamers) {
            // In the first round no place has been read: of its barrier the phase before the first counts as complete.
            if (!await(ring.empty + next.index, next.parity ^ 1)) { return false; }
            if (requested >= together) {
                if (!await(ring.full + before.index, before.parity)) { return false; }
                before = before.after(ring.streamers, ring.places);
            } else if (requested == 0) {
                before = next;
            }
            int run = 0, in_run = box;
            for (; in_run >= of_run; in_run -= of_run) { run++; }
            const int row = part.row + run * part.next + (part.whole ? in_run * box_rows<T> : 0);
            const int column = part.column + (part.whole ? 0 : in_run * box_columns<T>);
            uint64_t *full = ring.full + next.index;
            mbarrier::expect_bytes(full, (unsigned)bytes);
            copy_box(ring.boxes + next.index * ring.bytes, from, column, row, layer, full, policy);
            next = next.after(ring.streamers, ring.places), requested++;
        }
        left = box - boxes;
        return true;
    }

    // Until all its boxes have been read, if they are needed, and no copy is on its way.
    __device__ void finish(bool needed) {
        for (int i = ring.streamers; i <= ring.places && needed; i += ring.streamers) {
            needed = await(ring.empty + next.index, next.parity ^ 1);
            next = next.after(ring.streamers, ring.places);
        }
        for (int i = min(requested, together); i > 0; i--) {
            mbarrier::wait_for(ring.full + before.index, before.parity);
            before = before.after(ring.streamers, ring.places);
        }
    }
};
#endif

// By one thread of each streaming warp: it returns when all its boxes of all steps have been read, or when the block has
// finished, and no copy of them is on its way. It sees when the block waits for too long.
// parts: (kinds), in shared memory. waits: wait_limit. begin_layer(layer) is called before the boxes of a layer, or of the
// last matrix
template <class T, class Begin>
__device__ void stream_weights(const ring_memory &ring, int warp, const matrix_part<T> *parts, const weight_maps &maps,
                               int layers, int steps, block_flags *flags, wait_state *waits, Begin begin_layer) {
#if HOPPER_PTX
    ring_writer writer(ring, warp, flags, waits);
    bool needed = true;
    for (int step = 0; step < steps && needed; step++) {
#pragma unroll 1
        for (int i = 0; i <= layers * logits && needed; i++) { // the layers' matrices, then the last one
            const int layer = i / logits, kind = layer < layers ? i % logits : logits;
            if (kind == 0 || kind == logits) { begin_layer(layer); }
            needed = writer.request(parts[kind], maps.of + kind, kind == logits ? 0 : layer);
        }
    }
    writer.finish(needed);
#else
    (void)ring, (void)warp, (void)parts, (void)maps, (void)layers, (void)steps, (void)flags, (void)waits,
        (void)begin_layer;
#endif
}

// ---- a multiplying warp ----

struct box_reader {
    ring_memory ring;
    ring_place next; // of the first box that the warp has not read

    __device__ explicit box_reader(const ring_memory &ring) : ring(ring) {}

    // Are the next `count` boxes there, at most warp_size?
    __device__ bool are_there(int count) const {
#if HOPPER_PTX
        const int lane = (int)threadIdx.x % warp_size;
        const ring_place place = next.after(lane, ring.places);
        return __all_sync(all_lanes, lane >= count || mbarrier::is_complete(ring.full + place.index, place.parity));
#else
        (void)count;
        return true;
#endif
    }

    // Until they are.
    __device__ void wait(int count) const {
        while (!are_there(count)) {}
        __syncwarp();
    }

    // Row `row` of the box that comes i boxes after the next one, in its first column of 64 bytes. Of whole rows the next
    // column comes box_rows<T> rows later.
    template <class T> __device__ const T *row_of(int i, int row) const {
        return (const T *)(ring.boxes + next.after(i, ring.places).index * ring.bytes + row * column_bytes);
    }

    // Every lane has read what it needs of the next boxes, at most warp_size.
    __device__ void release(int count) {
#if HOPPER_PTX
        const int lane = (int)threadIdx.x % warp_size;
        __syncwarp();
        if (lane < count) { mbarrier::arrive(ring.empty + next.after(lane, ring.places).index); }
        next = next.after(count, ring.places);
#else
        (void)count;
#endif
    }
};

// ---- on the host ----

// A box of whole rows of C elements, in bytes.
template <class T> int bytes_of_whole_rows(int C) {
    return (C + box_columns<T> - 1) / box_columns<T> * box_rows<T> * column_bytes;
}

#if !defined(SIMT_CPU_BACKEND)
// A matrix (layers, rows, columns), layer_stride elements from a layer to the next, in boxes of so many rows and columns.
template <class T>
int describe_weights(CUtensorMap *map, const T *weights, int layers, int64_t layer_stride, int rows, int columns,
                     int box_of_rows, int box_of_columns) {
    const cuuint64_t pitch = (cuuint64_t)columns * sizeof(T), layer = (cuuint64_t)layer_stride * sizeof(T);
    const cuuint32_t chunks = (cuuint32_t)((box_of_columns + box_columns<T> - 1) / box_columns<T>);
    return describe_tensor<T>(map, weights, {(cuuint64_t)columns, (cuuint64_t)rows, chunks, (cuuint64_t)layers},
                              {pitch, column_bytes, std::max(layer, pitch * (cuuint64_t)rows)},
                              {(cuuint32_t)box_columns<T>, (cuuint32_t)box_of_rows, chunks, 1},
                              CU_TENSOR_MAP_SWIZZLE_NONE);
}
#endif

#endif
