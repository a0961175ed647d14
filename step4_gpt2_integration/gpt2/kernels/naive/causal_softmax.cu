// causal_softmax.cu — scale, causal mask and softmax, a thread per row (the naive set)
//
// Math      common/ops/causal_softmax_forward/contract.h
// Bytes     The unmasked part of each row is read three times, and neighbouring threads read addresses that are T apart.
#include "elements.cuh"
#include "ops/causal_softmax_forward/contract.h"

template <class T>
__global__ void causal_softmax_naive(T *out,             // (B, H, T, T)
                                     const T *x,         // (B, H, T, T)
                                     const int *lengths, // (B) or null
                                     long long rows, int H, int T_, float scale, int upper) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) { return; }
    const T *x_row = x + row * T_; // (T)
    T *out_row = out + row * T_;   // (T)
    int i = (int)(row % T_);
    int allowed = i + 1;
    if (lengths != nullptr) {
        int length = lengths[row / ((long long)H * T_)];
        allowed = min(allowed, max(length, 0));
    }

    float largest = -INFINITY;
    bool has_nan = false;
    for (int j = 0; j < allowed; j++) {
        float v = scale * to_float(x_row[j]);
        has_nan = has_nan || v != v;
        largest = fmaxf(largest, v);
    }

    float sum = has_nan ? NAN : 0.0f;
    for (int j = 0; j < allowed; j++) { sum += expf(scale * to_float(x_row[j]) - largest); }

    for (int j = 0; j < allowed; j++) { out_row[j] = from_float<T>(expf(scale * to_float(x_row[j]) - largest) / sum); }
    int end = upper == CAUSAL_UPPER_ZERO ? T_ : i + 1;
    for (int j = allowed; j < end; j++) { out_row[j] = from_float<T>(0.0f); }
}

template <class T>
static int causal_softmax(T *out, const T *x, const int *lengths, int B, int H, int T_, float scale, int upper,
                          cudaStream_t stream) {
    if (B < 0 || H < 0 || T_ < 1 || !launchable((long long)B * H)) { return cudaErrorInvalidValue; }
    long long rows = (long long)B * H * T_;
    if (rows == 0) { return cudaSuccess; }
    if (!out || !x || !launchable(rows)) { return cudaErrorInvalidValue; }
    causal_softmax_naive<<<blocks_for(rows), threads_per_block, 0, stream>>>(out, x, lengths, rows, H, T_, scale,
                                                                             upper);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHER(type_t, type)                                                                               \
    int causal_softmax_forward_##type(type_t *out, const type_t *x, const int *lengths, int B, int H, int T, \
                                      float scale, int upper, cudaStream_t stream) {                         \
        return causal_softmax(out, x, lengths, B, H, T, scale, upper, stream);                               \
    }
LAUNCHER(float, f32)
LAUNCHER(__half, f16)
LAUNCHER(__nv_bfloat16, bf16)
