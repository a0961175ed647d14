// causal_softmax.cu — scale, causal mask and softmax in one kernel (lab 3)
//
// Purpose   The middle of attention: query i sees the keys j <= i. Frameworks run three kernels over the whole matrix. One
//           kernel that skips the upper triangle moves a quarter of their bytes.
// Math      keys = min(i + 1, lengths[b])      m = max_(j < keys) scale x[i][j]
//           out[i][j] = exp(scale x[i][j] - m) / sum_(k < keys) exp(scale x[i][k] - m) for j < keys, else 0
//           out, x: (B, H, T, T); lengths: (B) or null; row n of N = B H T is query i = n % T of batch n / T / H
// Bytes     floor: read half of x, write out: 1.5 s N T, where an element has s bytes; with CAUSAL_UPPER_KEEP half of out
//           too, 1 s N T. (8, 12, 1024, 1024): 604 MB in fp32, 302 MB in bf16: 126 and 63 us on an H200 (4.8 TB/s).
// Kernels   1  thread per row: lab 1's; fused and slow, since neighbouring threads read 4 T bytes apart
//           2  warp per row, one element at a time                                                             fp32
//           3  warp per row, 16 bytes at a time                                                                fp32
//           4  warp per row, the row in registers: one read; one template for fp32, fp16 and bf16
//           In the 16-bit types the numbers 2 and 3 run kernel 4.
// Launchers causal_softmax_forward_f32, _f16, _bf16, declared in common/ops/causal_softmax_forward/contract.h
#include "arguments.cuh"
#include "causal_range.cuh"
#include "common/cuda_check.h"
#include "common/ops/causal_softmax_forward/contract.h"
#include "reduce.cuh"
#include "vec.cuh"

#include <cuda_runtime.h>
#include <math.h>
#include <type_traits>

// The kernel that the launchers launch.
constexpr int chosen_kernel = 0; // 0: not started. Set it to 2 when kernel 2 is written, then climb.
enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };

// out may be x, so these pointers are not __restrict__. Every element is read for the last time before it is written, by
// the thread that writes it.

// ---- kernels ----

__global__ void causal_softmax_forward_kernel2(float *out,         // (N, T)
                                               const float *x,     // (N, T)
                                               const int *lengths, // (B) or null
                                               int N, int H, int T_, float scale, int upper) {
    // TODO 1a (14 lines): Lab 2's warp per row, for the first range.keys columns.
    //   lane and n as in lab 2 (warps_per_block rows a block; a warp without a row leaves);
    //   causal_range range = causal_range_of(n, lengths, H, T_, upper); x_row and out_row begin at (size_t)n * T_.
    //   Three passes: lane l takes the columns l, l + 32, ... before range.keys, and reads no others. The maximum and the
    //   exponents are of scale * x. Then warp_zeros writes the columns range.keys .. range.end - 1. A row without keys is
    //   all zeros: check that no 0 / 0 gets into it.
}

// aligned: every row begins at a multiple of 16 bytes. A vec that the diagonal cuts is read element by element.
__global__ void causal_softmax_forward_kernel3(float *out,         // (N, T)
                                               const float *x,     // (N, T)
                                               const int *lengths, // (B) or null
                                               int N, int H, int T_, float scale, int upper, bool aligned) {
    // TODO 2a (28 lines): Kernel 2 with 16 bytes for each access.
    //   The same beginning; constexpr int size = vec<float>::size, step = warp_size * size;
    //   Lane l takes the columns 4 l .. 4 l + 3, then those 128 further on. Of the vec at j, min(4, range.keys - j) columns
    //   are keys: row_vec if all of them are and the row is aligned, else vec_load_part(x_row + j, count). vec_unpack
    //   gives four floats. In the last pass a vec may hold keys and zeros: store the part of it that lies before range.end,
    //   by vec_store or vec_store_part. Vecs beyond the keys are zeros too.
}

// VECS: of a row, in one lane. The loops over them are unrolled, since registers cannot be indexed.
template <class T, int VECS>
__global__ void causal_softmax_forward_kernel4(T *out,             // (N, T)
                                               const T *x,         // (N, T)
                                               const int *lengths, // (B) or null
                                               int N, int H, int T_, float scale, int upper, bool aligned) {
    // TODO 3a (47 lines): One read: the row stays in registers. First for T = float, then for every T.
    //   The same beginning, with vec<T> and T in place of float.
    //   vec<T> row[VECS]; lane l's vec k begins at column j = (k * 32 + l) * size. Load all of them first, so that all loads
    //   are in flight together; then the three passes of kernel 3 over row[k]. #pragma unroll before each loop over k. A
    //   vec<T> holds 4 or 8 elements: write size, not a number, and try T = 1, 31, 1023 and 1024 in each type.
}

// ---- launchers ----

// Launches kernel `rung`. In fp32, rows of more than 16 KiB, too long for the registers of kernel 4, go to kernel 2.
template <class T>
static int launch_rung(int rung, T *out, const T *x, const int *lengths, int B, int H, int T_, float scale, int upper,
                       cudaStream_t stream) {
    CUDA_CHECK(check_matrices(B, H, T_, upper, {out, x}));
    if (rung < 0) { return cudaErrorInvalidValue; }
    if (rung == 0) { return cudaErrorNotSupported; } // "not started"
    if (B == 0 || H == 0) { return cudaSuccess; }
    int N = B * H * T_, warp_blocks = (N - 1) / warps_per_block + 1;
    bool aligned = T_ % vec<T>::size == 0 && vec_aligned(out) && vec_aligned(x);
    int vecs = (T_ - 1) / (warp_size * vec<T>::size) + 1; // of a lane
    if (rung > 4) { return cudaErrorInvalidValue; }
    if constexpr (std::is_same<T, float>::value) {
        if (rung == 2 || (rung == 4 && vecs > 32)) {
            causal_softmax_forward_kernel2<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, lengths, N, H, T_,
                                                                                          scale, upper);
        }
        if (rung == 3) {
            causal_softmax_forward_kernel3<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, lengths, N, H, T_,
                                                                                          scale, upper, aligned);
        }
    } else if (rung == 2 || rung == 3) {
        rung = 4;
    }
    if (rung == 4 && vecs <= 32) {
        auto kernel = vecs <= 2   ? causal_softmax_forward_kernel4<T, 2>
                      : vecs <= 4 ? causal_softmax_forward_kernel4<T, 4>
                      : vecs <= 8 ? causal_softmax_forward_kernel4<T, 8>
                                  : causal_softmax_forward_kernel4<T, 32>;
        kernel<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, lengths, N, H, T_, scale, upper, aligned);
    }
    if (rung == 1 || (rung == 4 && vecs > 32 && sizeof(T) == 2)) { return cudaErrorInvalidValue; }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                          \
    int name(T *out, const T *x, const int *lengths, int B, int H, int T_, float scale, int upper,                  \
             cudaStream_t stream) {                                                                                 \
        return launch_rung(chosen_kernel, out, x, lengths, B, H, T_, scale, upper, stream);                         \
    }                                                                                                               \
    extern "C" int name##_rung(int rung, T *out, const T *x, const int *lengths, int B, int H, int T_, float scale, \
                               int upper, cudaStream_t stream) {                                                    \
        return launch_rung(rung, out, x, lengths, B, H, T_, scale, upper, stream);                                  \
    }
LAUNCHERS(causal_softmax_forward_f32, float)
LAUNCHERS(causal_softmax_forward_f16, __half)
LAUNCHERS(causal_softmax_forward_bf16, __nv_bfloat16)
