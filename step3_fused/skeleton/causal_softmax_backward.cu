// causal_softmax_backward.cu — the gradient of scale, causal mask and softmax in one kernel (lab 3, track B: optional)
//
// Purpose   Training needs the gradient of the scores from that of the attention weights. Masked scores have gradient 0, so
//           the upper triangle is not read.
// Math      s = sum_(j < keys) out[i][j] dout[i][j]      dx[i][j] = scale out[i][j] (dout[i][j] - s) for j < keys, else 0
//           keys = min(i + 1, lengths[b])      dx, dout, out: (B, H, T, T); row n of N = B H T is query i = n % T
// Bytes     floor: read half of dout and of out, write dx: 2 s N T, where an element has s bytes; CAUSAL_UPPER_KEEP: 1.5 s N T.
//           (8, 12, 1024, 1024): 805 MB in fp32, 403 MB in bf16: 168 and 84 us on an H200 (4.8 TB/s).
// Kernels   1  warp per row, one element at a time
// Launchers causal_softmax_backward_f32, _f16, _bf16, declared in common/ops/causal_softmax_backward/contract.h
#include "arguments.cuh"
#include "causal_range.cuh"
#include "common/cuda_check.h"
#include "common/ops/causal_softmax_backward/contract.h"
#include "reduce.cuh"
#include "vec.cuh"

#include <cuda_runtime.h>

// The kernel that the launchers launch.
constexpr int chosen_kernel = 0; // 0: not started. Set it to 1 when kernel 1 is written.
enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };

// dx may be dout, so these two are not __restrict__. Every element of dout is read for the last time before dx is written
// there, by the thread that writes it.

template <class T>
__global__ void causal_softmax_backward_kernel1(T *dx,                     // (N, T)
                                                const T *dout,             // (N, T)
                                                const T *__restrict__ out, // (N, T)
                                                const int *lengths,        // (B) or null
                                                int N, int H, int T_, float scale, int upper) {
    // TODO 7a (13 lines): Two passes over the columns that the mask leaves.
    //   Goal      dx by the math above, a warp per row; zeros behind the keys.
    //   Contract  nothing beyond range.keys is read. Sums in fp32, one rounding. dx may be dout.
    //   Question  which number does the second pass need from the first?
    //   Known     to_float(value), from_float<T>(value); causal_range_of and warp_zeros as in the forward pass.
}

// ---- launchers ----

// Launches kernel `rung`.
template <class T>
static int launch_rung(int rung, T *dx, const T *dout, const T *out, const int *lengths, int B, int H, int T_,
                       float scale, int upper, cudaStream_t stream) {
    CUDA_CHECK(check_matrices(B, H, T_, upper, {dx, dout, out}));
    if (rung == 0) { return cudaErrorNotSupported; } // "not started"
    if (B == 0 || H == 0) { return cudaSuccess; }
    int N = B * H * T_, warp_blocks = (N - 1) / warps_per_block + 1;
    if (rung != 1) { return cudaErrorInvalidValue; }
    causal_softmax_backward_kernel1<<<warp_blocks, threads_per_block, 0, stream>>>(dx, dout, out, lengths, N, H, T_,
                                                                                   scale, upper);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                             \
    int name(T *dx, const T *dout, const T *out, const int *lengths, int B, int H, int T_, float scale, int upper,     \
             cudaStream_t stream) {                                                                                    \
        return launch_rung(chosen_kernel, dx, dout, out, lengths, B, H, T_, scale, upper, stream);                     \
    }                                                                                                                  \
    extern "C" int name##_rung(int rung, T *dx, const T *dout, const T *out, const int *lengths, int B, int H, int T_, \
                               float scale, int upper, cudaStream_t stream) {                                          \
        return launch_rung(rung, dx, dout, out, lengths, B, H, T_, scale, upper, stream);                              \
    }
LAUNCHERS(causal_softmax_backward_f32, float)
LAUNCHERS(causal_softmax_backward_f16, __half)
LAUNCHERS(causal_softmax_backward_bf16, __nv_bfloat16)
