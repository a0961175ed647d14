//:omit
// bias_gelu.cu — add a vector to every row, then GELU, in one kernel (lab 3, to read)
//
// Purpose   The step between the two matrix products of a transformer's MLP. Fused, x + bias is never written to memory.
// Math      u = x[n][c] + bias[c]      out[n][c] = u / 2 (1 + tanh(k (u + 0.044715 u^3))), k = sqrt(2 / pi)
//           out, x: (N, C); bias: (C)
// Bytes     floor: read x, write out: 2 s N C, where an element has s bytes. 8192 x 3072: 201 MB in fp32, 101 MB in bf16:
//           41.9 and 21.0 us on an H200 (4.8 TB/s). In bf16 that leaves 27 instructions for each element.
// Kernels   1  thread per element, tanhf
//           2  16 bytes at a time, tanhf: fewer loads, and tanhf becomes the limit
//           3  kernel 2 with one exponential in place of tanhf: see speed_of_light/gelu.cuh
//           4  speed of light: a thread keeps its columns' bias for neighbouring rows, dependent launch
// Launchers bias_gelu_forward_f32, _f16, _bf16, declared in common/ops/bias_gelu_forward/contract.h
#include "common/cuda_check.h"
#include "common/ops/bias_gelu_forward/contract.h"
#include "speed_of_light/bias_gelu.cuh"
#include "vec.cuh"

#include <cuda_runtime.h>
#include <limits.h>
#include <math.h>

enum { threads_per_block = 256 };

// out may be x, so these two are not __restrict__. Every element is read before it is written, by the same thread.

__device__ inline float gelu_by_tanh(float u) {
    return 0.5f * u * (1.0f + tanhf(0.7978845608028654f * (u + 0.044715f * u * u * u)));
}

template <class T>
__global__ void bias_gelu_forward_kernel1(T *out,                     // (N, C)
                                          const T *x,                 // (N, C)
                                          const T *__restrict__ bias, // (C)
                                          size_t count, int C) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    out[i] = from_float<T>(gelu_by_tanh(to_float(x[i]) + to_float(bias[i % C])));
}

// No vec crosses the end of a row: each row has row_vecs of them, the last one perhaps incomplete.
// exact: by tanhf; else by one exponential.
template <class T, bool exact>
__global__ void bias_gelu_forward_kernel2(T *out,                     // (N, C)
                                          const T *x,                 // (N, C)
                                          const T *__restrict__ bias, // (C)
                                          int N, int C, int row_vecs, bool aligned) {
    constexpr int size = vec<T>::size;
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, n = at / row_vecs;
    if (n >= (size_t)N) { return; }
    int c = (int)(at % row_vecs) * size, left = min(size, C - c);
    float values[size], b[size];
    vec_unpack(vec_load(x + n * C + c, left, aligned), values);
    vec_unpack(vec_load(bias + c, left, aligned), b);
#pragma unroll
    for (int i = 0; i < size; i++) {
        float u = values[i] + b[i];
        values[i] = exact ? gelu_by_tanh(u) : gelu<T>(u);
    }
    vec<T> result;
    vec_pack(result, values);
    vec_store(out + n * C + c, result, left, aligned);
}

template <class T>
static int launch_rung(int rung, T *out, const T *x, const T *bias, int N, int C, cudaStream_t stream) {
    CUDA_CHECK(check_rows(N, C, {out, x, bias}));
    if (rung < 0 || rung > 4) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    size_t count = (size_t)N * C, element_blocks = (count - 1) / threads_per_block + 1;
    if (element_blocks > INT_MAX) { return cudaErrorInvalidValue; } // no grid has so many blocks
    bool aligned = rows_aligned<T>(C, {out, x, bias});
    int row_vecs = (C - 1) / vec<T>::size + 1;
    unsigned vec_blocks = (unsigned)(((size_t)N * row_vecs - 1) / threads_per_block + 1);
    switch (rung) {
        case 1:
            bias_gelu_forward_kernel1<<<(unsigned)element_blocks, threads_per_block, 0, stream>>>(out, x, bias, count,
                                                                                                  C);
            break;
        case 2:
            bias_gelu_forward_kernel2<T, true>
                <<<vec_blocks, threads_per_block, 0, stream>>>(out, x, bias, N, C, row_vecs, aligned);
            break;
        case 3:
            bias_gelu_forward_kernel2<T, false>
                <<<vec_blocks, threads_per_block, 0, stream>>>(out, x, bias, N, C, row_vecs, aligned);
            break;
        default:
            return aligned ? bias_gelu_rows<T, 128, 2, vec<T>::size>(out, x, bias, N, C, stream)
                           : bias_gelu_rows<T, 128, 4, 1>(out, x, bias, N, C, stream);
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                       \
    int name(T *out, const T *x, const T *bias, int N, int C, cudaStream_t stream) {                             \
        return launch_rung(0, out, x, bias, N, C, stream);                                                       \
    }                                                                                                            \
    extern "C" int name##_rung(int rung, T *out, const T *x, const T *bias, int N, int C, cudaStream_t stream) { \
        return launch_rung(rung, out, x, bias, N, C, stream);                                                    \
    }
LAUNCHERS(bias_gelu_forward_f32, float)
LAUNCHERS(bias_gelu_forward_f16, __half)
LAUNCHERS(bias_gelu_forward_bf16, __nv_bfloat16)
//:end
