// Atomics: the result of one call for each operation and type, and sums under contention.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

// Each check: the memory after the call and the old value that it returned.
struct outcome {
    uint64_t memory, old;
};

template <class T> __device__ uint64_t bits(T value) {
    uint64_t result = 0;
    memcpy(&result, &value, sizeof value);
    return result;
}

// atomic(cell, …) on a cell that starts as `start`; out[n] gets the result.
#define TRY(T, start, call)          \
    {                                \
        T *cell = (T *)scratch;      \
        *cell = (T)(start);          \
        T old = (call);              \
        out[n].memory = bits(*cell); \
        out[n].old = bits(old);      \
        n++;                         \
    }

__global__ void integers(outcome *out, void *scratch) {
    int n = 0;
    TRY(int, 5, atomicAdd(cell, -7))
    TRY(unsigned, 0xffffffffu, atomicAdd(cell, 2u))
    TRY(unsigned long long, 1ull << 40, atomicAdd(cell, 5ull))
    TRY(int, 5, atomicSub(cell, 7))
    TRY(unsigned, 5, atomicSub(cell, 7u))
    TRY(int, 5, atomicExch(cell, -1))
    TRY(unsigned long long, 5, atomicExch(cell, 1ull << 50))
    TRY(int, -5, atomicMin(cell, 3))
    TRY(unsigned, 0xfffffff0u, atomicMin(cell, 3u))
    TRY(int, -5, atomicMax(cell, 3))
    TRY(unsigned, 0xfffffff0u, atomicMax(cell, 3u))
    TRY(long long, -5, atomicMin(cell, 3ll))
    TRY(long long, -5, atomicMax(cell, 3ll))
    TRY(unsigned long long, ~0ull, atomicMin(cell, 3ull))
    TRY(unsigned long long, 1, atomicMax(cell, 1ull << 60))
    TRY(int, 0xf0, atomicAnd(cell, 0x3c))
    TRY(unsigned, 0xf0, atomicOr(cell, 0x0fu))
    TRY(unsigned long long, 0xff00ff00ff00ull, atomicXor(cell, 0xffffull))
    TRY(unsigned, 6, atomicInc(cell, 7u))
    TRY(unsigned, 7, atomicInc(cell, 7u))
    TRY(unsigned, 9, atomicInc(cell, 7u))
    TRY(unsigned, 3, atomicDec(cell, 7u))
    TRY(unsigned, 0, atomicDec(cell, 7u))
    TRY(unsigned, 9, atomicDec(cell, 7u))
    TRY(int, 4, atomicCAS(cell, 4, 9))
    TRY(int, 4, atomicCAS(cell, 5, 9))
    TRY(unsigned long long, 4, atomicCAS(cell, 4ull, 1ull << 63))
    TRY(unsigned short, 0x1234, atomicCAS(cell, (unsigned short)0x1234, (unsigned short)0xabcd))
    TRY(unsigned short, 0x1234, atomicCAS(cell, (unsigned short)0x1235, (unsigned short)0xabcd))
    TRY(int, 1, atomicAdd_block(cell, 2))
    TRY(int, 1, atomicAdd_system(cell, 2))
    TRY(unsigned, 1, atomicMax_block(cell, 2u))
    TRY(int, 1, atomicCAS_system(cell, 1, 3))
    TRY(unsigned, 3, atomicExch_block(cell, 4u))
}

__global__ void floats(outcome *out, void *scratch) {
    int n = 0;
    TRY(float, 1.5f, atomicAdd(cell, 2.25f))
    TRY(double, 1.5, atomicAdd(cell, 0x1p-40))
    TRY(float, 1.5f, atomicExch(cell, -2.0f))
    TRY(float, 16777216.0f, atomicAdd(cell, 1.0f))
    TRY(double, 1.0, atomicAdd_system(cell, 1.0))
    TRY(__half, 1.5f, atomicAdd(cell, __float2half(0.25f)))
    TRY(__half, 2048.0f, atomicAdd(cell, __float2half(1.0f)))
    TRY(__half2, __floats2half2_rn(1.0f, 2.0f), atomicAdd(cell, __floats2half2_rn(0.5f, -4.0f)))
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    TRY(__nv_bfloat16, 1.5f, atomicAdd(cell, __float2bfloat16(0.25f)))
    TRY(__nv_bfloat162, __floats2bfloat162_rn(1.0f, 2.0f), atomicAdd(cell, __floats2bfloat162_rn(0.5f, -4.0f)))
    float2 *two = (float2 *)scratch;
    *two = make_float2(1.0f, 2.0f);
    float2 old = atomicAdd(two, make_float2(10.0f, 20.0f));
    out[n].memory = bits(*two);
    out[n++].old = bits(old);
#endif
}

static int run(void (*kernel)(outcome *, void *), outcome *results, int count) {
    outcome *device;
    void *scratch;
    cudaMalloc(&device, count * sizeof *device);
    cudaMalloc(&scratch, 64);
    kernel<<<1, 1>>>(device, scratch);
    cudaError_t error = cudaMemcpy(results, device, count * sizeof *device, cudaMemcpyDeviceToHost);
    cudaFree(device);
    cudaFree(scratch);
    return error;
}

extern "C" int run_integers(outcome *results, int count) {
    return run(integers, results, count);
}
extern "C" int run_floats(outcome *results, int count) {
    return run(floats, results, count);
}

// Every thread adds to one counter, in global and in shared memory, and to one by compare-and-swap.
__global__ void contend(int *global, float *by_swap, unsigned *blocks_done, int *last) {
    __shared__ int block_sum;
    __shared__ bool is_last;
    if (threadIdx.x == 0) { block_sum = 0; }
    __syncthreads();
    atomicAdd(&block_sum, (int)threadIdx.x);
    int *bits = (int *)by_swap, seen = *(volatile int *)bits, expected;
    do {
        expected = seen;
        seen = atomicCAS(bits, expected, __float_as_int(__int_as_float(expected) + 1.0f));
    } while (seen != expected);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(global, block_sum);
        __threadfence();
        is_last = atomicInc(blocks_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) { *last = atomicAdd(global, 0); }
}

extern "C" int run_contention(int blocks, int threads, int *sum, float *count, unsigned *ticket, int *last) {
    struct cells {
        int sum;
        float count;
        unsigned ticket;
        int last;
    } * device, result;
    cudaMalloc(&device, sizeof *device);
    cudaMemset(device, 0, sizeof *device);
    contend<<<blocks, threads>>>(&device->sum, &device->count, &device->ticket, &device->last);
    cudaError_t error = cudaMemcpy(&result, device, sizeof result, cudaMemcpyDeviceToHost);
    *sum = result.sum;
    *count = result.count;
    *ticket = result.ticket;
    *last = result.last;
    cudaFree(device);
    return error;
}
