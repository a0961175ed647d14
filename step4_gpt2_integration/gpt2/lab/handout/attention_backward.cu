// attention_backward.cu — replaces gpt2/model/attention_backward.cu in a handout, because that is a solution of lab 4
//
// Math      of one head: P = softmax(Q K^T / sqrt(D)), out = P V; dV = P^T dout, dP = dout V^T, dS = P (dP - sum of P dP),
//           dQ = dS K / sqrt(D), dK = dS^T Q / sqrt(D)
// Kernels   A thread per query for its rows of P and dS, and dQ; then a thread per key for dK and dV. Each element is read T
//           times, so it is for small tensors.
#include "gpt2/model/attention_backward.cuh"

#include <cmath>

enum { threads_per_block = 128 };

namespace {
// One head of one sequence: vectors of D channels, of each token.
template <class T> struct head {
    T *dqkv;
    const T *qkv, *dout;
    T *p, *ds; // (T, T)
    int keys, C, D;

    __device__ const T *had(int token, int part) const { return qkv + (int64_t)(3 * token + part) * C; }
    __device__ T *gradient(int token, int part) const { return dqkv + (int64_t)(3 * token + part) * C; }
    __device__ float dot(const T *x, const T *y) const {
        float sum = 0.0f;
        for (int d = 0; d < D; d++) { sum += to_float(x[d]) * to_float(y[d]); }
        return sum;
    }
};

// The head of thread `number` of B * H * T threads.
template <class T>
__device__ head<T> head_of(int64_t number, T *dqkv, const attention_room<T> &room, const T *dout, const T *qkv,
                           const int *lengths, int T_, int H, int D) {
    const int64_t which = number / T_, b = which / H, h = which % H, C = (int64_t)H * D;
    const int64_t wide = b * T_ * 3 * C + h * D, square = which * T_ * T_;
    return {dqkv + wide,
            qkv + wide,
            dout + b * T_ * C + h * D,
            room.scores + square,
            room.dscores + square,
            lengths != nullptr ? min(lengths[b], T_) : T_,
            (int)C,
            D};
}
} // namespace

template <class T>
__global__ void queries(T *dqkv, attention_room<T> room, const T *dout, const T *qkv, const int *lengths,
                        int64_t threads, int T_, int H, int D, float scale) {
    const int64_t number = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= threads) { return; }
    const head<T> own = head_of(number, dqkv, room, dout, qkv, lengths, T_, H, D);
    const int token = (int)(number % T_), count = min(token + 1, own.keys);
    const T *query = own.had(token, 0), *gradient = own.dout + (int64_t)token * own.C;
    T *p = own.p + (int64_t)token * T_, *ds = own.ds + (int64_t)token * T_;
    float most = -INFINITY, sum = 0.0f, mean = 0.0f;
    for (int key = 0; key < count; key++) { most = fmaxf(most, scale * own.dot(query, own.had(key, 1))); }
    for (int key = 0; key < count; key++) { sum += expf(scale * own.dot(query, own.had(key, 1)) - most); }
    for (int key = 0; key < count; key++) {
        const float share = expf(scale * own.dot(query, own.had(key, 1)) - most) / sum;
        p[key] = from_float<T>(share);
        mean += share * own.dot(gradient, own.had(key, 2));
    }
    for (int key = 0; key < count; key++) {
        ds[key] = from_float<T>(scale * to_float(p[key]) * (own.dot(gradient, own.had(key, 2)) - mean));
    }
    for (int d = 0; d < D; d++) {
        float total = 0.0f;
        for (int key = 0; key < count; key++) { total += to_float(ds[key]) * to_float(own.had(key, 1)[d]); }
        own.gradient(token, 0)[d] = from_float<T>(total);
    }
}

template <class T>
__global__ void keys(T *dqkv, attention_room<T> room, const T *dout, const T *qkv, const int *lengths, int64_t threads,
                     int T_, int H, int D) {
    const int64_t number = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= threads) { return; }
    const head<T> own = head_of(number, dqkv, room, dout, qkv, lengths, T_, H, D);
    const int token = (int)(number % T_);
    for (int d = 0; d < D; d++) {
        float dk = 0.0f, dv = 0.0f;
        for (int64_t other = token; other < T_ && token < own.keys; other++) { // the queries that attend to this key
            dk += to_float(own.ds[other * T_ + token]) * to_float(own.had((int)other, 0)[d]);
            dv += to_float(own.p[other * T_ + token]) * to_float(own.dout[other * own.C + d]);
        }
        own.gradient(token, 1)[d] = from_float<T>(dk);
        own.gradient(token, 2)[d] = from_float<T>(dv);
    }
}

template <class T>
int attention_backward(gpt2_device &device, const kernel_table &, T *dqkv, const attention_room<T> &room, const T *dout,
                       const T *qkv, const int *lengths, int B, int T_, int H, int D, const dropout &drop, int64_t) {
    if (drop.below > 0) { return cudaErrorNotSupported; } // a handout does not train
    const int64_t threads = (int64_t)B * H * T_;
    const unsigned blocks = blocks_of(threads, threads_per_block);
    queries<<<blocks, threads_per_block, 0, device.stream>>>(dqkv, room, dout, qkv, lengths, threads, T_, H, D,
                                                             1.0f / sqrtf((float)D));
    TRY(cudaGetLastError());
    keys<<<blocks, threads_per_block, 0, device.stream>>>(dqkv, room, dout, qkv, lengths, threads, T_, H, D);
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                              \
    template int attention_backward(gpt2_device &, const kernel_table &, T *, const attention_room<T> &, const T *, \
                                    const T *, const int *, int, int, int, int, const dropout &, int64_t);
FOR_EACH_TYPE(INSTANTIATE)
