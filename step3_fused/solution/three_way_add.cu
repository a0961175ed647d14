//:omit
// three_way_add.cu — out = (a + b) + c in one kernel (lab 3, to read)
//
// Purpose   A block with parallel branches adds two of them to the residual stream. Two kernels write the sum of the first two
//           and read it again: 6 s N C bytes. One kernel keeps it in a register: 4 s N C.
// Math      out = (a + b) + c, rounded to T after each addition, as in two kernels. It is not a + (b + c): in fp16 all numbers
//           above 2048 are even, so (2048 + 1) + 1 is 2048, and 2048 + (1 + 1) is 2050.   all tensors: (N, C)
// Bytes     floor: 4 s N C. 8192 x 768: 100.7 MB in fp32, 50.3 MB in bf16: 21.0 and 10.5 us on an H200 (4.8 TB/s).
// Kernels   1  thread per element: coalesced, but 4 or 2 bytes at a time
//           2  two kernels, 16 bytes at a time: the price of not fusing. In decoding (one row) most of the time is the
//              launch, and a fused add alone gains little: fuse it with its neighbours too, or leave it
//           3  one kernel, 16 bytes at a time
//           4  speed of light: see speed_of_light/three_way_add.cuh
// Launchers three_way_add_f32, _f16, _bf16, declared in common/ops/three_way_add/contract.h
#include "arguments.cuh"
#include "common/cuda_check.h"
#include "common/ops/three_way_add/contract.h"
#include "speed_of_light/three_way_add.cuh"
#include "vec.cuh"

#include <cuda_runtime.h>
#include <limits.h>

enum { threads_per_block = 256 };

// out may be a, b or c, so these pointers are not __restrict__. Every element is read before it is written, by the thread
// that writes it.

// Rounded to T. An addition in fp32 and one rounding give the same result as a 16-bit addition.
template <class T> __device__ inline float add(float a, float b) {
    return to_float(from_float<T>(a + b));
}

template <class T>
__global__ void three_way_add_kernel1(T *out,     // (count)
                                      const T *a, // (count)
                                      const T *b, // (count)
                                      const T *c, // (count)
                                      size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    out[i] = from_float<T>(add<T>(to_float(a[i]), to_float(b[i])) + to_float(c[i]));
}

// aligned: all tensors begin at a multiple of 16 bytes. The last vec may be incomplete.
template <class T>
__global__ void three_way_add_kernel2(T *out,     // (count)
                                      const T *a, // (count)
                                      const T *b, // (count)
                                      size_t count, bool aligned) {
    constexpr int size = vec<T>::size;
    size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * size;
    if (i >= count) { return; }
    int left = count - i < size ? (int)(count - i) : size;
    bool whole = aligned && left == size;
    float x[size], y[size];
    vec_unpack(vec_load(a + i, left, whole), x);
    vec_unpack(vec_load(b + i, left, whole), y);
#pragma unroll
    for (int k = 0; k < size; k++) { x[k] += y[k]; }
    vec<T> result;
    vec_pack(result, x);
    vec_store(out + i, result, left, whole);
}

template <class T>
__global__ void three_way_add_kernel3(T *out,     // (count)
                                      const T *a, // (count)
                                      const T *b, // (count)
                                      const T *c, // (count)
                                      size_t count, bool aligned) {
    constexpr int size = vec<T>::size;
    size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * size;
    if (i >= count) { return; }
    int left = count - i < size ? (int)(count - i) : size;
    bool whole = aligned && left == size;
    float x[size], y[size], z[size];
    vec_unpack(vec_load(a + i, left, whole), x);
    vec_unpack(vec_load(b + i, left, whole), y);
    vec_unpack(vec_load(c + i, left, whole), z);
#pragma unroll
    for (int k = 0; k < size; k++) { x[k] = add<T>(x[k], y[k]) + z[k]; }
    vec<T> result;
    vec_pack(result, x);
    vec_store(out + i, result, left, whole);
}

template <class T>
static int launch_rung(int rung, T *out, const T *a, const T *b, const T *c, int N, int C, cudaStream_t stream) {
    CUDA_CHECK(check_rows(N, C, {out, a, b, c}));
    if (rung < 0 || rung > 4) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    size_t count = (size_t)N * C;
    size_t element_blocks = (count - 1) / threads_per_block + 1;
    size_t vec_blocks = (count - 1) / ((size_t)threads_per_block * vec<T>::size) + 1;
    if (element_blocks > INT_MAX) { return cudaErrorInvalidValue; } // no grid has so many blocks
    bool aligned = vec_aligned(out) && vec_aligned(a) && vec_aligned(b) && vec_aligned(c);
    switch (rung) {
        case 1:
            three_way_add_kernel1<<<(unsigned)element_blocks, threads_per_block, 0, stream>>>(out, a, b, c, count);
            break;
        case 2: {
            if (out == c) { return launch_rung(3, out, a, b, c, N, C, stream); } // the first sum would overwrite c
            three_way_add_kernel2<<<(unsigned)vec_blocks, threads_per_block, 0, stream>>>(out, a, b, count, aligned);
            const T *sum = out;
            three_way_add_kernel2<<<(unsigned)vec_blocks, threads_per_block, 0, stream>>>(out, sum, c, count, aligned);
            break;
        }
        case 3:
            three_way_add_kernel3<<<(unsigned)vec_blocks, threads_per_block, 0, stream>>>(out, a, b, c, count, aligned);
            break;
        default: return three_way_add_speed_of_light(out, a, b, c, count, stream);
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                         \
    int name(T *out, const T *a, const T *b, const T *c, int N, int C, cudaStream_t stream) {      \
        return launch_rung(0, out, a, b, c, N, C, stream);                                         \
    }                                                                                              \
    extern "C" int name##_rung(int rung, T *out, const T *a, const T *b, const T *c, int N, int C, \
                               cudaStream_t stream) {                                              \
        return launch_rung(rung, out, a, b, c, N, C, stream);                                      \
    }
LAUNCHERS(three_way_add_f32, float)
LAUNCHERS(three_way_add_f16, __half)
LAUNCHERS(three_way_add_bf16, __nv_bfloat16)
//:end
