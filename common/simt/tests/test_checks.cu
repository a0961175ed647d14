// Kernels with divergent barriers, deadlocks, endless loops, too much stack, or a wrong launch.
#include <cooperative_groups.h>
#include <cstdio>

__global__ void divergent_barrier(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = (int)threadIdx.x;
    if (threadIdx.x < 32) {
        __syncthreads(); // here: first barrier
    } else {
        __syncthreads(); // here: second barrier
    }
    out[threadIdx.x] = s[63 - threadIdx.x];
}

// Those who took the branch arrive at the last barrier when the others have returned: a consequence, not a second finding.
__global__ void skipped_barrier(int *out) {
    if (threadIdx.x < 40) {
        __syncthreads(); // here: in the branch
        out[threadIdx.x] = 1;
    }
    __syncthreads();
}

__global__ void divergent_in_warp(int *out) {
    if (threadIdx.x % 2 == 0) {
        __syncthreads(); // here: half a warp
        out[threadIdx.x] = 1;
    } else {
        __syncthreads();
        out[threadIdx.x] = 2;
    }
}

__device__ __noinline__ void meet() {
    __syncthreads(); // here: in meet
}

__global__ void two_calls(int *out) {
    if (threadIdx.x < 32)
        meet();
    else
        meet();
    out[threadIdx.x] = 1;
}

__global__ void early_return(int *out, int n) {
    if (threadIdx.x >= n) return;
    __syncthreads(); // here: others have returned
    out[threadIdx.x] = 1;
}

__global__ void barrier_and_shuffle(int *out) {
    int v = (int)threadIdx.x;
    if (threadIdx.x < 16)
        __syncthreads(); // here: waits at the barrier
    else
        v = __shfl_sync(0xffffffffu, v, 0); // here: waits at the shuffle
    out[threadIdx.x] = v;
}

__global__ void mask_too_wide(int *out) {
    if (threadIdx.x < 8)
        out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, (int)threadIdx.x, 1); // here: full mask
    else
        __syncthreads();
}

__global__ void reads_exited(int *out) {
    if (threadIdx.x >= 16) return;
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, (int)threadIdx.x, 16); // here: reads the exited
}

__global__ void reads_beyond(int *out) {
    out[threadIdx.x] = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 8); // here: reads the missing
}

__global__ void reads_unnamed(int *out) {
    if (threadIdx.x < 8) out[threadIdx.x] = __shfl_sync(0xffu, (int)threadIdx.x, 20); // here: reads the unnamed
}

__global__ void outside_mask(int *out) {
    if (threadIdx.x < 8) out[threadIdx.x] = __any_sync(0x7fu, 1); // here: not in its mask
}

__global__ void endless(int *out, int n) {
    unsigned i = threadIdx.x;
    while (i < n) out[threadIdx.x] += 1; // here: endless
}

__global__ void endless_without_memory(int n) {
    unsigned x = threadIdx.x;
    while (x != 0xffffffffu) // here: endless arithmetic
        x = (x * 1664525u + 1013904223u) & 0xffffu;
}

__global__ void polls(volatile int *flag) {
    while (*flag == 0) // here: polls for ever
        ;
}

__device__ int depth(int n) { // here: recursion
    volatile int local[64];
    local[n & 63] = n;
    return n == 0 ? 0 : depth(n - 1) + local[n & 63];
}

__global__ void recursion(int *out, int n) {
    out[threadIdx.x] = depth(n);
}

__global__ void large_frame(int *out, int n) {
    volatile float local[40000];
    for (int i = 0; i < 40000; i += n) // here: large frame
        local[i] = (float)i;
    out[threadIdx.x] = (int)local[n];
}

__global__ void divides(int *out, int by) {
    out[threadIdx.x] = 100 / by; // here: division
}

__global__ void shifts(unsigned *out, int by) {
    out[threadIdx.x] = 1u << by; // here: shift
}

__global__ void converts(int *out, float x) {
    out[threadIdx.x] = (int)x; // here: conversion
}

__global__ void uses_grid_sync(int *out) {
    cooperative_groups::this_grid().sync(); // here: grid sync
    out[threadIdx.x] = 1;
}

__global__ void much_static(float *out) {
    __shared__ float a[8192];
    __shared__ float b[8192]; // here: 64 KB
    a[threadIdx.x] = b[threadIdx.x] = 0.0f;
    out[threadIdx.x] = a[threadIdx.x];
}

__global__ void nothing() {}

__global__ void dynamic_sum(float *out, int n) {
    extern __shared__ float buffer[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = 1.0f;
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++) sum += buffer[i];
        *out = sum;
    }
}

static int *ints(int n) {
    int *p = nullptr;
    cudaMalloc(&p, n * sizeof(int));
    cudaMemset(p, 0, n * sizeof(int));
    return p;
}

#define RUN(name, ...)                                  \
    extern "C" int run_##name() {                       \
        __VA_ARGS__;                                    \
        cudaError_t error = cudaGetLastError();         \
        return error ? error : cudaDeviceSynchronize(); \
    }

RUN(divergent_barrier, divergent_barrier<<<1, 64>>>(ints(64)))
RUN(skipped_barrier, skipped_barrier<<<1, 64>>>(ints(64)))
RUN(divergent_in_warp, divergent_in_warp<<<1, 64>>>(ints(64)))
RUN(two_calls, two_calls<<<1, 64>>>(ints(64)))
RUN(early_return, early_return<<<1, 64>>>(ints(64), 50))
RUN(barrier_and_shuffle, barrier_and_shuffle<<<1, 32>>>(ints(32)))
RUN(mask_too_wide, mask_too_wide<<<1, 32>>>(ints(32)))
RUN(reads_exited, reads_exited<<<1, 32>>>(ints(32)))
RUN(reads_beyond, reads_beyond<<<1, 16>>>(ints(32)))
RUN(reads_unnamed, reads_unnamed<<<1, 32>>>(ints(32)))
RUN(outside_mask, outside_mask<<<1, 32>>>(ints(32)))
RUN(endless, endless<<<1, 32>>>(ints(32), 100))
RUN(endless_without_memory, endless_without_memory<<<1, 32>>>(100))
RUN(polls, polls<<<2, 1>>>(ints(1)))
RUN(recursion, recursion<<<1, 32>>>(ints(32), 1 << 20))
RUN(shallow_recursion, (cudaDeviceSetLimit(cudaLimitStackSize, 8192), recursion<<<1, 32>>>(ints(32), 20)))
RUN(large_frame, large_frame<<<1, 32>>>(ints(32), 7))
RUN(divides, divides<<<1, 32>>>(ints(32), 0))
RUN(shifts, shifts<<<1, 32>>>((unsigned *)ints(32), 32))
RUN(shifts_less, shifts<<<1, 32>>>((unsigned *)ints(32), 31))
RUN(converts, converts<<<1, 32>>>(ints(32), 3e9f))
RUN(converts_less, converts<<<1, 32>>>(ints(32), -2e9f))
RUN(uses_grid_sync, uses_grid_sync<<<1, 32>>>(ints(32)))
RUN(much_static, much_static<<<1, 32>>>((float *)ints(32)))
RUN(many_threads, nothing<<<1, 2048>>>())                                   // here: 2048 threads
RUN(many_threads_3d, nothing<<<1, dim3(32, 32, 2)>>>())                     // here: 32x32x2 threads
RUN(zero_grid, nothing<<<0, 32>>>())                                        // here: no blocks
RUN(zero_block, nothing<<<1, 0>>>())                                        // here: no threads
RUN(large_y, nothing<<<dim3(1, 65536), 1>>>())                              // here: 65536 blocks in y
RUN(deep_block, nothing<<<1, dim3(1, 1, 65)>>>())                           // here: 65 threads in z
RUN(much_dynamic, dynamic_sum<<<1, 32, 49 * 1024>>>((float *)ints(1), 100)) // here: 49 KB
RUN(opted_in, cudaFuncSetAttribute(dynamic_sum, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024);
    dynamic_sum<<<1, 32, 100 * 1024>>>((float *)ints(1), 25600))
RUN(goes_on_after_failed_launch, nothing<<<1, 2048>>>(); cudaGetLastError(); nothing<<<1, 32>>>()) // here: failed
