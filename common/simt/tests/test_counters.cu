// needs: sm_80 (__reduce_add_sync)
// Small kernels whose requests, sectors and conflicts can be counted by hand. Each run_x() makes its memory, launches
// once, and leaves the counters to test_counters.c.
#include <cuda_runtime.h>

namespace {

enum { MOST = 1 << 18 };
float *input, *output;

// Initialised input and output of MOST floats, made once.
void prepare() {
    if (input == nullptr) {
        cudaMalloc(&input, MOST * sizeof(float));
        cudaMalloc(&output, MOST * sizeof(float));
        cudaMemset(input, 0, MOST * sizeof(float));
    }
}

} // namespace

#define KERNEL(name, grid, block, ...)                                                           \
    __global__ void name(float *out, const float *in) __VA_ARGS__ extern "C" void run_##name() { \
        prepare();                                                                               \
        name<<<grid, block>>>(output, input);                                                    \
        cudaDeviceSynchronize();                                                                 \
    }

#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

// ---- sectors of global memory ----
KERNEL(copy, 4, 256, { out[THREAD] = in[THREAD]; })
KERNEL(tail_if, 4, 256, {
    if (THREAD < 1000) out[THREAD] = in[THREAD];
})
KERNEL(tail_return, 4, 256, {
    if (THREAD >= 1000) return;
    out[THREAD] = in[THREAD];
})
KERNEL(stride_2, 1, 32, { out[threadIdx.x] = in[2 * threadIdx.x]; })
KERNEL(stride_32, 1, 32, { out[threadIdx.x] = in[32 * threadIdx.x]; })
KERNEL(offset_1, 1, 32, { out[threadIdx.x] = in[threadIdx.x + 1]; })
KERNEL(broadcast, 1, 32, { out[threadIdx.x] = in[7]; })
KERNEL(reversed, 1, 32, { out[threadIdx.x] = in[31 - threadIdx.x]; })
KERNEL(permuted, 1, 32, { out[threadIdx.x] = in[threadIdx.x * 5 % 32]; })
KERNEL(scattered, 1, 32, { out[threadIdx.x] = in[threadIdx.x * threadIdx.x * 8 % 256]; }) // 6 different squares mod 32
KERNEL(vector_4, 1, 32, { ((float4 *)out)[threadIdx.x] = ((const float4 *)in)[threadIdx.x]; })
KERNEL(vector_2, 1, 32, { ((float2 *)out)[threadIdx.x] = ((const float2 *)in)[threadIdx.x]; })
KERNEL(doubles, 1, 32, { ((double *)out)[threadIdx.x] = ((const double *)in)[threadIdx.x]; })
KERNEL(shorts, 1, 32, { ((short *)out)[threadIdx.x] = ((const short *)in)[threadIdx.x]; })
KERNEL(bytes, 1, 32, { ((char *)out)[threadIdx.x] = ((const char *)in)[threadIdx.x]; })
KERNEL(float3s, 1, 32, { ((float3 *)out)[threadIdx.x] = ((const float3 *)in)[threadIdx.x]; })
KERNEL(part_of_a_warp, 1, 48, { out[threadIdx.x] = in[threadIdx.x]; })
KERNEL(square_block, 1, dim3(16, 16), {
    unsigned i = threadIdx.y * 64 + threadIdx.x;
    out[i] = in[i];
})
KERNEL(grid_stride, 2, 64, {
    for (unsigned i = THREAD; i < 512; i += gridDim.x * blockDim.x) out[i] = in[i];
})
__device__ unsigned tickets;
KERNEL(work_queue, 4, 64, {
    for (;;) {
        unsigned row = threadIdx.x % 32 == 0 ? atomicAdd(&tickets, 1u) % 72 : 0; // of each launch
        row = __shfl_sync(~0u, row, 0);
        if (row >= 64) break;
        out[row * 32 + threadIdx.x % 32] = in[row * 32 + threadIdx.x % 32];
    }
})
KERNEL(transpose_naive, dim3(8, 8), dim3(32, 8), {
    for (unsigned y = threadIdx.y; y < 32; y += 8) {
        unsigned row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + threadIdx.x;
        out[column * 256 + row] = in[row * 256 + column];
    }
})

// ---- control flow ----
KERNEL(half_a_warp, 1, 32, {
    float x = 0;
    if (threadIdx.x < 16) x = in[threadIdx.x];
    out[threadIdx.x] = x;
})
KERNEL(two_arms, 1, 32, {
    float x;
    if (threadIdx.x % 2)
        x = in[threadIdx.x];
    else
        x = in[threadIdx.x + 1024];
    out[threadIdx.x] = x;
})
KERNEL(uneven_loop, 1, 32, {
    float sum = 0;
    for (unsigned i = 0; i <= threadIdx.x % 4; i++) sum += in[32 * i + threadIdx.x];
    out[threadIdx.x] = sum;
})
KERNEL(skipped_iterations, 1, 32, {
    float sum = 0;
    for (unsigned i = 0; i < 4; i++)
        if (i != threadIdx.x % 4) sum += in[32 * i + threadIdx.x];
    out[threadIdx.x] = sum;
})
__device__ __noinline__ float fetch(const float *p) {
    return *p;
}
template <int Distance> __device__ __noinline__ float fetch_far(const float *p) {
    return p[Distance];
}
KERNEL(calls, 1, 32, {
    float x = threadIdx.x < 8 ? fetch(in + threadIdx.x) : fetch(in + 64 + threadIdx.x);
    if (threadIdx.x % 2) x += fetch_far<32>(in);
    out[threadIdx.x] = x + fetch_far<64>(in);
})
KERNEL(chain, 4, 64, {
    unsigned steps = blockIdx.x == 2 ? 10 : 1;
    float sum = 0;
    for (unsigned i = 0; i < steps; i++) sum += in[i * 64 + threadIdx.x];
    out[THREAD] = sum;
})

// ---- shared memory ----
#define SHARED_KERNEL(name, type, index)                                \
    KERNEL(name, 1, 32, {                                               \
        __shared__ type s[32 * 33];                                     \
        for (unsigned i = threadIdx.x; i < 32 * 33; i += 32) s[i] = {}; \
        __syncwarp();                                                   \
        s[index] = {};                                                  \
        (void)out, (void)in;                                            \
    })
SHARED_KERNEL(bank_1, float, threadIdx.x)
SHARED_KERNEL(bank_2, float, 2 * threadIdx.x)
SHARED_KERNEL(bank_3, float, 3 * threadIdx.x)
SHARED_KERNEL(bank_32, float, 32 * threadIdx.x)
SHARED_KERNEL(bank_33, float, 33 * threadIdx.x)
SHARED_KERNEL(bank_double, double, threadIdx.x)
SHARED_KERNEL(bank_double_2, double, 2 * threadIdx.x)
SHARED_KERNEL(bank_float4, float4, threadIdx.x)
SHARED_KERNEL(bank_bytes, char, threadIdx.x)
KERNEL(bank_broadcast, 1, 32, {
    __shared__ float s[2];
    if (threadIdx.x == 0) s[0] = s[1] = 1;
    __syncwarp();
    out[threadIdx.x] = s[0] + in[0];
})
KERNEL(bank_two_words, 1, 32, { // half of the lanes read word 0, the others word 32: one bank, two words
    __shared__ float s[64];
    s[threadIdx.x] = s[threadIdx.x + 32] = 1;
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x % 2 * 32] + in[0];
})

template <int Pitch> __device__ void transpose(float *out, const float *in) {
    __shared__ float tile[32][Pitch];
    for (unsigned y = threadIdx.y; y < 32; y += 8)
        tile[y][threadIdx.x] = in[(blockIdx.y * 32 + y) * 256 + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (unsigned y = threadIdx.y; y < 32; y += 8)
        out[(blockIdx.x * 32 + y) * 256 + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][y];
}
KERNEL(transpose_32, dim3(8, 8), dim3(32, 8), { transpose<32>(out, in); })
KERNEL(transpose_33, dim3(8, 8), dim3(32, 8), { transpose<33>(out, in); })

// ---- instructions of a warp ----
KERNEL(collectives, 1, 64, {
    float x = in[threadIdx.x];
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffff, x, d);
    bool any = __any_sync(0xffffffff, x > 0);
    unsigned ballot = __ballot_sync(0xffffffff, x > 0);
    unsigned sum = __reduce_add_sync(0xffffffff, threadIdx.x);
    __syncwarp();
    out[threadIdx.x] = x + any + (float)ballot + (float)sum;
})
KERNEL(partial_shuffles, 1, 32, {
    float x = in[threadIdx.x];
    if (threadIdx.x < 16)
        x += __shfl_xor_sync(0x0000ffff, x, 1);
    else
        x += __shfl_xor_sync(0xffff0000, x, 2);
    out[threadIdx.x] = x;
})
KERNEL(barriers, 2, 96, {
    __syncthreads();
    int positive = __syncthreads_or(in[threadIdx.x] > 0);
    out[threadIdx.x] = (float)__syncthreads_count(positive);
})
KERNEL(atomics, 2, 64, {
    (void)in;
    atomicAdd(out, 1.0f);
    atomicAdd(out + threadIdx.x, 1.0f);
})
KERNEL(atomics_shared, 1, 64, {
    __shared__ int bins[32];
    if (threadIdx.x < 32) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 4], 1);
    __syncthreads();
    if (threadIdx.x < 32) out[threadIdx.x] = (float)bins[threadIdx.x] + in[0];
})

// ---- softmax, 64 rows of 1024, three ways ----
enum { C = 1024 };
KERNEL(softmax_thread_per_row, 2, 32, {
    const float *x = in + (size_t)THREAD * C;
    float *y = out + (size_t)THREAD * C;
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < C; i++) most = fmaxf(most, x[i]);
    for (int i = 0; i < C; i++) sum += expf(x[i] - most);
    for (int i = 0; i < C; i++) y[i] = expf(x[i] - most) / sum;
})
KERNEL(softmax_block_per_row, 64, 256, {
    __shared__ float part[8];
    float x[4];
    float most = -INFINITY, sum = 0;
    unsigned lane = threadIdx.x % 32;
    unsigned warp = threadIdx.x / 32;
    for (int i = 0; i < 4; i++) most = fmaxf(most, x[i] = in[blockIdx.x * C + i * 256 + threadIdx.x]);
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, d));
    if (lane == 0) part[warp] = most;
    __syncthreads();
    for (int i = 0; i < 8; i++) most = fmaxf(most, part[i]);
    for (int i = 0; i < 4; i++) sum += x[i] = expf(x[i] - most);
    __syncthreads();
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 8; i++) sum += part[i];
    for (int i = 0; i < 4; i++) out[blockIdx.x * C + i * 256 + threadIdx.x] = x[i] / sum;
})
KERNEL(softmax_warp_per_row, 16, 128, {
    float x[32];
    float most = -INFINITY, sum = 0;
    unsigned row = THREAD / 32;
    unsigned lane = threadIdx.x % 32;
    for (int i = 0; i < 32; i++) most = fmaxf(most, x[i] = in[row * C + i * 32 + lane]);
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, d));
    for (int i = 0; i < 32; i++) sum += x[i] = expf(x[i] - most);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    for (int i = 0; i < 32; i++) out[row * C + i * 32 + lane] = x[i] / sum;
})

// ---- allocations ----
__device__ float device_variable[64];
__constant__ float constants[64];
KERNEL(variables, 1, 32, {
    (void)in;
    out[threadIdx.x] = device_variable[threadIdx.x] + constants[threadIdx.x];
})
__global__ void pick(float *out, const float *a, const float *b) {
    size_t step = (size_t)b - (size_t)a; // arithmetic: a branch would be two requests
    out[threadIdx.x] = ((const float *)((size_t)a + step * (threadIdx.x % 2)))[threadIdx.x];
}
extern "C" void make_three(float **a, float **b, float **out) {
    cudaMalloc(a, 256);
    cudaMalloc(b, 256);
    cudaMalloc(out, 256);
    cudaMemset(*a, 0, 256);
    cudaMemset(*b, 0, 256);
}
extern "C" void run_pick(float *out, const float *a, const float *b) {
    pick<<<1, 32>>>(out, a, b);
    cudaDeviceSynchronize();
}
extern "C" void free_three(float *a, float *b, float *out) {
    cudaFree(a);
    cudaFree(b);
    cudaFree(out);
}
