// cluster.cuh — blocks of a cluster write into each other's shared memory
//
// The blocks of a cluster run at the same time on neighbouring multiprocessors, which a network of their own connects. A store
// to another block's shared memory takes a fraction of the time of one through the L2 cache, whatever is being read from memory
// meanwhile. All blocks lay out their dynamic shared memory alike, so a place is an offset into it.
//
//   block_rank, cluster_index   of the block: its number in the cluster, and the cluster's number
//   peer_memory                 the shared memory of a block of the cluster: send writes 4 or 8 bytes there, and counts them at
//                               an inbox
//   inbox                       a number of bytes that others will send. Its phases follow each other: the bytes of one have
//                               come before the first of the next is sent
//   cluster_memory              the shared memory of each block of the cluster
//   meet_cluster                all threads of the cluster meet
//
// From sm_90 on. The CPU backend has no clusters. There the blocks exchange the addresses of their shared memory. Its checks
// report each access to the shared memory of another block, so in the checked build a cluster is one block.
#ifndef GPT2_CLUSTER_CUH
#define GPT2_CLUSTER_CUH

#include "gpt2/model/mbarrier.cuh"
#include "gpt2/model/packets.cuh"

#if defined(SIMT_CPU_BACKEND) && defined(CHECKED)
enum { ranks = 1 };
#elif defined(SIMT_CPU_BACKEND)
enum { ranks = 2 };
#else
enum { ranks = 8 }; // blocks of a cluster: the most that every GPU with clusters has
#endif

__device__ inline int block_rank() {
    return (int)blockIdx.x % ranks;
}

__device__ inline int cluster_index() {
    return (int)blockIdx.x / ranks;
}

// ---- what comes from other blocks ----

struct inbox {
    uint64_t *barrier; // in shared memory. A word of zeros on the CPU backend, which adds bytes to it
    unsigned bytes;    // of a phase

    // From one thread, which says that the next phase begins: before the first one here, and in `wait`.
    __device__ void expect() const {
#if HOPPER_PTX
        mbarrier::expect_bytes(barrier, bytes);
#endif
    }

    // Has everything of phase 0, 1, 2, ... come?
    __device__ bool is_complete(unsigned phase) const {
#if HOPPER_PTX
        return mbarrier::is_complete(barrier, phase % 2);
#else
        return atomicAdd((unsigned long long *)barrier, 0ull) >= (uint64_t)(phase + 1) * bytes;
#endif
    }

    // By all threads that read what came; one of them is `first`. It ends earlier if the block gives up. From then on phases
    // are not told apart, and none may be expected twice.
    __device__ void wait(unsigned phase, bool first, const block_flags *flags) const {
        const bool expects = first && !given_up(flags);
        while (!is_complete(phase)) {
            if (has_given_up(flags)) { return; }
        }
        if (expects) { expect(); }
    }
};

// ---- what goes to another block ----

struct peer_memory {
#if HOPPER_PTX
    unsigned base; // an address in the window of the cluster's shared memory

    __device__ void send(size_t to, uint32_t value, size_t barrier) const {
        asm volatile(
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(base + (unsigned)to),
            "r"(value), "r"(base + (unsigned)barrier)
            : "memory");
    }

    __device__ void send(size_t to, uint64_t value, size_t barrier) const {
        asm volatile(
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(base + (unsigned)to),
            "l"(value), "r"(base + (unsigned)barrier)
            : "memory");
    }
#else
    char *base;

    template <class V> __device__ void send(size_t to, V value, size_t barrier) const {
        *(volatile V *)(base + to) = value;
        __threadfence();
        atomicAdd((unsigned long long *)(base + barrier), (unsigned long long)sizeof value);
    }
#endif

    __device__ void send(size_t to, float first, float second, size_t barrier) const {
        send(to, (uint64_t)__float_as_uint(second) << 32 | __float_as_uint(first), barrier);
    }
};

// By all threads of the cluster.
__device__ inline void meet_cluster() {
#if HOPPER_PTX
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

// The dynamic shared memory of the cluster's blocks.
struct cluster_memory {
#if HOPPER_PTX
    // `dynamic`: of the calling block.
    __device__ peer_memory of(const char *dynamic, int rank) const {
        peer_memory peer;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer.base) : "r"(mbarrier::address(dynamic)), "r"(rank));
        return peer;
    }

    __device__ void open(char *, packet *, uint32_t, const block_flags *) {
        meet_cluster();
    }
#else
    peer_memory blocks[ranks];

    __device__ peer_memory of(const char *, int rank) const {
        return blocks[rank];
    }

    // The block's memory is ready for others. All threads of the cluster call it, with a new tag. bases: (blocks, 2)
    __device__ void open(char *dynamic, packet *bases, uint32_t tag, const block_flags *flags) {
        __syncthreads();
        if (threadIdx.x == 0) {
            publish(bases + 2 * blockIdx.x, (uint32_t)(uintptr_t)dynamic, tag);
            publish(bases + 2 * blockIdx.x + 1, (uint32_t)((uint64_t)(uintptr_t)dynamic >> 32), tag);
        }
        for (int rank = 0; rank < ranks; rank++) {
            uint32_t words[1][2];
            const packet *from = bases + 2 * ((int)blockIdx.x / ranks * ranks + rank);
            receive(
                words, [&](int) { return from; }, tag, flags);
            blocks[rank].base = (char *)(uintptr_t)((uint64_t)words[0][1] << 32 | words[0][0]);
        }
    }
#endif
};

#endif
