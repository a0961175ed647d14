// step: step3  op: causal_softmax_forward_f32
// reason: Online softmax of four elements at a time, the last rows first; then each row again, from its end to its start.
#include "ops/causal_softmax_forward/contract.h"

#include <cuda_runtime.h>
#include <float.h>
#include <math.h>

enum { lanes = 32, threads = 256 };

// The largest of the elements so far, and the sum of exp(scale * (x - peak)). -inf adds nothing; NaN and +inf make it NaN.
struct running {
    float peak = -FLT_MAX, mass = 0.0f;

    __device__ void rescale(float higher, float scale) {
        mass *= expf(scale * (peak - higher));
        peak = higher;
    }
    __device__ void take(float4 v, float scale) {
        float highest = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
        if (highest > peak) { rescale(highest, scale); }
        mass += expf(scale * (v.x - peak)) + expf(scale * (v.y - peak));
        mass += expf(scale * (v.z - peak)) + expf(scale * (v.w - peak));
    }
};

__global__ void backwards(float *out, const float *x, const int *lengths, int N, int H, int T, float scale, int upper) {
    int lane = threadIdx.x % lanes, row = N - 1 - (int)(blockIdx.x * blockDim.x + threadIdx.x) / lanes;
    if (row < 0) { return; }
    int query = row % T, keys = query + 1, end = upper == CAUSAL_UPPER_KEEP ? keys : T;
    if (lengths) { keys = max(0, min(keys, lengths[row / T / H])); }
    const float *from = x + (size_t)row * T;
    float *to = out + (size_t)row * T;

    running mine;
    bool whole = (size_t)from % sizeof(float4) == 0;
    for (int j = 4 * lane; j < keys; j += 4 * lanes) {
        float4 four = make_float4(from[j], -INFINITY, -INFINITY, -INFINITY);
        if (whole && j + 3 < keys) {
            four = *(const float4 *)(from + j);
        } else {
            if (j + 1 < keys) { four.y = from[j + 1]; }
            if (j + 2 < keys) { four.z = from[j + 2]; }
            if (j + 3 < keys) { four.w = from[j + 3]; }
        }
        mine.take(four, scale);
    }
    float peak = mine.peak;
    for (int other = lanes / 2; other; other /= 2) { peak = fmaxf(peak, __shfl_xor_sync(~0u, peak, other)); }
    mine.rescale(peak, scale);
    for (int other = lanes / 2; other; other /= 2) { mine.mass += __shfl_xor_sync(~0u, mine.mass, other); }

    __syncwarp(); // out may be x: all lanes have read the row
    // A row of -inf: 0 / 0.
    for (int j = end - 1 - lane; j >= 0; j -= lanes) {
        to[j] = j < keys ? expf(scale * (from[j] - peak)) / mine.mass : 0.0f;
    }
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    int N = B * H * T, rows = threads / lanes;
    if (N > 0) { backwards<<<(N + rows - 1) / rows, threads, 0, stream>>>(out, x, lengths, N, H, T, scale, upper); }
    return cudaGetLastError();
}
