// packets.cuh — hands values from block to block within a kernel, without a barrier
//
// A packet has 4 bytes of data and a tag of 4 bytes. Both are written in one access and read in one access, so a reader that
// finds the tag it expects has the data too. No fence is needed, and no second read after a flag. Tags are never used twice. A
// writer may overwrite a packet when its new value depends on results of all readers of the old one.
//
//   publish      writes a packet
//   await_pairs  reads pairs of words, again and again until all have arrived
//   receive      packets, each with its tag
//   block_flags  what ends the waits of a block
//   wait_limit   a clock, for a thread that has time to look at it
//
// All blocks must be resident at the same time, so the launch is cooperative. Threads that compute do not look at a clock,
// which would take instructions in each of their waits. A thread that streams weights does while it waits for them
// (weight_ring.cuh). After `wait_state.most_seconds` it sets a flag of its block, which ends all waits there, and one in
// memory, which the other blocks find. The CPU backend itself reports a kernel in which every thread waits.
#ifndef GPT2_PACKETS_CUH
#define GPT2_PACKETS_CUH

#include <cuda_runtime.h>

#include <cstdint>

using packet = uint64_t; // the tag is the upper half

__device__ inline void publish(packet *to, uint32_t data, uint32_t tag) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"((packet)tag << 32 | data) : "memory");
}

// Two neighbouring packets, 16-byte aligned. Each of them is read in one access.
__device__ inline void load_pair(packet (&pair)[2], const packet *from) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(pair[0]), "=l"(pair[1]) : "l"(from) : "memory");
}

// In a block's shared memory. finished: it needs no more weights. given_up: it waits no more, and its results mean nothing.
struct block_flags {
    int finished, given_up;
};

__device__ inline bool given_up(const block_flags *flags) {
    return *(const volatile int *)&flags->given_up != 0;
}

// A wait asks this after each look in vain.
__device__ inline bool has_given_up(const block_flags *flags) {
#if defined(SIMT_CPU_BACKEND)
    __nanosleep(0); // others run
#endif
    return given_up(flags);
}

// In device memory, for all blocks.
struct wait_state {
    unsigned failed; // a wait of any block has lasted too long
    unsigned most_seconds;
};

#if !defined(SIMT_CPU_BACKEND)
struct wait_limit {
    wait_state *state;
    unsigned polls = 0;
    uint64_t since = 0;

    __device__ explicit wait_limit(wait_state *state) : state(state) {}

    // Has a wait of this or another thread lasted too long?
    __device__ bool passed() {
        constexpr unsigned polls_between_looks = 1024;
        if (++polls % polls_between_looks != 0) { return false; }
        uint64_t now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); // nanoseconds
        if (since == 0) { since = now; }
        if (now - since > state->most_seconds * UINT64_C(1000000000)) { atomicExch(&state->failed, 1u); }
        return *(volatile unsigned *)&state->failed != 0;
    }
};
#endif

// words[i] = the pair at address(i), which exists for each i, when arrived(word) is true of all words. All loads are issued
// before the first wait. False: the block gave up before.
template <int most, class Address, class Arrived>
__device__ inline bool await_pairs(uint64_t (&words)[most][2], Address address, Arrived arrived,
                                   const block_flags *flags) {
    for (;;) {
        bool all = true;
#pragma unroll
        for (int i = 0; i < most; i++) { load_pair(words[i], address(i)); }
#pragma unroll
        for (int i = 0; i < most; i++) { all &= arrived(words[i][0]) && arrived(words[i][1]); }
        if (all) { return true; }
        if (has_given_up(flags)) { return false; }
    }
}

// data[i] = the pair of packets at address(i), when all have the tag. False as above.
template <int most, class Address>
__device__ inline bool receive(uint32_t (&data)[most][2], Address address, uint32_t tag, const block_flags *flags) {
    packet pairs[most][2];
    const bool good = await_pairs(
        pairs, address, [&](packet got) { return (uint32_t)(got >> 32) == tag; }, flags);
#pragma unroll
    for (int i = 0; i < most; i++) { data[i][0] = (uint32_t)pairs[i][0], data[i][1] = (uint32_t)pairs[i][1]; }
    return good;
}

#endif
