// persistent_block.cuh — what a block of decode_persistent.cu knows: its share of the work, its shared memory, what others send
// to it
#ifndef GPT2_PERSISTENT_BLOCK_CUH
#define GPT2_PERSISTENT_BLOCK_CUH

#include "gpt2/model/persistent_task.cuh"
#include "gpt2/model/tensor_core.cuh"

// A 16-bit type does not hold a float, so x takes two elements: its upper half, and what that leaves.
template <class T> constexpr int halves = sizeof(T) == 2 ? 2 : 1;
constexpr int bytes_of_two = 8; // values of x

// Of a LayerNorm's input. fp16 ends at 65504, and the residual stream times a gain may exceed that.
template <class T> constexpr float shrink = type_of<T>::file == GPT2_F16 ? 1.0f / 64.0f : 1.0f;

// Two neighbouring values of x: floats, or the upper halves and then what they leave.
template <class T> __device__ inline uint2 words_of(float first, float second) {
    if constexpr (sizeof(T) == 4) {
        return make_uint2(__float_as_uint(first), __float_as_uint(second));
    } else {
        const uint32_t upper = pack<T>(first, second);
        const float2 two = unpack<T>(upper);
        return make_uint2(upper, pack<T>(first - two.x, second - two.y));
    }
}

// Codes are multiplied as integers (persistent_products.cuh), so x is one, too: x / unit, rounded to 31 bits. Its four digits
// to the base 256 are signed bytes. Adding 128 to the lower three as unsigned bytes, with carries, and then taking 128 from
// each without, makes them so.
__device__ inline uint32_t digits_of(float x, float per_unit) {
    constexpr float most = 1 << 30;
    const unsigned bits = (unsigned)__float2int_rn(fminf(fmaxf(x * per_unit, -most), most));
    return (bits + 0x00808080) ^ 0x00808080;
}
constexpr float units_of_bound = 1 << 30; // 1 / unit, times the largest magnitude
constexpr float least_bound = 1e-20f;     // where all are zeros

// Digit 2 half, and the next one, of four values: a word each. word: of one value
__device__ inline uint2 two_digits(const uint32_t (&word)[4], int half) {
    const unsigned order = half == 0 ? 0x5140 : 0x7362;
    const uint32_t first = __byte_perm(word[0], word[1], order), last = __byte_perm(word[2], word[3], order);
    return make_uint2(__byte_perm(first, last, 0x5410), __byte_perm(first, last, 0x7632));
}
constexpr int bytes_of_four = 16; // values of x in digits: a word for each digit

// Two neighbouring values of x in digits, with those of the lane `distance` away: the first two digits of the four values in
// the first of the two lanes, the last two in the other. All lanes of a warp call.
__device__ inline uint2 digits_of_two(float first, float second, float per_unit, int distance) {
    const bool later = (int)threadIdx.x / distance % 2 == 1;
    const uint32_t mine[2] = {digits_of(first, per_unit), digits_of(second, per_unit)};
    const uint32_t others[2] = {__shfl_xor_sync(all_lanes, mine[0], distance),
                                __shfl_xor_sync(all_lanes, mine[1], distance)};
    const uint32_t four[4] = {later ? others[0] : mine[0], later ? others[1] : mine[1], later ? mine[0] : others[0],
                              later ? mine[1] : others[1]};
    return two_digits(four, later);
}

// In the shared memory of every rank: a place, and the barrier that counts its bytes.
struct target {
    int to, barrier;
};

template <class T, class Weight> struct persistent_block {
    const persistent_task<T, Weight> &task;
    char *dynamic;
    cluster_memory cluster;

    __device__ block_state &state() const { return *(block_state *)dynamic; }
    __device__ block_flags *flags() const { return &state().flags; }
    __device__ const cluster_share &share() const { return state().share; }
    __device__ int position_at(int step) const { return min(state().position + step, task.S - 1); }
    // The shared memory of the rank that is the thread's number in its octet.
    __device__ peer_memory peer() const { return cluster.of(dynamic, (int)threadIdx.x % octet % ranks); }
    __device__ layer_units &units(int layer) const { return ((layer_units *)(dynamic + task.plan.units))[layer]; }
    // 1 / the largest magnitude of an embedding, less its first element.
    __device__ float &over_embedding() const { return units(task.L).value; }
    __device__ float2 &norm(int buffer) const { return ((float2 *)(dynamic + task.plan.norms))[buffer]; }
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
        return arrivals(heads_barrier, 3u * (unsigned)(share().heads.count * task.D) * (unsigned)sizeof(T));
    }
    __device__ inbox parts_of_heads() const {
        return arrivals(parts_barrier,
                        (unsigned)(share().heads.count * ranks * (task.D + 2)) * (unsigned)sizeof(float));
    }
    __device__ inbox hidden() const {
        return arrivals(hidden_barrier,
                        (unsigned)share().hidden.count * (unsigned)(coded<Weight> ? sizeof(uint32_t) : sizeof(T)));
    }

    // A word of 4 or 8 bytes to the same place in all ranks' memory. A quad calls.
    template <class Word> __device__ void send_word(size_t to, Word word, int barrier) const {
        const size_t at = task.plan.arrivals + barrier * sizeof(uint64_t);
#pragma unroll
        for (int first = 0; first < ranks; first += quad) {
            const int rank = first + (int)threadIdx.x % quad;
            if (rank < ranks) { cluster.of(dynamic, rank).send(to, word, at); }
        }
    }

    // Where value `element` of an array belongs, `bytes` from a value to the next. Of 16-bit values two go together.
    __device__ target target_of(size_t array, int element, int bytes, int barrier) const {
        const bool odd = sizeof(T) == 2 && threadIdx.x / quad % 2 == 1;
        return {(int)array + (element - odd) * bytes, barrier};
    }

    // The value y of a row to all ranks. Rows follow each other from quad to quad, an even one first. All threads call.
    __device__ void send_row(const target &target, float y, bool there) const {
        if constexpr (sizeof(T) == 4) {
            if (there) { send_word((size_t)target.to, __float_as_uint(y), target.barrier); }
        } else {
            const float other = __shfl_xor_sync(all_lanes, y, quad);
            const bool odd = threadIdx.x / quad % 2 == 1;
            if (!there || threadIdx.x % octet >= ranks) { return; }
            peer().send((size_t)target.to, odd ? pack<T>(other, y) : pack<T>(y, other),
                        task.plan.arrivals + target.barrier * sizeof(uint64_t));
        }
    }

    // Likewise in digits: four quads have four rows, of which each quad sends a digit.
    __device__ void send_digits(size_t array, int element, float y, float per_unit, bool there, int barrier) const {
        const int lane = (int)threadIdx.x % warp_size, four = 4 * quad, digit = lane / quad % 4;
        const uint32_t mine = digits_of(y, per_unit);
        uint32_t words[4];
        for (int i = 0; i < 4; i++) { words[i] = __shfl_sync(all_lanes, mine, lane / four * four + i * quad); }
        const uint2 two = two_digits(words, digit / 2);
        if (!there) { return; }
        send_word(array + (size_t)(element / 4 * bytes_of_four + digit * 4), digit % 2 == 0 ? two.x : two.y, barrier);
    }
};

// All that others will send to the block. By one thread, before they do.
template <class T, int W, class Weight> __device__ inline void open_inboxes(const persistent_block<T, Weight> &block) {
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
