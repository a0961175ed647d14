// step: step3  op: causal_softmax_forward_f32
// reason: Online softmax in fours from a row's beginning, then the row again, from the last block backwards.
#include "common/contracts/causal_softmax_forward.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <float.h>

namespace cg = cooperative_groups;

__device__ float &vec_at(float4 &vec, int index) {
    return reinterpret_cast<float *>(&vec)[index];
}

__device__ float vec_at(const float4 &vec, int index) {
    return reinterpret_cast<const float *>(&vec)[index];
}

__global__ void softmax_forward_kernel5(float *out, float inv_temperature, const float *inp, const int *lengths, int N,
                                        int H, int T, int upper) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int idx = (gridDim.x - blockIdx.x - 1) * warp.meta_group_size() + warp.meta_group_rank();
    if (idx >= N) { return; }
    int own_pos = idx % T;
    int keys = own_pos + 1;
    if (lengths != nullptr) { keys = max(0, min(keys, lengths[idx / (H * T)])); }
    int pos_by_4 = keys / 4;
    const float *x = inp + (size_t)idx * T;
    bool aligned = reinterpret_cast<size_t>(x) % 16 == 0;
    float maxval = -FLT_MAX, sumval = 0.0f;
    const float4 *x_vec = reinterpret_cast<const float4 *>(x);
    for (int i = warp.thread_rank(); i < pos_by_4; i += warp.size()) {
        float4 v = aligned ? x_vec[i] : make_float4(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]);
        float old_maxval = maxval;
        for (int k = 0; k < 4; ++k) { maxval = fmaxf(maxval, vec_at(v, k)); }
        sumval *= expf(inv_temperature * (old_maxval - maxval));
        for (int k = 0; k < 4; ++k) { sumval += expf(inv_temperature * (vec_at(v, k) - maxval)); }
    }
    if (4 * pos_by_4 + warp.thread_rank() < keys) {
        float old_maxval = maxval, value = x[4 * pos_by_4 + warp.thread_rank()];
        maxval = fmaxf(maxval, value);
        sumval *= expf(inv_temperature * (old_maxval - maxval));
        sumval += expf(inv_temperature * (value - maxval));
    }
    bool spoiled = false;
    for (int i = warp.thread_rank(); i < keys; i += warp.size()) { spoiled |= isnan(x[i]) || x[i] == INFINITY; }
    float global_maxval = cg::reduce(warp, maxval, cg::greater<float>{});
    sumval *= expf(inv_temperature * (maxval - global_maxval));
    float sum = cg::reduce(warp, sumval, cg::plus<float>{});
    if (warp.any(spoiled)) { sum = NAN; }
    if (global_maxval == -FLT_MAX) { sum = NAN; } // a row of -inf
    float norm = 1.f / sum;
    warp.sync(); // out may be inp: all have read
    int end = upper == CAUSAL_UPPER_ZERO ? T : own_pos + 1;
    for (int i = warp.thread_rank(); i < end; i += warp.size()) {
        float value = i < keys ? expf(inv_temperature * (__ldcs(x + i) - global_maxval)) * norm : 0.0f;
        __stcs(out + (size_t)idx * T + i, value);
    }
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    const int block_size = 256, N = B * H * T;
    if (N == 0) { return 0; }
    softmax_forward_kernel5<<<(N * 32 + block_size - 1) / block_size, block_size, 0, stream>>>(out, scale, x, lengths,
                                                                                               N, H, T, upper);
    return cudaGetLastError();
}
