// warpgroup.cuh — the PTX of Hopper's asynchronous units: barriers, tile copies (TMA) and warpgroup products (wgmma)
//
//   open_barrier_for, arrive, expect_bytes, wait_for   an mbarrier in shared memory: a phase is complete when all have arrived
//   copy_box_in, copy_box_out    a box of a 4-dimensional tensor between memory and shared memory, by the copy engine
//   multiply_keys, multiply_values   acc (64, 64) += a (64, 16) b (16, 64) by the 128 threads of a warpgroup, asynchronously
//
// A tile in shared memory has rows of 64 16-bit elements: 128 bytes, 8 chunks of 16. Chunk c of row r is stored at place c ^ (r % 8):
// the 128-byte swizzle that the copy engine writes and wgmma reads. So one chunk of eight rows lies in different banks.
//
// Warp w of a warpgroup has rows 16 w to 16 w + 15 of a and of acc, each held as by mma.sync (tensor_core.cuh).
//
// wgmma exists for sm_90a alone. WARPGROUP_PTX: this pass compiles for it.
#ifndef GPT2_WARPGROUP_CUH
#define GPT2_WARPGROUP_CUH

#include "gpt2/model/tensor_core.cuh"

#include <cuda.h>

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define WARPGROUP_PTX 1
#else
#define WARPGROUP_PTX 0
#endif

#if WARPGROUP_PTX

namespace warpgroup {

__device__ inline unsigned address(const void *at) {
    return (unsigned)__cvta_generic_to_shared(at);
}

// ---- barriers ----

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

// A named barrier of the block, for that many threads.
__device__ inline void meet(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// ---- copies of a box, by one thread. Rows past the tensor's end arrive as zeros, and are not written ----

__device__ inline void copy_box_in(void *to, const CUtensorMap *from, int head, int row, int sequence,
                                   uint64_t *barrier) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%2, %3, %4, %5}], [%6];" ::"r"(address(to)),
                 "l"(from), "r"(0), "r"(head), "r"(row), "r"(sequence), "r"(address(barrier))
                 : "memory");
}

__device__ inline void copy_box_out(const CUtensorMap *to, const void *from, int head, int row, int sequence) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(to),
                 "r"(address(from)), "r"(0), "r"(head), "r"(row), "r"(sequence)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// This thread's copies out no longer need their source.
__device__ inline void wait_for_copies_out() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Ordinary writes to shared memory, before the copy engine reads them.
__device__ inline void publish_writes() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Four 8x8 matrices to shared memory: the inverse of load_matrices.
__device__ inline void store_matrices(void *row, const uint32_t (&registers)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address(row)),
                 "r"(registers[0]), "r"(registers[1]), "r"(registers[2]), "r"(registers[3])
                 : "memory");
}

// ---- products ----

// A tile in shared memory as wgmma is told of it: where it is, 1024 bytes from eight rows to the next eight, swizzled by 128 bytes.
// The distance between columns of tiles is not used: there is one.
__device__ inline uint64_t describe(const void *tile) {
    return (uint64_t)(address(tile) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

__device__ inline void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int Left> __device__ inline void wait_for_products() { // until at most that many groups are in flight
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}

// The compiler may not move accesses of these registers across this point.
template <int N> __device__ inline void pin(float (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) { asm volatile("" : "+f"(d[i])::"memory"); }
}

// d (64, 64), 32 registers of a thread: (+)= a, 4 registers, times a tile in shared memory. transposed: of b. more: 0: d is overwritten.
#define PRODUCT(type, transposed)                                                                                  \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %37, 0;\n\t"                                                \
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {"                                  \
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                          \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "               \
                 "{%32, %33, %34, %35}, %36, p, 1, 1, " transposed ";\n\t}"                                        \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),        \
                   "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),      \
                   "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),      \
                   "+f"(d[29]), "+f"(d[30]), "+f"(d[31])                                                           \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(more))

// d (64, 64) (+)= 16 channels of the queries times those of 64 keys.
template <class T> __device__ inline void multiply_keys(float (&d)[32], const uint32_t (&a)[4], uint64_t b, int more) {
    if constexpr (type_of<T>::file == GPT2_BF16) {
        PRODUCT("bf16", "0");
    } else {
        PRODUCT("f16", "0");
    }
}

// d (64, 64) += weights of 16 keys times their values. The values are stored a key in a row: b transposed.
template <class T> __device__ inline void multiply_values(float (&d)[32], const uint32_t (&a)[4], uint64_t b) {
    const int more = 1;
    if constexpr (type_of<T>::file == GPT2_BF16) {
        PRODUCT("bf16", "1");
    } else {
        PRODUCT("f16", "1");
    }
}

#undef PRODUCT

} // namespace warpgroup

#endif
#endif
