// step: step3  op: residual_layernorm_forward_bf16
// reason: Packed128, weight and bias staged in shared memory by a whole block, a warp per row in a 2D block.
#include "common/contracts/residual_layernorm_forward.h"
#include <assert.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>

template <class ElementType> struct alignas(16) Packed128 {
    Packed128() = default;
    __device__ explicit Packed128(int4 bits) { memcpy(&payload, &bits, sizeof(bits)); }
    __device__ ElementType &operator[](int index) { return payload[index]; }
    __device__ const ElementType &operator[](int index) const { return payload[index]; }
    __device__ int4 get_bits() const {
        int4 bits;
        memcpy(&bits, &payload, sizeof(bits));
        return bits;
    }
    static constexpr const size_t size = sizeof(int4) / sizeof(ElementType);
    ElementType payload[size];
};
typedef __nv_bfloat16 floatX;
typedef Packed128<floatX> x128;

template <class T> __device__ Packed128<T> load128(const T *address) {
    return Packed128<T>{*reinterpret_cast<const int4 *>(address)};
}
template <class T> __device__ void store128(T *target, Packed128<T> value) {
    *reinterpret_cast<int4 *>(target) = value.get_bits();
}

__global__ void fused_residual_forward_kernel5(floatX *residual, floatX *normed, float *mean, float *rstd,
                                               const floatX *inp1, const floatX *inp2, const floatX *weight,
                                               const floatX *bias, int N, int C, float eps) {
    extern __shared__ char *params_[];
    char *params = reinterpret_cast<char *>(params_);
    x128 *s_weight = reinterpret_cast<x128 *>(params);
    x128 *s_bias = s_weight + C / x128::size;
    x128 *s_res = s_weight + (2 + threadIdx.y) * C / x128::size;
    int sidx = (threadIdx.x + 32 * threadIdx.y) * x128::size;
    for (int i = sidx; i < C; i += blockDim.y * 32 * x128::size) {
        s_weight[i / x128::size] = load128(weight + i);
        s_bias[i / x128::size] = load128(bias + i);
    }
    __syncthreads();
    int idx = blockIdx.x * blockDim.y + threadIdx.y;
    if (idx >= N) return;
    residual += (size_t)C * idx;
    normed += (size_t)C * idx;
    inp1 += (size_t)C * idx;
    inp2 += (size_t)C * idx;
    float sum = 0.0f;
    for (int c = threadIdx.x * x128::size; c < C; c += 32 * x128::size) {
        const x128 in1 = load128(inp1 + c), in2 = load128(inp2 + c);
        x128 out;
        for (int k = 0; k < (int)x128::size; ++k) {
            out[k] = (floatX)((float)in1[k] + (float)in2[k]);
            sum += (float)out[k];
        }
        store128(residual + c, out);
        s_res[c / x128::size] = out;
    }
    for (int o = 16; o; o /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    float m = sum / C, v = 0.f;
    for (int c = threadIdx.x * x128::size; c < C; c += 32 * x128::size) {
        const x128 res = s_res[c / x128::size];
        for (int k = 0; k < (int)x128::size; ++k) v += ((float)res[k] - m) * ((float)res[k] - m);
    }
    for (int o = 16; o; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
    v /= C;
    const float s = rsqrtf(v + eps);
    for (int c = threadIdx.x * x128::size; c < C; c += 32 * x128::size) {
        const x128 res = s_res[c / x128::size], w = s_weight[c / x128::size], b = s_bias[c / x128::size];
        x128 out;
        for (int k = 0; k < (int)x128::size; ++k) out[k] = s * ((float)res[k] - m) * (float)w[k] + (float)b[k];
        store128(normed + c, out);
    }
    if (threadIdx.x == 0) {
        mean[idx] = m;
        rstd[idx] = s;
    }
}

__global__ void plain(floatX *sum_out, floatX *out, float *mean, float *rstd, const floatX *x, const floatX *r,
                      const floatX *w, const floatX *b, int N, int C, float eps) {
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < N; n += gridDim.x * blockDim.x) {
        size_t o = (size_t)n * C;
        float s = 0, v = 0;
        for (int c = 0; c < C; c++) {
            floatX z = x[o + c] + r[o + c];
            sum_out[o + c] = z;
            s += (float)z;
        }
        s /= C;
        for (int c = 0; c < C; c++) {
            float d = (float)sum_out[o + c] - s;
            v += d * d;
        }
        float q = rsqrtf(v / C + eps);
        for (int c = 0; c < C; c++) out[o + c] = ((float)sum_out[o + c] - s) * q * (float)w[c] + (float)b[c];
        mean[n] = s;
        rstd[n] = q;
    }
}

int residual_layernorm_forward_bf16(floatX *out, floatX *sum, float *mean, float *rstd, const floatX *x,
                                    const floatX *residual, const floatX *weight, const floatX *bias, int N, int C,
                                    float eps, cudaStream_t stream) {
    if (N == 0) return cudaSuccess;
    int block_y = 256 / 32;
    size_t smem = (2 + block_y) * C * sizeof(floatX);
    bool aligned = C % x128::size == 0;
    for (const void *p : {(const void *)out, (const void *)sum, (const void *)x, (const void *)residual,
                          (const void *)weight, (const void *)bias})
        aligned = aligned && (size_t)p % 16 == 0;
    if (aligned && cudaFuncSetAttribute(fused_residual_forward_kernel5, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        smem) == cudaSuccess)
        fused_residual_forward_kernel5<<<(N + block_y - 1) / block_y, dim3(32, block_y), smem, stream>>>(
            sum, out, mean, rstd, x, residual, weight, bias, N, C, eps);
    else {
        cudaGetLastError();
        plain<<<(N + 63) / 64, 64, 0, stream>>>(sum, out, mean, rstd, x, residual, weight, bias, N, C, eps);
    }
    return cudaGetLastError();
}
