// LayerNorm, forward: one thread per row; one warp per row; one block per row with float4 and the row in registers.
// Usage: layernorm_float4 [rows [columns]]; columns a multiple of 4, at most 4096
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EPS 1e-5f
inline void cuda_check(cudaError_t error, const char *file, int line)
{
    if (error != cudaSuccess) {
        printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}
#define cudaCheck(err) (cuda_check(err, __FILE__, __LINE__))

__global__ void layernorm1(float *out, float *mean, float *rstd, const float *in, const float *weight, const float *bias, int N, int C)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    const float *x = in + row * C;
    float m = 0.0f, v = 0.0f;
    for (int i = 0; i < C; i++) m += x[i];
    m /= C;
    for (int i = 0; i < C; i++) v += (x[i] - m) * (x[i] - m);
    float s = 1.0f / sqrtf(v / C + EPS);
    for (int i = 0; i < C; i++) out[row * C + i] = (x[i] - m) * s * weight[i] + bias[i];
    mean[row] = m;
    rstd[row] = s;
}

__device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xFFFFFFFF, value, offset);
    return value;
}

__global__ void layernorm2(float *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd, const float *__restrict__ in,
                           const float *__restrict__ weight, const float *__restrict__ bias, int N, int C)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= N) return;
    const float *x = in + row * C;
    float sum = 0.0f, squares = 0.0f;
    for (int i = lane; i < C; i += 32) sum += x[i];
    const float m = warp_sum(sum) / C;
    for (int i = lane; i < C; i += 32) squares += (x[i] - m) * (x[i] - m);
    const float s = rsqrtf(warp_sum(squares) / C + EPS);
    if (lane == 0) {
        __stcs(mean + row, m);
        __stcs(rstd + row, s);
    }
    for (int c = lane; c < C; c += 32) __stcs(out + row * C + c, (__ldcs(x + c) - m) * s * weight[c] + bias[c]);
}

// Sum of two values over the block, for all of its threads
__device__ float2 block_sum(float2 value)
{
    __shared__ float2 partial[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    value = make_float2(warp_sum(value.x), warp_sum(value.y));
    __syncthreads(); // an earlier call's partial sums have been read
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < warps ? partial[lane] : make_float2(0.0f, 0.0f);
    return make_float2(warp_sum(value.x), warp_sum(value.y));
}

template <int THREADS, int VECTORS>
__global__ void layernorm3(float *out, float *mean, float *rstd, const float *in, const float *weight, const float *bias, int C)
{
    const float4 *x = reinterpret_cast<const float4 *>(in + (size_t)blockIdx.x * C);
    const float4 *w = reinterpret_cast<const float4 *>(weight), *b = reinterpret_cast<const float4 *>(bias);
    float4 *y = reinterpret_cast<float4 *>(out + (size_t)blockIdx.x * C);
    float4 row[VECTORS];
    float2 sums = {0.0f, 0.0f}; // of the values, of their squares
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        const int i = v * THREADS + threadIdx.x;
        row[v] = i < C / 4 ? x[i] : float4{0.0f, 0.0f, 0.0f, 0.0f};
        sums.x += row[v].x + row[v].y + row[v].z + row[v].w;
        sums.y += row[v].x * row[v].x + row[v].y * row[v].y + row[v].z * row[v].z + row[v].w * row[v].w;
    }
    sums = block_sum(sums);
    const float m = sums.x / C, s = rsqrtf(sums.y / C - m * m + EPS);
    if (threadIdx.x == 0) mean[blockIdx.x] = m, rstd[blockIdx.x] = s;
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        const int i = v * THREADS + threadIdx.x;
        if (i < C / 4) {
            const float4 g = __ldg(&w[i]), o = __ldg(&b[i]);
            y[i] = make_float4((row[v].x - m) * s * g.x + o.x, (row[v].y - m) * s * g.y + o.y,
                               (row[v].z - m) * s * g.z + o.z, (row[v].w - m) * s * g.w + o.w);
        }
    }
}

static int differ(const char *what, int kernel, const float *d_got, const double *expected, int n)
{
    float *got = (float *)malloc(n * sizeof(float));
    int count = 0;
    cudaCheck(cudaMemcpy(got, d_got, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - expected[i]) <= 1e-4) && count++ < 5) printf("kernel %d, %s[%d]: %f, not %f\n", kernel, what, i, got[i], expected[i]);
    free(got);
    return count;
}

int main(int argc, char **argv)
{
    const int N = argc > 1 ? atoi(argv[1]) : 37, C = argc > 2 ? atoi(argv[2]) : 332;
    assert(C % 4 == 0 && C <= 4096);
    float *h_in = (float *)malloc(N * C * sizeof(float)), *h_weight = (float *)malloc(C * sizeof(float)), *h_bias = (float *)malloc(C * sizeof(float));
    double *out = (double *)malloc(N * C * sizeof(double)), *mean = (double *)malloc(N * sizeof(double)), *rstd = (double *)malloc(N * sizeof(double));
    for (int i = 0; i < N * C; i++) h_in[i] = (float)((i * 7919) % 1999) / 500.0f - 1.0f;
    for (int i = 0; i < C; i++) { h_weight[i] = 1.0f + i % 3; h_bias[i] = 0.1f * (i % 4); }
    for (int r = 0; r < N; r++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < C; i++) sum += h_in[r * C + i];
        mean[r] = sum / C;
        for (int i = 0; i < C; i++) squares += (h_in[r * C + i] - mean[r]) * (h_in[r * C + i] - mean[r]);
        rstd[r] = 1 / sqrt(squares / C + EPS);
        for (int i = 0; i < C; i++) out[r * C + i] = (h_in[r * C + i] - mean[r]) * rstd[r] * h_weight[i] + h_bias[i];
    }
    float *d_in, *d_out, *d_weight, *d_bias, *d_mean, *d_rstd;
    cudaCheck(cudaMalloc(&d_in, N * C * sizeof(float))); cudaCheck(cudaMalloc(&d_out, N * C * sizeof(float)));
    cudaCheck(cudaMalloc(&d_weight, C * sizeof(float))); cudaCheck(cudaMalloc(&d_bias, C * sizeof(float)));
    cudaCheck(cudaMalloc(&d_mean, N * sizeof(float))); cudaCheck(cudaMalloc(&d_rstd, N * sizeof(float)));
    cudaCheck(cudaMemcpy(d_in, h_in, N * C * sizeof(float), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(d_weight, h_weight, C * sizeof(float), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(d_bias, h_bias, C * sizeof(float), cudaMemcpyHostToDevice));
    int wrong = 0;
    for (int kernel = 1; kernel <= 3; kernel++) {
        cudaCheck(cudaMemset(d_out, 0xff, N * C * sizeof(float)));
        if (kernel == 1) layernorm1<<<(N + 31) / 32, 32>>>(d_out, d_mean, d_rstd, d_in, d_weight, d_bias, N, C);
        if (kernel == 2) layernorm2<<<(N + 3) / 4, 128>>>(d_out, d_mean, d_rstd, d_in, d_weight, d_bias, N, C);
        if (kernel == 3 && C <= 512) layernorm3<64, 2><<<N, 64>>>(d_out, d_mean, d_rstd, d_in, d_weight, d_bias, C);
        if (kernel == 3 && C > 512) layernorm3<128, 8><<<N, 128>>>(d_out, d_mean, d_rstd, d_in, d_weight, d_bias, C);
        cudaCheck(cudaGetLastError());
        int now = differ("out", kernel, d_out, out, N * C) + differ("mean", kernel, d_mean, mean, N) + differ("rstd", kernel, d_rstd, rstd, N);
        printf("kernel %d: %s\n", kernel, now ? "wrong" : "all results match");
        wrong += now;
    }
    cudaFree(d_in); cudaFree(d_out); cudaFree(d_weight); cudaFree(d_bias); cudaFree(d_mean); cudaFree(d_rstd);
    free(h_in); free(h_weight); free(h_bias); free(out); free(mean); free(rstd);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
