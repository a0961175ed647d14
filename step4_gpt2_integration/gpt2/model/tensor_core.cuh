// tensor_core.cuh — the PTX for tensor cores, each instruction with an emulation for the CPU backend
//
//   load_matrices               four 8x8 matrices of 16-bit elements from shared memory, spread over a warp (ldmatrix)
//   load_matrices_transposed    the same, with each matrix transposed
//   copy_or_zero                an asynchronous copy of 16 bytes to shared memory (cp.async, for __pipeline_commit)
//   multiply_add                acc (16, 8) += a (16, 16) b (16, 8), fp32 sums (mma.sync.m16n8k16)
//
// The 32 lanes of a warp hold a matrix together. With g = lane / 4 and t = lane % 4 a lane holds, of
//   a 8x8 matrix          (g, 2t) and (g, 2t + 1), in one 32-bit register
//   a (16, 16)            four of those: rows 0-7 and 8-15 of the left half, then of the right half
//   b (16, 8)             two, of b's transpose: its columns 0-7, then 8-15; so (k, n) is stored as (n, k), like keys
//   acc (16, 8)           (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
//
// The instructions exist from sm_80 on, which the caller checks. The emulations are exact but slow; only tests choose them.
#ifndef GPT2_TENSOR_CORE_CUH
#define GPT2_TENSOR_CORE_CUH

#include "gpt2/model/device.cuh"

#include <cstdint>
#include <cstring>

#if defined(__CUDA_ARCH__) && !defined(SIMT_CPU_BACKEND)
#define TENSOR_CORE_PTX (__CUDA_ARCH__ >= 800)
#else
#define TENSOR_CORE_PTX 0
#endif
#define NO_TENSOR_CORES() __trap() // an older GPU: never called there

// ---- two 16-bit elements in one register, the first in the lower half ----

template <class T> __device__ inline uint32_t pack(float first, float second) {
    T pair[2] = {from_float<T>(first), from_float<T>(second)};
    uint32_t both;
    memcpy(&both, pair, sizeof both);
    return both;
}

template <class T> __device__ inline float2 unpack(uint32_t both) {
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
#elif defined(SIMT_CPU_BACKEND)
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; i++) {
        auto from = (const uint32_t *)__shfl_sync(0xffffffffu, (unsigned long long)row, 8 * i + lane / 4);
        registers[i] = from[lane % 4];
    }
#else
    (void)registers, (void)row;
    NO_TENSOR_CORES();
#endif
}

__device__ inline void load_matrices_transposed(uint32_t (&registers)[4], const void *row) {
#if TENSOR_CORE_PTX
    LOAD_MATRICES(".trans");
#elif defined(SIMT_CPU_BACKEND)
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; i++) {
        int first = 8 * i + 2 * (lane % 4);
        auto upper = (const uint16_t *)__shfl_sync(0xffffffffu, (unsigned long long)row, first);
        auto lower = (const uint16_t *)__shfl_sync(0xffffffffu, (unsigned long long)row, first + 1);
        registers[i] = (uint32_t)upper[lane / 4] | (uint32_t)lower[lane / 4] << 16;
    }
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
#elif defined(SIMT_CPU_BACKEND)
    *(uint4 *)to = there ? *(const uint4 *)from : uint4{0, 0, 0, 0};
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
#elif defined(SIMT_CPU_BACKEND)
    int lane = threadIdx.x % 32, row = lane / 4 * 4, column = lane % 4 * 2 * 4;
    for (int half = 0; half < 2; half++) {     // k 0-7, 8-15
        for (int pair = 0; pair < 4; pair++) { // two k of them
            for (int lower = 0; lower < 2; lower++) {
                float2 x = unpack<T>(__shfl_sync(0xffffffffu, a[2 * half + lower], row + pair));
                for (int right = 0; right < 2; right++) {
                    float2 y = unpack<T>(__shfl_sync(0xffffffffu, half ? b1 : b0, column + 4 * right + pair));
                    acc[2 * lower + right] += x.x * y.x + x.y * y.y;
                }
            }
        }
    }
#else
    (void)acc, (void)a, (void)b0, (void)b1;
    NO_TENSOR_CORES();
#endif
}

#endif
