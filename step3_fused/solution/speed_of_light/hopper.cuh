// hopper.cuh — instructions of Hopper that only this folder needs, each with a fallback for other GPUs and the CPU backend
//
//   prefetch_l2, prefetch_l2_bulk    prefetch into L2. Fallback of the second: a loop of the first; of the first: nothing
//   cluster_*                        thread block clusters: up to 16 blocks that run at the same time and write into each
//                                    other's shared memory. Fallback: one cooperative launch for each cluster, its blocks
//                                    exchange values through global memory
//   exchange_*                       the warps of a block, or of a cluster, exchange values through shared memory, with a
//                                    barrier in two halves
//   group_barrier                    a barrier of some warps of a block
//
// Dependent launch is in common/dependent_launch.cuh, the host's side of clusters in launch.cuh. The fallbacks compute the
// same results, so the CPU backend tests every line of a dispatch table.
#ifndef SPEED_OF_LIGHT_HOPPER_CUH
#define SPEED_OF_LIGHT_HOPPER_CUH

#include "common/dependent_launch.cuh"
#include "common/fast_math.cuh"
#include "launch.cuh"

#include <cooperative_groups.h>
#include <cuda_runtime.h>

// ---- prefetch into L2 ----

// The sector of 32 bytes at that address, or more.
__device__ inline void prefetch_l2(const void *global) {
#if ANY_PTX
    asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
#else
    (void)global;
#endif
}

// `bytes` from that address; both are multiples of 16. On Hopper one thread prefetches a whole row with one instruction.
__device__ inline void prefetch_l2_bulk(const void *global, size_t bytes) {
#if HOPPER_PTX
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"((unsigned)bytes));
#else
    constexpr size_t line = 128;
    size_t start = (size_t)global, end = start + bytes;
    for (size_t at = start; at < end; at = (at / line + 1) * line) { prefetch_l2((const void *)at); }
#endif
}

// ---- clusters of `size` neighbouring blocks ----

#if defined(SIMT_CPU_BACKEND)
static __device__ float2 emulated_values[2][16]; // in place of the blocks' shared memory
#endif

template <int size> __device__ inline int cluster_number() {
#if defined(SIMT_CPU_BACKEND)
    return size == 1 ? (int)blockIdx.x : emulated_cluster;
#else
    return blockIdx.x / size;
#endif
}

template <int size> __device__ inline int cluster_rank() {
    return blockIdx.x % size;
}

// A barrier in two halves: this block has started; all blocks of the cluster have. Before the second half no block may
// write into the shared memory of another.
__device__ inline void cluster_started() {
#if HOPPER_PTX
    asm volatile("barrier.cluster.arrive.relaxed.aligned;");
#endif
}
__device__ inline void cluster_all_started() {
#if HOPPER_PTX
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

// All threads of a block pass the same value, and every thread of the cluster gets the value of block threadIdx.x % size.
// Called by all threads, after cluster_all_started. shared: (2, size); round: 0, 1, 2, ... in a kernel, since a slow block may
// still read the values of the round before.
template <int size> __device__ inline float2 cluster_exchange(float2 value, float2 *shared, int round) {
    round %= 2;
#if HOPPER_PTX
    shared += round * size;
    if (threadIdx.x < size) { // thread r writes to block r
        unsigned here = (unsigned)__cvta_generic_to_shared(shared + cluster_rank<size>()), there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(threadIdx.x));
        asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(value.x), "f"(value.y) : "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    return shared[threadIdx.x % size];
#elif defined(SIMT_CPU_BACKEND)
    (void)shared;
    if (threadIdx.x == 0) { emulated_values[round][cluster_rank<size>()] = value; }
    cooperative_groups::this_grid().sync();
    return emulated_values[round][threadIdx.x % size];
#else // an older GPU, for which no dispatch table chooses a cluster
    (void)shared;
    return value;
#endif
}

// ---- one block, or a cluster of `size` blocks, each with a copy of the exchanged values in its shared memory ----

#if defined(SIMT_CPU_BACKEND)
static __device__ float2 emulated_exchange[128];
#endif

// Once in a kernel, before the first exchange_put.
template <int size> __device__ inline void exchange_start() {
    if (size > 1) {
        cluster_started();
        cluster_all_started();
    }
}

// values[slot] = value, in every block. Called by a whole warp with the same value.
template <int size> __device__ inline void exchange_put(float2 *values, int slot, float2 value) {
    int lane = threadIdx.x % 32;
    if (lane >= size) { return; }
#if HOPPER_PTX
    if (size > 1) {
        unsigned here = (unsigned)__cvta_generic_to_shared(values + slot), there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(lane));
        asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(value.x), "f"(value.y) : "memory");
        return;
    }
#elif defined(SIMT_CPU_BACKEND)
    if (size > 1) {
        if (lane == 0) { emulated_exchange[slot] = value; }
        return;
    }
#endif
    values[slot] = value;
}

template <int size> __device__ inline float2 exchange_get(const float2 *values, int slot) {
#if defined(SIMT_CPU_BACKEND)
    if (size > 1) { return emulated_exchange[slot]; }
#endif
    return values[slot];
}

// The two halves of a barrier: values put before exchange_arrive may be read after exchange_wait.
template <int size> __device__ inline void exchange_arrive() {
#if HOPPER_PTX
    if (size > 1) { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
#endif
}
template <int size> __device__ inline void exchange_wait() {
#if HOPPER_PTX
    if (size > 1) {
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
        return;
    }
#elif defined(SIMT_CPU_BACKEND)
    if (size > 1) {
        cooperative_groups::this_grid().sync();
        return;
    }
#endif
    __syncthreads();
}

// A barrier of the `threads` threads of a group; group: 0 to 14. The CPU backend has the whole block wait: all groups of a
// block must call it equally often.
__device__ inline void group_barrier(int group, int threads) {
#if ANY_PTX
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(threads) : "memory");
#else
    (void)group, (void)threads;
    __syncthreads();
#endif
}

#endif
