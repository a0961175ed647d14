// Ways to look fast on a GPU, one an op; cheats.c measures each and says what the grader must make of it.
#include <chrono>
#include <cuda_runtime.h>
#include <math.h>
#include <set>
#include <thread>

#include "ops/bias_add/contract.h"
#include "ops/layernorm_forward/contract.h"
#include "ops/residual_forward/contract.h"
#include "ops/row_sum/contract.h"
#include "ops/softmax_forward/contract.h"

__global__ void add_kernel(float *out, const float *a, const float *b, size_t count, int period) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = a[i] + b[period ? i % period : i]; }
}

static int add(float *out, const float *a, const float *b, size_t count, int period, cudaStream_t stream) {
    add_kernel<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(out, a, b, count, period);
    return (int)cudaGetLastError();
}

static cudaStream_t side_stream() {
    static cudaStream_t stream;
    if (!stream) { cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }
    return stream;
}

// Works on a stream of its own, where the given stream's events do not see it.
extern "C" int bias_add_f32(float *out, const float *x, const float *bias, int N, int C, cudaStream_t) {
    return add(out, x, bias, (size_t)N * C, C, side_stream());
}

__global__ void softmax_kernel(float *out, const float *x, int C) {
    const float *row = x + (size_t)blockIdx.x * C;
    float sum = 0;
    for (int c = 0; c < C; c++) { sum += expf(row[c]); }
    for (int c = threadIdx.x; c < C; c += blockDim.x) { out[(size_t)blockIdx.x * C + c] = expf(row[c]) / sum; }
}

// Computes once for each pair of pointers and hopes that nothing changes behind them.
extern "C" int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    static std::set<const void *> seen;
    if (seen.insert(x).second) { softmax_kernel<<<N, 128, 0, stream>>>(out, x, C); }
    return (int)cudaGetLastError();
}

// Leaves out most of the rows.
extern "C" int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C,
                                    cudaStream_t stream) {
    return add(out, x, residual, (size_t)(N / 4) * C, 0, stream);
}

__global__ void row_sum_if_poisoned(float *out, const float *x, int C) {
    if (!isnan(out[blockIdx.x])) { return; }
    float sum = 0;
    for (int c = 0; c < C; c++) { sum += x[(size_t)blockIdx.x * C + c]; }
    out[blockIdx.x] = sum;
}

// Works only where the output is poisoned: every launch has poisoned outputs, so this gains nothing.
extern "C" int row_sum_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    row_sum_if_poisoned<<<N, 1, 0, stream>>>(out, x, C);
    return (int)cudaGetLastError();
}

__global__ void layernorm_kernel(float *out, float *mean, float *rstd, const float *x, const float *weight,
                                 const float *bias, int C, float eps) {
    const float *row = x + (size_t)blockIdx.x * C;
    double sum = 0, squares = 0;
    for (int c = 0; c < C; c++) { sum += row[c]; }
    for (int c = 0; c < C; c++) { squares += (row[c] - sum / C) * (row[c] - sum / C); }
    float m = (float)(sum / C), r = (float)(1 / sqrt(squares / C + eps));
    for (int c = 0; c < C; c++) { out[(size_t)blockIdx.x * C + c] = (row[c] - m) * r * weight[c] + bias[c]; }
    mean[blockIdx.x] = m;
    rstd[blockIdx.x] = r;
}

// Returns at once and lets another thread do the work later.
extern "C" int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight,
                                     const float *bias, int N, int C, float eps, cudaStream_t) {
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        layernorm_kernel<<<N, 1, 0, side_stream()>>>(out, mean, rstd, x, weight, bias, C, eps);
    }).detach();
    return 0;
}
