// weight_stream.cuh — the weights of a decoding step, streamed through shared memory ahead of their use
//
// A block owns fixed rows of each matrix. A row is cut into slices of 32 vectors of 16 bytes, one for each lane. The items of a
// matrix are the slices of the block's rows: all rows of the first slice, then of the next. Each warp has an equal part of the
// items, in order. So a warp has a list of items for a whole step: its items of the first matrix, of the second, and so on. After
// the last matrix the list begins again.
//
// A warp copies its items into its own ring in shared memory (cp.async) up to `depth` items before it needs them. The addresses do
// not depend on any result, so copies continue while the block waits for another one. A lane reads only what it has copied. So
// waiting for its own copies is all the synchronisation that it needs.
//
// From sm_80 on. 124M in bf16 on 132 multiprocessors: a layer has 13 to 16 items a warp, and 23 items are 184 KB a block, or 24 MB
// on the whole GPU.
#ifndef GPT2_WEIGHT_STREAM_CUH
#define GPT2_WEIGHT_STREAM_CUH

#include "gpt2/model/step_math.cuh"
#include "gpt2/model/tensor_core.cuh"
#include "gpt2/model/vec16.cuh"

namespace weight_stream_sizes {
enum { warps = 16, threads = warps * warp_size, depth = 23, together = 4 };
}

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

template <int pending> __device__ inline void wait_for_copies() { // all but the last `pending` commits
#if TENSOR_CORE_PTX
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

__device__ inline void commit_copies() {
#if TENSOR_CORE_PTX
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <class T> struct weight_stream {
    static constexpr int size = vec16<T>::size, width = warp_size * size; // elements of a lane, of a slice
    static constexpr int depth = weight_stream_sizes::depth, together = weight_stream_sizes::together;

    uint4 *ring;                 // this lane's places: ring[item * 32]
    const matrix_part<T> *parts; // (5), in shared memory
    int layers, put = 0, get = 0, free = 0;
    // The next item to copy.
    const T *next = nullptr;
    int kind = -1, layer = 0, steps, left = 0, row = 0, slice = 0;

    __device__ weight_stream(uint4 *shared, const matrix_part<T> *parts, int layers, int steps)
        : ring(shared + threadIdx.x / warp_size * depth * warp_size + threadIdx.x % warp_size), parts(parts),
          layers(layers), steps(steps) {
        free = depth;
        refill();
    }

    // Copies items to all free places. After a product it is called when the results have been published, because others wait for them.
    __device__ void refill() {
        for (; free > 0; free--) { request(); }
    }

    __device__ int column() const { return slice * width + (int)threadIdx.x % warp_size * size; }

    __device__ void place() {
        const matrix_part<T> &part = parts[kind];
        next = part.weights + layer * part.stride + (int64_t)row * part.columns + column();
    }

    // The next matrix. After the last one of the last step there is none.
    __device__ void open() {
        kind++;
        if (kind == 4 && layer + 1 < layers) {
            kind = 0, layer++;
        } else if (kind == 5) {
            kind = 0, layer = 0;
            if (--steps == 0) { return; }
        }
        const int warp = threadIdx.x / warp_size, from = first_item(parts[kind], warp);
        left = first_item(parts[kind], warp + 1) - from;
        if (left == 0) { return; }
        slice = from / parts[kind].rows, row = from % parts[kind].rows;
        place();
    }

    // Copies an item, if there is another one.
    __device__ void request() {
        while (left == 0 && steps > 0) { open(); }
        if (left > 0) {
            const matrix_part<T> &part = parts[kind];
            bool inside = column() < part.columns;
            copy_or_zero(ring + put * warp_size, inside ? next : part.weights, inside);
            put = put + 1 == depth ? 0 : put + 1;
            left--;
            if (++row == part.rows) {
                row = 0, slice++;
                place();
            } else {
                next += part.columns;
            }
        }
        commit_copies();
    }

    // sums[i] = the product of item i of the current matrix with its slice of x, for the warp's items. x: (columns), in shared memory.
    __device__ void multiply(float *sums, const float *x, const matrix_part<T> &part) {
        const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
        const int begin = first_item(part, warp), end = first_item(part, warp + 1);
        if (begin == end) { return; }
        int at_slice = begin / part.rows, at_row = begin % part.rows;
        float own[size]; // of x: this lane's part of the slice
        load_x(own, x, at_slice, part.columns);
        for (int item = begin; item < end; item += together) {
            const int count = min(end - item, (int)together);
            float sum[together];
            vec16<T> weights[together];
            refill();
            wait_for_copies<depth - together>();
#pragma unroll
            for (int i = 0; i < together; i++) {
                if (i < count) {
                    weights[i] = {ring[get * warp_size]};
                    get = get + 1 == depth ? 0 : get + 1;
                }
            }
#pragma unroll
            for (int i = 0; i < together; i++) {
                sum[i] = 0.0f;
                if (i >= count) { continue; }
                if (at_row == part.rows) {
                    at_row = 0, at_slice++;
                    load_x(own, x, at_slice, part.columns);
                }
                at_row++;
                float values[size];
                unpack(values, weights[i]);
#pragma unroll
                for (int e = 0; e < size; e++) { sum[i] += values[e] * own[e]; }
            }
            free = count;
            float y = over_warp(sum);
            constexpr int lanes_each = warp_size / together;
            if (lane % lanes_each == 0 && lane / lanes_each < count) { sums[item + lane / lanes_each] = y; }
        }
    }

    __device__ static void load_x(float (&own)[size], const float *x, int slice, int columns) {
        const int c = slice * width + (int)threadIdx.x % warp_size * size;
#pragma unroll
        for (int e = 0; e < size; e += 4) {
            float4 four = c < columns ? *(const float4 *)(x + c + e) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            own[e] = four.x, own[e + 1] = four.y, own[e + 2] = four.z, own[e + 3] = four.w;
        }
    }

    __device__ void finish() {
        wait_for_copies<0>();
    } // before the kernel ends
};

#endif
