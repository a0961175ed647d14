// hopper.cuh — what needs PTX or a Hopper GPU, in one place, each with a twin for everything else
//
//   fast_exp2, fast_reciprocal   one instruction each, about 1e-7 off; twin: exp2f, 1 / x
//   prefetch_l2, _bulk           some bytes of this GPU's memory start for the L2, no register waits for them; twin: nothing
//   wait_for_previous_kernel     programmatic dependent launch: this kernel may be started while the one before it in the
//   let_next_kernel_start        stream still runs. The first call waits for the end of that one and must come before any
//                                access to memory, but prefetch_l2, which changes nothing that is seen; the second lets
//                                the next one start. Twin: nothing, kernels take turns
//   starts_early                 can anything happen before wait_for_previous_kernel()?
//   cluster_*                    thread block clusters: up to 16 blocks that run at the same time and write into each
//                                other's shared memory. Twin: the blocks of one cooperative launch, and global memory
//   team_*                       a board of values for a block or a cluster, and its barrier in two halves
//   launch, compute_capability   the host's side: launch.cuh
//
// The twins compute the same results, so the CPU backend tests every branch of a dispatcher.
#ifndef HOPPER_CUH
#define HOPPER_CUH

#include "launch.cuh"

#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <math.h>

#if defined(SIMT_CPU_BACKEND)
#define HOPPER_PTX 0 // no PTX at all
#define ANY_PTX    0
#elif defined(__CUDA_ARCH__)
#define HOPPER_PTX (__CUDA_ARCH__ >= 900)
#define ANY_PTX    1
#else
#define HOPPER_PTX 0 // nvcc's pass for the host
#define ANY_PTX    0
#endif

// ---- one-instruction arithmetic ----

__device__ inline float fast_exp2(float x) {
#if ANY_PTX
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

__device__ inline float fast_reciprocal(float x) {
#if ANY_PTX
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return 1.0f / x;
#endif
}

// ---- caches ----

// At least the sector of 32 bytes there.
__device__ inline void prefetch_l2(const void *global) {
#if ANY_PTX
    asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
#else
    (void)global;
#endif
}

// `bytes` from there on, both multiples of 16: on Hopper one instruction of one thread for a whole row.
__device__ inline void prefetch_l2_bulk(const void *global, size_t bytes) {
#if HOPPER_PTX
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"((unsigned)bytes));
#else
    constexpr size_t line = 128;
    size_t start = (size_t)global, end = start + bytes;
    for (size_t at = start; at < end; at = (at / line + 1) * line) { prefetch_l2((const void *)at); }
#endif
}

// ---- programmatic dependent launch ----

constexpr bool starts_early = HOPPER_PTX;

__device__ inline void wait_for_previous_kernel() {
#if HOPPER_PTX
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ inline void let_next_kernel_start() {
#if HOPPER_PTX
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// ---- clusters of `size` neighbouring blocks ----

#if defined(SIMT_CPU_BACKEND)
static __device__ float2 twin_values[2][16]; // stands for the shared memory of its blocks
#endif

template <int size> __device__ inline int cluster_number() {
#if defined(SIMT_CPU_BACKEND)
    return size == 1 ? (int)blockIdx.x : twin_cluster;
#else
    return blockIdx.x / size;
#endif
}

template <int size> __device__ inline int cluster_rank() {
    return blockIdx.x % size;
}

// The two halves of a barrier: "this block runs", "all of them do". Nobody may write into another block's shared memory
// before.
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

// Each block gives one value (its threads give the same one), and every thread gets that of block threadIdx.x % size.
// Called by all threads, after cluster_all_started; shared: (2, size), turn: 0, 1, 2, ... in a kernel.
template <int size> __device__ inline float2 cluster_share(float2 value, float2 *shared, int turn) {
    turn %= 2; // who is late still reads the last turn's values
#if HOPPER_PTX
    shared += turn * size;
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
    if (threadIdx.x == 0) { twin_values[turn][cluster_rank<size>()] = value; }
    cooperative_groups::this_grid().sync();
    return twin_values[turn][threadIdx.x % size];
#else // an older GPU: the dispatch tables never take a cluster there
    (void)shared;
    return value;
#endif
}

// ---- a team: one block, or a cluster of `size` blocks; each has a copy of the team's board in its shared memory ----

#if defined(SIMT_CPU_BACKEND)
static __device__ float2 twin_board[128];
#endif

// Before the first team_post of a kernel: all blocks of the team run.
template <int size> __device__ inline void team_start() {
    if (size > 1) {
        cluster_started();
        cluster_all_started();
    }
}

// board[place] = value, on every block's board. Called by a whole warp with one value.
template <int size> __device__ inline void team_post(float2 *board, int place, float2 value) {
    int lane = threadIdx.x % 32;
    if (lane >= size) { return; }
#if HOPPER_PTX
    if (size > 1) {
        unsigned here = (unsigned)__cvta_generic_to_shared(board + place), there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(lane));
        asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(value.x), "f"(value.y) : "memory");
        return;
    }
#elif defined(SIMT_CPU_BACKEND)
    if (size > 1) {
        if (lane == 0) { twin_board[place] = value; }
        return;
    }
#endif
    board[place] = value;
}

template <int size> __device__ inline float2 team_read(const float2 *board, int place) {
#if defined(SIMT_CPU_BACKEND)
    if (size > 1) { return twin_board[place]; }
#endif
    return board[place];
}

// A barrier in two halves: what was posted before team_arrive may be read after team_wait.
template <int size> __device__ inline void team_arrive() {
#if HOPPER_PTX
    if (size > 1) { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
#endif
}
template <int size> __device__ inline void team_wait() {
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

// A barrier of the `threads` threads of one group of a block, `group` 0 to 14. Elsewhere it is the whole block's: all
// groups must come to it equally often.
__device__ inline void group_barrier(int group, int threads) {
#if ANY_PTX
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(threads) : "memory");
#else
    (void)group, (void)threads;
    __syncthreads();
#endif
}

#endif
