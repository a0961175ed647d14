// Threads that poll: finite loops end and are counted as other loops are, and endless waits are found.
#include <cooperative_groups.h>
#include <cstdio>

#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

enum { N = 131072, READS = 100000 };

// A descending array: after the first element no atomic has an effect.
__global__ void maximum(int *most, const int *a, int *out) {
    for (int i = threadIdx.x; i < N; i += 32) atomicMax(most, a[i]);
    out[THREAD] = atomicMax(most, 0);
}

__global__ void maximum_shared(int *, const int *a, int *out) {
    __shared__ int most;
    if (threadIdx.x == 0) most = a[0];
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += 32) atomicMax(&most, a[i]);
    __syncthreads();
    out[THREAD] = most;
}

// One value, read again and again.
__global__ void same_value(int *, const int *a, int *out) {
    const volatile int *value = a + N - 1;
    int sum = 0;
    for (int i = 0; i < READS; i++) sum += *value;
    out[THREAD] = sum;
}

// It gives up after a while; the counter is a local array.
__global__ void patience(int *flag, const int *, int *out) {
    unsigned count[2] = {0, 0};
    while (atomicAdd(flag, 0) == 0 && count[1] < 5)
        if (++count[threadIdx.x & 0] == READS / 5) count[0] = 0, count[1]++;
    out[THREAD] = (int)count[1];
}

// What counts is in memory: plain stores, and atomics of another place.
__global__ void count_in_memory(int *flag, const int *, int *out) {
    out[THREAD] = 0;
    while (atomicAdd(flag, 0) == 0 && out[THREAD] < READS) out[THREAD]++;
}

__global__ void count_by_atomics(int *flag, const int *, int *out) {
    if (threadIdx.x == 0) out[0] = 0;
    __syncwarp();
    while (atomicAdd(flag, 0) == 0 && atomicAdd(out, 0) < READS / 4) atomicAdd(out, 1);
    __syncwarp();
    if (threadIdx.x == 0) out[0] = 1;
}

// Blocks that wait for a block that works for long, and only by polling.
__global__ void slow_worker(int *flag, const int *a, int *out) {
    const volatile int *value = a + N - 1;
    int sum = 0;
    if (blockIdx.x == gridDim.x - 1) {
        for (int i = 0; i < READS; i++) sum += *value;
        __threadfence();
        atomicExch(flag, sum);
    }
    while (atomicAdd(flag, 0) == 0) {}
    out[THREAD] = atomicAdd(flag, 0);
}

// Block 1 waits at the grid barrier while block 0 waits for block 2.
__global__ void before_the_grid_barrier(int *flag, const int *, int *out) {
    if (blockIdx.x == 0)
        while (atomicAdd(flag, 0) == 0) {}
    if (blockIdx.x == 2) atomicExch(flag, 7);
    cooperative_groups::this_grid().sync();
    out[THREAD] = atomicAdd(flag, 0);
}

/* ---- endless ---- */

__global__ void flag_never_set(volatile int *flag) {
    while (*flag == 0) {} // here: flag_never_set
}

__global__ void blocks_wait_for_each_other(volatile int *flag) {
    while (flag[1 - blockIdx.x] == 0) {} // here: blocks_wait_for_each_other
    flag[blockIdx.x] = 1;
}

__global__ void lock_never_released(int *lock) {
    unsigned pause = 8;
    while (atomicCAS(lock, 0, 1) != 0) { // here: lock_never_released
        __nanosleep(pause);
        if (pause < 256) pause *= 2;
    }
}

__global__ void waits_for_its_own_warp(volatile int *flag) {
    if (threadIdx.x == 0)
        while (*flag == 0) {} // here: waits_for_its_own_warp
    __syncwarp();
    if (threadIdx.x == 1) *flag = 1;
}

__global__ void three_polls(volatile int *flag) {
    for (;;) {
        if (*flag == 1) break;
        if (*flag == 2) return;
        if (*flag == 3) break; // here: three_polls
    }
}

/* ---- counts ---- */

// Lane 0 polls; the others read different values. All execute the same loads.
__global__ void steps(const int *a, int *out, int count, int lanes_that_poll) {
    const volatile int *value = a;
    int step = (int)threadIdx.x < lanes_that_poll ? 0 : 1, sum = 0;
    for (int i = 0; i < count; i++) sum += value[i * step];
    out[THREAD] = sum;
}

// Behind a loop in which some lanes poll, all lanes go on together.
__global__ void behind(const int *a, int *out, int count) {
    const volatile int *value = a;
    int sum = 0;
    if (threadIdx.x % 4 == 0)
        for (int i = 0; i < count; i++) sum += *value;
    for (int i = 0; i < 300; i++) sum += a[i];
    out[THREAD] = sum;
}

static int *device(const int *from, int n) {
    int *p = nullptr;
    cudaMalloc(&p, n * sizeof(int));
    if (from)
        cudaMemcpy(p, from, n * sizeof(int), cudaMemcpyHostToDevice);
    else
        cudaMemset(p, 0, n * sizeof(int));
    return p;
}

static const int *descending() {
    static int a[N];
    for (int i = 0; i < N; i++) a[i] = N - i;
    return a;
}

/* The result of the last thread; negative if the launch failed. */
static int run(void (*kernel)(int *, const int *, int *), int blocks, bool cooperative = false) {
    int *cell = device(nullptr, 1), *out = device(nullptr, 128), result = -1;
    const int *a = device(descending(), N);
    void *arguments[] = {&cell, &a, &out};
    if (cooperative)
        cudaLaunchCooperativeKernel((void *)kernel, blocks, 32, arguments, 0, 0);
    else
        kernel<<<blocks, 32>>>(cell, a, out);
    cudaMemcpy(&result, out + (kernel == count_by_atomics ? 0 : 31), sizeof result, cudaMemcpyDeviceToHost);
    int error = cudaDeviceSynchronize();
    return error ? -error : result;
}

#define FINITE(name, ...)              \
    extern "C" int run_##name() {      \
        return run(name, __VA_ARGS__); \
    }
FINITE(maximum, 1)
FINITE(maximum_shared, 3)
FINITE(same_value, 1)
FINITE(patience, 2)
FINITE(count_in_memory, 1)
FINITE(count_by_atomics, 1)
FINITE(slow_worker, 4)
FINITE(before_the_grid_barrier, 3, true)

#define ENDLESS(name, blocks, threads, start)        \
    extern "C" int run_##name() {                    \
        int first[2] = {start, start};               \
        name<<<blocks, threads>>>(device(first, 2)); \
        return cudaDeviceSynchronize();              \
    }
ENDLESS(flag_never_set, 3, 64, 0)
ENDLESS(blocks_wait_for_each_other, 2, 1, 0)
ENDLESS(lock_never_released, 2, 32, 1)
ENDLESS(waits_for_its_own_warp, 1, 32, 0)
ENDLESS(three_polls, 1, 32, 0)

extern "C" int run_steps(int count, int lanes_that_poll) {
    steps<<<1, 32>>>(device(descending(), N), device(nullptr, 32), count, lanes_that_poll);
    return cudaDeviceSynchronize();
}
extern "C" int run_behind(int count) {
    behind<<<1, 32>>>(device(descending(), N), device(nullptr, 32), count);
    return cudaDeviceSynchronize();
}
