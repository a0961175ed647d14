// step: step3  op: residual_layernorm_forward_bf16  diagnosis: vector-tail
// reason: The zeros behind the row's end in its last vec are counted as distances from the mean, so the variance is wrong
//         wherever the row does not end with a whole vec.
#include "ops/residual_layernorm_forward/contract.h"
#include "common/cuda_check.h"
#include "layernorm_vec.cuh"
#include "reduce.cuh"

typedef __nv_bfloat16 bf16;

__global__ void kernel(bf16 *out, bf16 *sum, float *mean, float *rstd, const bf16 *x, const bf16 *residual,
                       const bf16 *weight, const bf16 *bias, int N, int C, float eps, bool aligned) {
    constexpr int size = vec<bf16>::size;
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) { return; }
    size_t row = (size_t)n * C;
    float total = 0.0f, squares = 0.0f;
    for (int c = lane * size; c < C; c += 32 * size) {
        vec<bf16> v = vec_add(vec_load(x + row + c, C - c, aligned), vec_load(residual + row + c, C - c, aligned));
        vec_store(sum + row + c, v, C - c, aligned);
        total += vec_sum(v);
    }
    float m = warp_sum(total) / C;
    for (int c = lane * size; c < C; c += 32 * size) {
        squares += vec_squares(vec_load(sum + row + c, C - c, aligned), m, size);
    }
    float r = rsqrtf(warp_sum(squares) / C + eps);
    for (int c = lane * size; c < C; c += 32 * size) {
        vec<bf16> w = vec_load(weight + c, C - c, aligned), b = vec_load(bias + c, C - c, aligned);
        vec<bf16> v = vec_load(sum + row + c, C - c, aligned);
        vec_store(out + row + c, vec_normalise(v, m, r, w, b), C - c, aligned);
    }
    if (lane == 0) {
        mean[n] = m;
        rstd[n] = r;
    }
}

int residual_layernorm_forward_bf16(bf16 *out, bf16 *sum, float *mean, float *rstd, const bf16 *x, const bf16 *residual,
                                    const bf16 *weight, const bf16 *bias, int N, int C, float eps,
                                    cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    bool aligned = rows_aligned<bf16>(C, {out, sum, x, residual, weight, bias});
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, sum, mean, rstd, x, residual, weight, bias, N, C, eps, aligned);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
