// mbarrier.cuh — barriers in shared memory that warps and the copy engine arrive at
//
// A phase of a barrier is complete when all have arrived, and all bytes that it expects were copied. The next phase begins then.
// Phases have parity 0, 1, 0, ...
//
// From sm_90 on.
#ifndef GPT2_MBARRIER_CUH
#define GPT2_MBARRIER_CUH

#include "common/dependent_launch.cuh"

#include <cstdint>

#if HOPPER_PTX

namespace mbarrier {

__device__ inline unsigned address(const void *at) {
    return (unsigned)__cvta_generic_to_shared(at);
}

__device__ inline void open_barrier_for(uint64_t *barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(arrivals) : "memory");
}

// After barriers were opened, for the copy engine.
__device__ inline void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
}

// Arrives. The phase also waits for that many bytes of copies.
__device__ inline void expect_bytes(uint64_t *barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ inline bool is_complete(uint64_t *barrier, unsigned parity) {
    unsigned done;
    asm volatile("{\n\t.reg .pred done;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, done;\n\t}"
                 : "=r"(done)
                 : "r"(address(barrier)), "r"(parity)
                 : "memory");
    return done;
}

// Until the phase of that parity is complete. For a fresh barrier parity 1 counts as complete.
__device__ inline void wait_for(uint64_t *barrier, unsigned parity) {
    while (!is_complete(barrier, parity)) {}
}

} // namespace mbarrier

#endif

#endif
