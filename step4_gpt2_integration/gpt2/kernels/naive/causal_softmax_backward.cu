// causal_softmax_backward.cu — the gradient of scale, causal mask and softmax, a thread per row (the naive set)
//
// Math      common/ops/causal_softmax_backward/contract.h
// Bytes     The unmasked part of dout and out is read twice, and neighbouring threads read addresses that are T apart.
#include "elements.cuh"
#include "ops/causal_softmax_backward/contract.h"

// dx may alias dout: a thread reads each element for the last time before it writes it.
template <class T>
__global__ void causal_softmax_backward_naive(T *dx,              // (B, H, T, T)
                                              const T *dout,      // (B, H, T, T)
                                              const T *out,       // (B, H, T, T)
                                              const int *lengths, // (B) or null
                                              long long rows, int H, int T_, float scale, int upper) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) { return; }
    const T *dout_row = dout + row * T_, *out_row = out + row * T_; // (T)
    T *dx_row = dx + row * T_;                                      // (T)
    int i = (int)(row % T_);
    int allowed = i + 1;
    if (lengths != nullptr) {
        int length = lengths[row / ((long long)H * T_)];
        allowed = min(allowed, max(length, 0));
    }

    float s = 0.0f;
    for (int j = 0; j < allowed; j++) { s += to_float(out_row[j]) * to_float(dout_row[j]); }

    for (int j = 0; j < allowed; j++) {
        dx_row[j] = from_float<T>(scale * to_float(out_row[j]) * (to_float(dout_row[j]) - s));
    }
    int end = upper == CAUSAL_UPPER_ZERO ? T_ : i + 1;
    for (int j = allowed; j < end; j++) { dx_row[j] = from_float<T>(0.0f); }
}

template <class T>
static int causal_softmax_backward(T *dx, const T *dout, const T *out, const int *lengths, int B, int H, int T_,
                                   float scale, int upper, cudaStream_t stream) {
    if (B < 0 || H < 0 || T_ < 1 || !launchable((long long)B * H)) { return cudaErrorInvalidValue; }
    long long rows = (long long)B * H * T_;
    if (rows == 0) { return cudaSuccess; }
    if (!dx || !dout || !out || !launchable(rows)) { return cudaErrorInvalidValue; }
    causal_softmax_backward_naive<<<blocks_for(rows), threads_per_block, 0, stream>>>(dx, dout, out, lengths, rows, H,
                                                                                      T_, scale, upper);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHER(type_t, type)                                                                                       \
    int causal_softmax_backward_##type(type_t *dx, const type_t *dout, const type_t *out, const int *lengths, int B, \
                                       int H, int T, float scale, int upper, cudaStream_t stream) {                  \
        return causal_softmax_backward(dx, dout, out, lengths, B, H, T, scale, upper, stream);                       \
    }
LAUNCHER(float, f32)
LAUNCHER(__half, f16)
LAUNCHER(__nv_bfloat16, bf16)
