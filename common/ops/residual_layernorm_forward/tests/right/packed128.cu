// step: step3  op: residual_layernorm_forward_bf16
// reason: Four bf16 pairs an access; blocks of 8 x 32 threads stage weight, bias and their rows' sums in shared memory.
#include "ops/residual_layernorm_forward/contract.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>

typedef __nv_bfloat16 bf16;

enum { lanes = 32, warps = 8, pairs = 4, elements = 2 * pairs };

// Eight elements as one value of 16 bytes; the four pairs by number.
struct packet {
    uint4 words;

    __device__ float2 get(int pair) const {
        __nv_bfloat162 both;
        memcpy(&both, (const char *)&words + pair * sizeof both, sizeof both);
        return __bfloat1622float2(both);
    }
    __device__ void set(int pair, float first, float second) {
        __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
        memcpy((char *)&words + pair * sizeof both, &both, sizeof both);
    }
};

__device__ float total_of_warp(float value) {
    for (int step = 1; step < lanes; step *= 2) { value += __shfl_down_sync(~0u, value, step); }
    return __shfl_sync(~0u, value, 0);
}

__global__ void staged(packet *out, packet *sum, float *mean, float *rstd, const packet *x, const packet *residual,
                       const packet *weight, const packet *bias, int N, int packets, float eps) {
    extern __shared__ packet memory[]; // weight, bias, a row for each warp
    packet *gain = memory, *shift = gain + packets, *row = shift + packets + threadIdx.y * packets;
    for (int p = threadIdx.x + lanes * threadIdx.y; p < packets; p += lanes * warps) {
        gain[p] = weight[p];
        shift[p] = bias[p];
    }
    __syncthreads();

    int n = blockIdx.x * warps + threadIdx.y;
    if (n >= N) { return; }
    size_t begin = (size_t)n * packets;
    float2 odd_even = make_float2(0.0f, 0.0f);
    for (int p = threadIdx.x; p < packets; p += lanes) {
        packet left = x[begin + p], right = residual[begin + p];
        for (int i = 0; i < pairs; i++) {
            float2 a = left.get(i), b = right.get(i);
            left.set(i, a.x + b.x, a.y + b.y);
            odd_even.x += left.get(i).x;
            odd_even.y += left.get(i).y;
        }
        row[p] = left;
        sum[begin + p] = left;
    }
    float columns = (float)(elements * packets), centre = total_of_warp(odd_even.x + odd_even.y) / columns;

    float squares = 0.0f;
    for (int p = threadIdx.x; p < packets; p += lanes) {
        packet values = row[p];
        for (int i = 0; i < pairs; i++) {
            float2 a = values.get(i);
            squares += (a.x - centre) * (a.x - centre) + (a.y - centre) * (a.y - centre);
        }
    }
    float inverse = rsqrtf(total_of_warp(squares) / columns + eps);

    for (int p = threadIdx.x; p < packets; p += lanes) {
        packet normal = row[p], scales = gain[p], shifts = shift[p];
        for (int i = 0; i < pairs; i++) {
            float2 a = normal.get(i), g = scales.get(i), s = shifts.get(i);
            normal.set(i, (a.x - centre) * inverse * g.x + s.x, (a.y - centre) * inverse * g.y + s.y);
        }
        out[begin + p] = normal;
    }
    if (threadIdx.x == 0) { mean[n] = centre, rstd[n] = inverse; }
}

// Rows that are not aligned, or too long for shared memory: a warp for each, one element at a time.
__global__ void by_element(bf16 *out, bf16 *sum, float *mean, float *rstd, const bf16 *x, const bf16 *residual,
                           const bf16 *weight, const bf16 *bias, int C, float eps) {
    size_t begin = (size_t)blockIdx.x * C;
    float total = 0.0f, squares = 0.0f;
    for (int c = threadIdx.x; c < C; c += lanes) {
        sum[begin + c] = __float2bfloat16(__bfloat162float(x[begin + c]) + __bfloat162float(residual[begin + c]));
        total += __bfloat162float(sum[begin + c]);
    }
    float centre = total_of_warp(total) / C;
    for (int c = threadIdx.x; c < C; c += lanes) {
        float distance = __bfloat162float(sum[begin + c]) - centre;
        squares += distance * distance;
    }
    float inverse = rsqrtf(total_of_warp(squares) / C + eps);
    for (int c = threadIdx.x; c < C; c += lanes) {
        float normal = (__bfloat162float(sum[begin + c]) - centre) * inverse;
        out[begin + c] = __float2bfloat16(normal * __bfloat162float(weight[c]) + __bfloat162float(bias[c]));
    }
    if (threadIdx.x == 0) { mean[blockIdx.x] = centre, rstd[blockIdx.x] = inverse; }
}

int residual_layernorm_forward_bf16(bf16 *out, bf16 *sum, float *mean, float *rstd, const bf16 *x, const bf16 *residual,
                                    const bf16 *weight, const bf16 *bias, int N, int C, float eps,
                                    cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    size_t bits = (size_t)out | (size_t)sum | (size_t)x | (size_t)residual | (size_t)weight | (size_t)bias;
    int packets = C / elements, bytes = (2 + warps) * packets * (int)sizeof(packet);
    bool whole = bits % sizeof(packet) == 0 && C % elements == 0;
    if (whole && cudaFuncSetAttribute(staged, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess) {
        staged<<<(N - 1) / warps + 1, dim3(lanes, warps), bytes, stream>>>(
            (packet *)out, (packet *)sum, mean, rstd, (const packet *)x, (const packet *)residual,
            (const packet *)weight, (const packet *)bias, N, packets, eps);
    } else {
        cudaGetLastError(); // of the refusal
        by_element<<<N, lanes, 0, stream>>>(out, sum, mean, rstd, x, residual, weight, bias, C, eps);
    }
    return cudaGetLastError();
}
