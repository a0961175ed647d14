//:omit
// causal_softmax_online.cuh — a negative result: online softmax of a row that is in registers
//
// It saves a pass over memory that the row does not need, and each element costs two exponentials in place of one.
#ifndef CAUSAL_SOFTMAX_ONLINE_CUH
#define CAUSAL_SOFTMAX_ONLINE_CUH

#include "causal_range.cuh"
#include "speed_of_light/pieces.cuh" // softmax_merge

template <class T>
__global__ void causal_softmax_forward_kernel5(T *out,             // (N, T)
                                               const T *x,         // (N, T)
                                               const int *lengths, // (B) or null
                                               int N, int H, int T_, float scale, int upper) {
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * (blockDim.x / warp_size) + threadIdx.x / warp_size;
    if (n >= N) { return; }
    causal_range range = causal_range_of(n, lengths, H, T_, upper);
    const T *x_row = x + (size_t)n * T_; // (T)
    T *out_row = out + (size_t)n * T_;   // (T)

    softmax_part part = {-FLT_MAX, 0.0f};
    for (int j = lane; j < range.keys; j += warp_size) {
        part = softmax_merge<float>(part, {scale * to_float(x_row[j]), 1.0f});
    }
    part = warp_softmax_merge<float>(part, warp_size);
    for (int j = lane; j < range.keys; j += warp_size) {
        out_row[j] = from_float<T>(expf(scale * to_float(x_row[j]) - part.largest) / part.sum);
    }
    warp_zeros(out_row, range.keys, range.end, lane);
}

#endif
//:end
