// warpgroup.cuh — the PTX of Hopper's asynchronous units: tile copies (TMA) and warpgroup products (wgmma)
//
//   copy_box_in, copy_box_out    a box of a 4-dimensional tensor between memory and shared memory, by the copy engine
//   multiply_keys, multiply_values   acc (64, N) += a (64, 16) b (16, N) by the 128 threads of a warpgroup, asynchronously; N
//                                    is 64 or 128
//   give_registers, take_registers   registers go from one warpgroup of a block to another
//
// A tile in shared memory has columns of 64 16-bit elements, one after the other. A row of a column is 128 bytes, 8 chunks of 16.
// Chunk c of row r is stored at place c ^ (r % 8): the 128-byte swizzle that the copy engine writes and wgmma reads. So one
// chunk of eight rows lies in different banks.
//
// Warp w of a warpgroup has rows 16 w to 16 w + 15 of a and of acc, each held as by mma.sync (tensor_core.cuh).
//
// wgmma exists for sm_90a alone. WARPGROUP_PTX: this pass compiles for it.
#ifndef GPT2_WARPGROUP_CUH
#define GPT2_WARPGROUP_CUH

#include "gpt2/model/mbarrier.cuh"
#include "gpt2/model/tensor_core.cuh"

#include <cuda.h>

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define WARPGROUP_PTX 1
#else
#define WARPGROUP_PTX 0
#endif

#if WARPGROUP_PTX

namespace warpgroup {

using namespace mbarrier;

// ---- the block ----

// A named barrier of the block, for that many threads.
__device__ inline void meet(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// The warpgroup's threads have so many registers from now on: fewer, or more, for which they wait until others have given theirs.
template <int Count> __device__ inline void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

template <int Count> __device__ inline void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

// ---- copies of a box, by one thread. Rows past the tensor's end arrive as zeros, and are not written ----

__device__ inline void copy_box_in(void *to, const CUtensorMap *from, int channel, int head, int row, int sequence,
                                   uint64_t *barrier) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%2, %3, %4, %5}], [%6];" ::"r"(address(to)),
                 "l"(from), "r"(channel), "r"(head), "r"(row), "r"(sequence), "r"(address(barrier))
                 : "memory");
}

__device__ inline void copy_box_out(const CUtensorMap *to, const void *from, int channel, int head, int row,
                                    int sequence) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(to),
                 "r"(address(from)), "r"(channel), "r"(head), "r"(row), "r"(sequence)
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

// A tile in shared memory as wgmma is told of it: where it is, 1024 bytes from eight rows to the next eight, swizzled by 128
// bytes.
// column_bytes: from a column to the next. Only a product that reads two columns of a transposed factor uses it.
__device__ inline uint64_t describe(const void *tile, unsigned column_bytes = 16) {
    return (uint64_t)(address(tile) >> 4) | (uint64_t)(column_bytes >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 62;
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

// d (64, n), n / 2 registers of a thread: (+)= a, 4 registers, times n rows or, transposed, n channels of a tile in shared
// memory.
// more: 0: d is overwritten. The operands of the text are numbered: d, then a, b and more.
#define PRODUCT(type, transposed, n, d_text, a_text, b_text, more_text, ...)                                           \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " more_text ", 0;\n\t"                                          \
                 "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " {" d_text "}, {" a_text "}, " b_text \
                 ", p, 1, 1, " transposed ";\n\t}"                                                                     \
                 : __VA_ARGS__                                                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(more))
#define TEXT_0_31                                                            \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TEXT_32_63                                                                     \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define FOUR(i)    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define PRODUCT_64(type, transposed) \
    PRODUCT(type, transposed, "64", TEXT_0_31, "%32, %33, %34, %35", "%36", "%37", SIXTEEN(0), SIXTEEN(16))
#define PRODUCT_128(type, transposed)                                                                           \
    PRODUCT(type, transposed, "128", TEXT_0_31 ", " TEXT_32_63, "%64, %65, %66, %67", "%68", "%69", SIXTEEN(0), \
            SIXTEEN(16), SIXTEEN(32), SIXTEEN(48))
#define PRODUCT_OF_TYPE(transposed)                           \
    static_assert(N == 32 || N == 64);                        \
    if constexpr (type_of<T>::file == GPT2_BF16 && N == 32) { \
        PRODUCT_64("bf16", transposed);                       \
    } else if constexpr (type_of<T>::file == GPT2_BF16) {     \
        PRODUCT_128("bf16", transposed);                      \
    } else if constexpr (N == 32) {                           \
        PRODUCT_64("f16", transposed);                        \
    } else {                                                  \
        PRODUCT_128("f16", transposed);                       \
    }

// d (64, 2 N) (+)= 16 channels of the queries times those of 2 N keys.
template <class T, int N>
__device__ inline void multiply_keys(float (&d)[N], const uint32_t (&a)[4], uint64_t b, int more) {
    PRODUCT_OF_TYPE("0")
}

// d (64, 2 N) += weights of 16 keys times their values. The values are stored a key in a row: b transposed.
template <class T, int N> __device__ inline void multiply_values(float (&d)[N], const uint32_t (&a)[4], uint64_t b) {
    const int more = 1;
    PRODUCT_OF_TYPE("1")
}

#undef PRODUCT_OF_TYPE
#undef PRODUCT_128
#undef PRODUCT_64
#undef SIXTEEN
#undef FOUR
#undef TEXT_32_63
#undef TEXT_0_31
#undef PRODUCT

} // namespace warpgroup

#endif
#endif
