// weight_stream.cuh — the weights of a decoding step, streamed through shared memory ahead of their use
//
// A block owns fixed rows of each matrix. A row is cut into slices of `vectors` x 32 vectors of 16 bytes: `vectors` for each lane.
// The items of a matrix are the slices of the block's rows: all rows of the first slice, then of the next. Each warp has an equal
// part of the items, in order. So a warp has a list of items for a whole step: its items of the first matrix, of the second, and so
// on. After the last matrix the list begins again.
//
// A warp has its items copied into its own ring in shared memory up to `depth` items before it needs them. The addresses do not
// depend on any result, so copies continue while the block waits for another one.
//
// The copies are bulk copies: one lane requests an item, the copy engine (TMA) fetches it, and an mbarrier says when it is there.
// Copies of each lane's own 16 bytes (cp.async) take the way of loads instead, in order: a load issued after them waits for
// all of them, so that a wait for another block's result would last as long as the ring takes to fill.
//
// From sm_90 on. 124M in bf16 on 132 multiprocessors: a layer is 107 KB a block, and the ring 176 KB, or 23 MB on the whole GPU.
#ifndef GPT2_WEIGHT_STREAM_CUH
#define GPT2_WEIGHT_STREAM_CUH

#include "common/dependent_launch.cuh"
#include "gpt2/model/step_math.cuh"
#include "gpt2/model/vec16.cuh"

namespace weight_stream_sizes {
enum { warps = 16, threads = warps * warp_size, together = 4, vectors = 2, item_bytes = vectors * warp_size * 16 };
enum { depth = 184 * 1024 / (warps * item_bytes) };
} // namespace weight_stream_sizes

// The block's rows of a matrix that each layer has (kinds 0 to 3), or of the last one (kind 4).
template <class T> struct matrix_part {
    const T *weights; // (rows, columns): of the first layer
    int64_t stride;   // from a layer to the next, in elements
    int first, rows;  // of the whole matrix
    int columns, slices;
};

// Of a warp. The number of warps is a power of two.
template <class T> __device__ int first_item(const matrix_part<T> &part, int warp) {
    return part.rows * part.slices * warp / weight_stream_sizes::warps;
}

// ---- a copy of an item, and its barrier ----

__device__ inline unsigned shared_address(const void *at) {
    return (unsigned)__cvta_generic_to_shared(at);
}

__device__ inline void open_barrier(uint64_t *barrier) {
#if HOPPER_PTX
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
#else
    (void)barrier;
#endif
}

// Before the first copy that uses them.
__device__ inline void barriers_are_open() {
#if HOPPER_PTX
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// By one lane. Addresses and bytes are multiples of 16.
__device__ inline void request_copy(uint4 *to, const void *from, unsigned bytes, uint64_t *barrier) {
#if HOPPER_PTX
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
#else
    (void)barrier;
    for (unsigned i = 0; i < bytes / sizeof(uint4); i++) { to[i] = ((const uint4 *)from)[i]; }
#endif
}

__device__ inline void wait_for_copy(uint64_t *barrier, unsigned parity) {
#if HOPPER_PTX
    unsigned done = 0;
    while (!done) {
        asm volatile("{\n\t.reg .pred done;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, done;\n\t}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    }
#else
    (void)barrier, (void)parity;
    __syncwarp(); // the copying lane has been here before
#endif
}

// What a warp has copied next: of its lane 0, in shared memory, because registers are scarce.
template <class T> struct item_requests {
    const T *next;
    int kind, layer, steps, left, row, slice, place;
};

template <class T> struct weight_stream {
    static constexpr int size = vec16<T>::size, vectors = weight_stream_sizes::vectors;
    static constexpr int chunk = warp_size * size, width = vectors * chunk; // elements of a vector each, of a slice
    static constexpr int depth = weight_stream_sizes::depth, together = weight_stream_sizes::together;
    static constexpr int place_vectors = vectors * warp_size, places = weight_stream_sizes::warps * depth;
    static constexpr size_t bytes =
        (size_t)places * (place_vectors * sizeof(uint4) + sizeof(uint64_t)); // of shared memory
    static_assert(bytes % sizeof(uint4) == 0);

    uint4 *ring;                      // the warp's places: (depth, vectors, 32)
    uint64_t *barriers;               // (depth)
    item_requests<T> *requests;       // the warp's
    const matrix_part<T> *parts;      // (5), in shared memory
    int layers, get = 0, pending = 0; // pending: of lane 0
    unsigned parity = 0;              // of the barrier at `get`

    // shared: ring and barriers of all warps; all_requests: (warps)
    __device__ weight_stream(uint4 *shared, item_requests<T> *all_requests, const matrix_part<T> *parts, int layers,
                             int steps)
        : ring(shared + threadIdx.x / warp_size * depth * place_vectors),
          barriers((uint64_t *)(shared + places * place_vectors) + threadIdx.x / warp_size * depth),
          requests(all_requests + threadIdx.x / warp_size), parts(parts), layers(layers) {
        if (threadIdx.x % warp_size == 0) {
            for (int i = 0; i < depth; i++) { open_barrier(barriers + i); }
            barriers_are_open();
            *requests = {nullptr, -1, 0, steps, 0, 0, 0, 0};
        }
        refill();
    }

    // Requests items for all free places. After a product it is called when the results have been published, because others wait for
    // them.
    __device__ void refill() {
        if (threadIdx.x % warp_size == 0 && pending < depth) {
            item_requests<T> state = *requests;
            while (pending < depth && request(state)) { pending++; }
            *requests = state;
        }
        __syncwarp();
    }

    __device__ void place(item_requests<T> &of) const {
        const matrix_part<T> &part = parts[of.kind];
        of.next = part.weights + of.layer * part.stride + (int64_t)of.row * part.columns + of.slice * width;
    }

    // The next matrix. After the last one of the last step there is none.
    __device__ void open(item_requests<T> &of) const {
        of.kind++;
        if (of.kind == 4 && of.layer + 1 < layers) {
            of.kind = 0, of.layer++;
        } else if (of.kind == 5) {
            of.kind = 0, of.layer = 0;
            if (--of.steps == 0) { return; }
        }
        const int warp = threadIdx.x / warp_size, from = first_item(parts[of.kind], warp);
        of.left = first_item(parts[of.kind], warp + 1) - from;
        if (of.left == 0) { return; }
        of.slice = from / parts[of.kind].rows, of.row = from % parts[of.kind].rows;
        place(of);
    }

    // Requests an item, if there is another one.
    __device__ bool request(item_requests<T> &of) const {
        while (of.left == 0) {
            if (of.steps == 0) { return false; }
            open(of);
        }
        const matrix_part<T> &part = parts[of.kind];
        const unsigned bytes = (unsigned)min(part.columns - of.slice * width, (int)width) * (unsigned)sizeof(T);
        request_copy(ring + of.place * place_vectors, of.next, bytes, barriers + of.place);
        of.place = of.place + 1 == depth ? 0 : of.place + 1;
        of.left--;
        if (++of.row == part.rows) {
            of.row = 0, of.slice++;
            place(of);
        } else {
            of.next += part.columns;
        }
        return true;
    }

    __device__ void advance() {
        if (++get == depth) { get = 0, parity ^= 1; }
    }

    // sums[i] = the product of item i of the current matrix with its slice of x, for the warp's items. x: (columns), in shared memory.
    __device__ void multiply(float *sums, const float *x, const matrix_part<T> &part) {
        const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
        const int end = first_item(part, warp + 1), columns = part.columns;
        int item = first_item(part, warp);
        if (item == end) { return; }
        int at_slice = item / part.rows, left = (at_slice + 1) * part.rows - item; // of the slice
        float own[vectors][size]; // of x: this lane's part of the slice
        load_x(own, x, at_slice, columns);
        while (item < end) {
            if (left == 0) {
                left = part.rows, at_slice++;
                load_x(own, x, at_slice, columns);
            }
            const int count = min(min(end - item, left), (int)together);
            vec16<T> weights[together][vectors] = {};
            float sum[together] = {};
            refill();
#pragma unroll
            for (int i = 0; i < together; i++) {
                if (i >= count) { break; }
                wait_for_copy(barriers + get, parity);
                const uint4 *from = ring + get * place_vectors + lane;
                advance();
#pragma unroll
                for (int v = 0; v < vectors; v++) {
                    if (at_slice * width + v * chunk + lane * size < columns) {
                        weights[i][v].bits = from[v * warp_size];
                    }
                }
            }
#pragma unroll
            for (int v = 0; v < vectors; v++) {
#pragma unroll
                for (int i = 0; i < together; i++) {
                    float values[size];
                    unpack(values, weights[i][v]);
#pragma unroll
                    for (int e = 0; e < size; e++) { sum[i] += values[e] * own[v][e]; }
                }
            }
            const float y = over_warp(sum);
            __syncwarp(); // every lane has read its weights: the places are free
            constexpr int lanes_each = warp_size / together;
            if (lane % lanes_each == 0 && lane / lanes_each < count) { sums[item + lane / lanes_each] = y; }
            pending -= count, item += count, left -= count;
        }
    }

    __device__ static void load_x(float (&own)[vectors][size], const float *x, int slice, int columns) {
#pragma unroll
        for (int v = 0; v < vectors; v++) {
            const int c = slice * width + v * chunk + (int)threadIdx.x % warp_size * size;
#pragma unroll
            for (int e = 0; e < size; e += 4) {
                float4 four = c < columns ? *(const float4 *)(x + c + e) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                own[v][e] = four.x, own[v][e + 1] = four.y, own[v][e + 2] = four.z, own[v][e + 3] = four.w;
            }
        }
    }

    // Before the kernel ends: waits for the copies that no product reads, which write to shared memory too.
    __device__ void finish() {
        pending = __shfl_sync(all_lanes, pending, 0);
        for (; pending > 0; pending--) {
            wait_for_copy(barriers + get, parity);
            advance();
        }
    }
};

#endif
