// step: step3  op: causal_softmax_backward_bf16  diagnosis: nan-hidden
// reason: Keys of weight 0 are skipped, so their NaN in dout reaches no result, and they get 0 where the sum is NaN.
#include "arguments.cuh"
#include "causal_range.cuh"
#include "common/cuda_check.h"
#include "common/ops/causal_softmax_backward/contract.h"
#include "reduce.cuh"
#include "vec.cuh"

#include <cuda_runtime.h>

enum { threads_per_block = 256, warps_per_block = threads_per_block / warp_size };

template <class T>
__global__ void sparse_gradient(T *dx, const T *dout, const T *out, const int *lengths, int N, int H, int T_,
                                float scale, int upper) {
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    causal_range range = causal_range_of(n, lengths, H, T_, upper);
    size_t row = (size_t)n * T_;

    float dot = 0.0f;
    for (int j = lane; j < range.keys; j += warp_size) {
        float p = to_float(out[row + j]);
        if (p == 0.0f) { continue; } // adds nothing; saves the read of dout
        dot += p * to_float(dout[row + j]);
    }
    dot = warp_sum(dot);

    for (int j = lane; j < range.end; j += warp_size) {
        float g = 0.0f;
        if (j < range.keys) {
            float p = to_float(out[row + j]);
            if (p != 0.0f) { g = scale * p * (to_float(dout[row + j]) - dot); }
        }
        dx[row + j] = from_float<T>(g);
    }
}

template <class T>
static int start(T *dx, const T *dout, const T *out, const int *lengths, int B, int H, int T_, float scale, int upper,
                 cudaStream_t stream) {
    CUDA_CHECK(check_matrices(B, H, T_, upper, {dx, dout, out}));
    if (B == 0 || H == 0) { return cudaSuccess; }
    int N = B * H * T_;
    sparse_gradient<T><<<(N - 1) / warps_per_block + 1, threads_per_block, 0, stream>>>(dx, dout, out, lengths, N, H,
                                                                                        T_, scale, upper);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                             \
    int name(T *dx, const T *dout, const T *out, const int *lengths, int B, int H, int T_, float scale, int upper,     \
             cudaStream_t stream) {                                                                                    \
        return start(dx, dout, out, lengths, B, H, T_, scale, upper, stream);                                          \
    }                                                                                                                  \
    extern "C" int name##_rung(int rung, T *dx, const T *dout, const T *out, const int *lengths, int B, int H, int T_, \
                               float scale, int upper, cudaStream_t stream) {                                          \
        (void)rung;                                                                                                    \
        return start(dx, dout, out, lengths, B, H, T_, scale, upper, stream);                                          \
    }
LAUNCHERS(causal_softmax_backward_f32, float)
LAUNCHERS(causal_softmax_backward_f16, __half)
LAUNCHERS(causal_softmax_backward_bf16, __nv_bfloat16)
