// persistent_block.cuh — what a block of decode_persistent.cu knows: its share of the work, its shared memory, what others send to it
#ifndef GPT2_PERSISTENT_BLOCK_CUH
#define GPT2_PERSISTENT_BLOCK_CUH

#include "gpt2/model/persistent_task.cuh"
#include "gpt2/model/tensor_core.cuh"

// A 16-bit type does not hold a float, so x takes two rows: its upper half, and what that leaves.
template <class T> constexpr int halves = sizeof(T) == 2 ? 2 : 1;

// Of a LayerNorm's input. fp16 ends at 65504, and the residual stream times a gain may exceed that.
template <class T> constexpr float shrink = type_of<T>::file == GPT2_F16 ? 1.0f / 64.0f : 1.0f;

// Two neighbouring values as words of T: the upper halves, and what they leave.
template <class T> __device__ inline uint2 halves_of(const float (&values)[2]) {
    const uint32_t upper = pack<T>(values[0], values[1]);
    const float2 two = unpack<T>(upper);
    return make_uint2(upper, pack<T>(values[0] - two.x, values[1] - two.y));
}

template <class T> struct persistent_block {
    const persistent_task<T> &task;
    char *dynamic;
    cluster_share share;
    span columns; // of the residual stream
    // Of the rank that is the thread's number in its octet; and of the one that is its number in its quad, and each fourth one after.
    peer_memory peer, of_quad[(ranks + quad - 1) / quad];

    __device__ inbox arrivals(int barrier, unsigned bytes) const {
        return {(uint64_t *)(dynamic + task.plan.arrivals) + barrier, bytes};
    }
    // A slice of x: the columns of a warp.
    template <int W> __device__ inbox x_of_warp(int buffer, int warp) const {
        const int count = min(max(task.C - warp * W, 0), W);
        return arrivals(buffer * warps + warp, (unsigned)(count * (int)sizeof(T) * halves<T>));
    }
    __device__ inbox statistics(int buffer) const {
        return arrivals(statistics_barrier + buffer, ranks * warps * (unsigned)sizeof(float2));
    }
    __device__ inbox heads() const {
        return arrivals(heads_barrier, 3u * (unsigned)(share.heads.count * task.D) * (unsigned)sizeof(T));
    }
    __device__ inbox parts_of_heads() const {
        return arrivals(parts_barrier, (unsigned)(share.heads.count * ranks * (task.D + 2)) * (unsigned)sizeof(float));
    }
    __device__ inbox hidden() const {
        return arrivals(hidden_barrier, (unsigned)share.hidden.count * (unsigned)sizeof(T));
    }

    // Two neighbouring values to the same place in all ranks' memory, where a row of halves has `pitch` elements. A quad calls.
    __device__ void send_halves(size_t to, int pitch, const float (&values)[2], int barrier) const {
        const size_t at = task.plan.arrivals + barrier * sizeof(uint64_t);
        uint2 words = {};
        if constexpr (sizeof(T) == 2) { words = halves_of<T>(values); }
#pragma unroll
        for (int i = 0; i < (ranks + quad - 1) / quad; i++) {
            if ((int)threadIdx.x % quad + i * quad >= ranks) { continue; }
            if constexpr (sizeof(T) == 4) {
                of_quad[i].send(to, values[0], values[1], at);
            } else {
                of_quad[i].send(to, words.x, at);
                of_quad[i].send(to + pitch * sizeof(T), words.y, at);
            }
        }
    }

    // The value y of row `element` of an array of T, to the peer. Rows follow each other from octet to octet, an even one first, and a
    // 16-bit one goes with the next. All threads call.
    __device__ void send_row(size_t array, int element, float y, bool there, int barrier) const {
        const size_t to = array + (size_t)element * sizeof(T), at = task.plan.arrivals + barrier * sizeof(uint64_t);
        if constexpr (sizeof(T) == 4) {
            if (there && threadIdx.x % octet < ranks) { peer.send(to, __float_as_uint(y), at); }
        } else {
            const float next = __shfl_down_sync(all_lanes, y, octet);
            if (there && element % 2 == 0 && threadIdx.x % octet < ranks) { peer.send(to, pack<T>(y, next), at); }
        }
    }
};

// All that others will send to the block. By one thread, before they do.
template <class T, int W> __device__ inline void open_inboxes(const persistent_block<T> &block) {
#if HOPPER_PTX
    for (int i = 0; i < arrival_barriers; i++) { mbarrier::open_barrier_for(block.arrivals(i, 0).barrier, 1); }
    mbarrier::publish_barriers();
    for (int buffer = 0; buffer < 2; buffer++) {
        for (int warp = 0; warp < warps; warp++) { block.template x_of_warp<W>(buffer, warp).expect(); }
        block.statistics(buffer).expect();
    }
    block.heads().expect(), block.parts_of_heads().expect(), block.hidden().expect();
#else
    (void)block;
#endif
}

#endif
