// totals.cuh — sums of parts of many blocks, which all of them read, without a barrier
//
// A total is a word of 64 bits. Its upper 59 bits count 2^-36, and its lower 5 bits the parts. So a part is added by one atomic
// instruction, and a reader that finds as many parts as it expects has their sum. Sums of integers are the same in any order.
//
// A total is not cleared between sums: all of this is modulo 2^64, and readers know how many parts there were before. A part of
// the next sum may be added when it depends on results of all readers of this one.
#ifndef GPT2_TOTALS_CUH
#define GPT2_TOTALS_CUH

#include "gpt2/model/packets.cuh"

using total = uint64_t;

constexpr int parts_bits = 5, most_parts = (1 << parts_bits) - 1;
constexpr float total_units = 68719476736.0f; // 2^36
// Beyond these magnitudes a sum might exceed 59 bits: most_parts parts are less than most_total.
constexpr float most_part = 65536.0f, most_total = 2097152.0f;
static_assert(most_parts * most_part <= most_total, "");

// As the upper bits of a total.
__device__ inline total total_of(float value) {
    return (total)__float2ll_rn(value * total_units) << parts_bits;
}

__device__ inline float value_of(total value) {
    return (float)(long long)value * (1.0f / (total_units * (1 << parts_bits)));
}

// parts: how many `value` is
__device__ inline void add_to_total(total *to, total value, unsigned parts) {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(to), "l"(value + parts) : "memory");
}

__device__ inline total load_total(const total *from) {
    return *(const volatile total *)from;
}

// values[i] = the pair of totals at address(i) less `expected`, the number of all their parts, when they have so many. Waits as
// await_pairs.
template <int most, class Address>
__device__ inline void await_totals(total (&values)[most][2], Address address, unsigned expected,
                                    const block_flags *flags) {
    await_pairs(
        values, address, [&](total got) { return (got - expected) % (1 << parts_bits) == 0; }, flags);
#pragma unroll
    for (int i = 0; i < most; i++) { values[i][0] -= expected, values[i][1] -= expected; }
}

#endif
