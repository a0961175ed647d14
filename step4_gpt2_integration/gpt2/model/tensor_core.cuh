// tensor_core.cuh — the PTX for tensor cores
//
//   load_matrices               four 8x8 matrices of 16-bit elements from shared memory, spread over a warp (ldmatrix)
//   load_matrices_transposed    the same, with each matrix transposed
//   copy_or_zero                an asynchronous copy of 16 bytes to shared memory (cp.async, for __pipeline_commit)
//   multiply_add                acc (16, 8) += a (16, 16) b (16, 8), fp32 sums (mma.sync.m16n8k16)
//   multiply_add_integers       acc (16, 8) += a (16, 32) b (32, 8) of int8, int32 sums (mma.sync.m16n8k32)
//
// The 32 lanes of a warp hold a matrix together. With g = lane / 4 and t = lane % 4 a lane holds, of
//   a 8x8 matrix          (g, 2t) and (g, 2t + 1), in one 32-bit register
//   a (16, 16)            four of those: rows 0-7 and 8-15 of the left half, then of the right half
//   b (16, 8)             two, of b's transpose: its columns 0-7, then 8-15; so (k, n) is stored as (n, k), like keys
//   acc (16, 8)           (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
// A register of int8 holds four neighbours in place of two, 4t to 4t + 3.
//
// The instructions exist from sm_80 on, which the caller checks. The CPU backend models them, slowly; there only tests choose
// them.
#ifndef GPT2_TENSOR_CORE_CUH
#define GPT2_TENSOR_CORE_CUH

#include "gpt2/model/device.cuh"

#include <cstdint>
#include <cstring>

#if defined(SIMT_CPU_BACKEND)
#define TENSOR_CORE_PTX 1
#elif defined(__CUDA_ARCH__)
#define TENSOR_CORE_PTX (__CUDA_ARCH__ >= 800)
#else
#define TENSOR_CORE_PTX 0
#endif
#define NO_TENSOR_CORES() __trap() // an older GPU: never called there

// ---- two 16-bit elements in one register, the first in the lower half ----

template <class T> __device__ inline uint32_t pack(float first, float second) {
    uint32_t both;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(SIMT_CPU_BACKEND) // one instruction
    if constexpr (type_of<T>::file == GPT2_F16) {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    } else {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    }
#else
    T pair[2] = {from_float<T>(first), from_float<T>(second)};
    memcpy(&both, pair, sizeof both);
#endif
    return both;
}

template <class T> __device__ inline float2 unpack(uint32_t both) {
    if constexpr (type_of<T>::file == GPT2_BF16) { // the upper half of a float
        return make_float2(__uint_as_float(both << 16), __uint_as_float(both & 0xffff0000u));
    }
    T pair[2];
    memcpy(pair, &both, sizeof both);
    return make_float2(to_float(pair[0]), to_float(pair[1]));
}

// ---- loads. row: the address, 16-byte aligned, of the eight elements of row l % 8 of matrix l / 8, in lane l ----

#if TENSOR_CORE_PTX
#define LOAD_MATRICES(transposed)                                                                 \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" transposed ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3]) \
                 : "r"((unsigned)__cvta_generic_to_shared(row))                                   \
                 : "memory")
#endif

__device__ inline void load_matrices(uint32_t (&registers)[4], const void *row) {
#if TENSOR_CORE_PTX
    LOAD_MATRICES("");
#else
    (void)registers, (void)row;
    NO_TENSOR_CORES();
#endif
}

__device__ inline void load_matrices_transposed(uint32_t (&registers)[4], const void *row) {
#if TENSOR_CORE_PTX
    LOAD_MATRICES(".trans");
#else
    (void)registers, (void)row;
    NO_TENSOR_CORES();
#endif
}

// ---- the asynchronous copy. Both addresses are 16-byte aligned. Where there is false: zeros, and `from` is not read ----

__device__ inline void copy_or_zero(void *to, const void *from, bool there) {
#if TENSOR_CORE_PTX
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
#else
    (void)to, (void)from, (void)there;
    NO_TENSOR_CORES();
#endif
}

// ---- the product ----

#if TENSOR_CORE_PTX
#define MULTIPLY_ADD(type)                                                                                          \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, " \
                 "{%8, %9}, {%0, %1, %2, %3};"                                                                      \
                 : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])                                           \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
#endif

template <class T>
__device__ inline void multiply_add(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if TENSOR_CORE_PTX
    if constexpr (sizeof(T) == 2 && type_of<T>::file == GPT2_BF16) {
        MULTIPLY_ADD("bf16");
    } else {
        MULTIPLY_ADD("f16");
    }
#else
    (void)acc, (void)a, (void)b0, (void)b1;
    NO_TENSOR_CORES();
#endif
}

__device__ inline void multiply_add_integers(int (&acc)[4], const uint4 &a, uint32_t b0, uint32_t b1) {
#if TENSOR_CORE_PTX
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
#else
    (void)acc, (void)a, (void)b0, (void)b1;
    NO_TENSOR_CORES();
#endif
}

#endif
