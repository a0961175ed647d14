// Functions that kernels call besides barriers and atomics: printf, assert, traps, clocks, address spaces of pointers.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "expect.cuh"

// Managed: the tests read on the host what kernels write.
template <class T> T *managed(int count) {
    T *pointer = nullptr;
    cudaMallocManaged(&pointer, count * sizeof *pointer);
    cudaMemset(pointer, 0, count * sizeof *pointer);
    return pointer;
}

__global__ void print(void) {
    printf("block %d thread %d: %.2f %s\n", blockIdx.x, threadIdx.x, threadIdx.x / 4.0, "text");
    if (threadIdx.x == 0) {
        printf("line\n");
        printf("%c", 'c');
        printf("\n");
    }
}

extern "C" int run_printf(void) {
    printf("before\n");
    print<<<3, 2>>>();
    OK(cudaDeviceSynchronize());
    printf("after\n");
    return 0;
}

__global__ void check(int n) {
    assert(threadIdx.x < n); // here: assert
}

extern "C" int run_assert(void) {
    check<<<2, 4>>>(4);
    OK(cudaDeviceSynchronize());
    check<<<2, 4>>>(3);
    cudaError_t error = cudaDeviceSynchronize();
    int *p;
    EXPECT(cudaMalloc(&p, 4) == cudaErrorAssert); // every call fails now
    EXPECT(cudaGetLastError() == cudaErrorAssert && cudaGetLastError() == cudaErrorAssert);
    return error;
}

__global__ void trap(void) {
    __trap();
}

extern "C" int run_trap(void) {
    trap<<<1, 1>>>();
    return cudaDeviceSynchronize();
}

// One thread: its indices, and the clocks.
__global__ void look_around(int *facts, int *global) {
    __shared__ int shared;
    int local = 0;
    long long start = clock64();
    __nanosleep(100);
    facts[0] = __isShared(&shared) && !__isGlobal(&shared);
    facts[1] = __isGlobal(global) && !__isShared(global);
    facts[2] = __isLocal(&local) && !__isGlobal(&local);
    facts[3] = clock64() > start;
    facts[4] = warpSize == 32 && gridDim.z == 1 && blockDim.y == 1;
    __threadfence_block();
    __threadfence();
    __threadfence_system();
}

// Each thread waits by one of the clocks, as programs do to make a kernel last for some time.
__global__ void spin(long long ticks) {
    if (threadIdx.x % 2) {
        for (long long start = clock64(); clock64() - start < ticks;) {}
    } else {
        for (clock_t start = clock(); clock() - start < ticks;) {}
    }
}

// The milliseconds that the launch takes.
extern "C" double run_spin(double milliseconds, int blocks, int threads) {
    int kilohertz = 0;
    timespec start, end;
    cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0);
    clock_gettime(CLOCK_MONOTONIC, &start);
    spin<<<blocks, threads>>>((long long)(milliseconds * kilohertz));
    if (cudaDeviceSynchronize() != cudaSuccess) return -1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) * 1e-6;
}

// Waits for a flag that is never set, at most for that number of ticks.
__global__ void wait_at_most(const volatile int *flag, long long ticks, int *out) {
    long long start = clock64();
    while (*flag == 0 && clock64() - start < ticks) {}
    *out = *flag == 0;
}

extern "C" int run_wait_at_most() {
    int *cells, gave_up = 0;
    cudaMalloc(&cells, 2 * sizeof(int));
    cudaMemset(cells, 0, 2 * sizeof(int));
    wait_at_most<<<1, 1>>>(cells, 20 * 1000000, cells + 1);
    cudaMemcpy(&gave_up, cells + 1, sizeof gave_up, cudaMemcpyDeviceToHost);
    return cudaDeviceSynchronize() == cudaSuccess && gave_up;
}

// The host's clock() counts the time of the process: the result is its ratio to another measure of that.
extern "C" double run_host_clock() {
    timespec start, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    clock_t first = clock();
    double seconds;
    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        seconds = (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) * 1e-9;
    } while (seconds < 0.05);
    return (double)(clock() - first) / CLOCKS_PER_SEC / seconds;
}

// memcpy, memset and malloc: checked accesses and the device's heap.
__global__ void move_bytes(float *out, const float *in, float **heap) {
    int i = threadIdx.x;
    memcpy(&out[4 * i], &in[4 * i], 16);
    if (i == 0) {
        memset(out + 128, 0, 12);
        memcpy(out + 131, out + 128, 12);
        heap[0] = (float *)malloc(8 * sizeof(float));
        heap[0][7] = out[133] + 3.0f;
    }
    __syncwarp();
    if (i == 1) {
        out[134] = heap[0][7];
        free(heap[0]);
    }
}

extern "C" int run_move_bytes(void) {
    float *out = managed<float>(135), *in = managed<float>(128), **heap;
    OK(cudaMalloc(&heap, sizeof *heap));
    in[127] = 5.0f;
    move_bytes<<<1, 32>>>(out, in, heap);
    OK(cudaDeviceSynchronize());
    EXPECT(out[127] == 5.0f && out[134] == 3.0f);
    OK(cudaFree(heap));
    return 0;
}

__global__ void move_past_the_end(float *out, const float *in) {
    memcpy(out, in, 20); // here: copy
}

extern "C" int run_move_past_the_end(void) {
    float *out, *in = managed<float>(8);
    OK(cudaMalloc(&out, 4 * sizeof *out));
    move_past_the_end<<<1, 1>>>(out, in);
    return cudaDeviceSynchronize();
}

extern "C" int run_look_around(void) {
    int *facts = managed<int>(5), *global;
    OK(cudaMalloc(&global, 4));
    look_around<<<1, 1>>>(facts, global);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 5; i++) { EXPECT(facts[i]); }
    return 0;
}

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float side) : side(side) {}
    __device__ float area() const override { return side * side; }
};
struct alignas(64) Wide {
    float values[16];
};
__device__ Shape *shapes[32];

__global__ void create(float *out) {
    shapes[threadIdx.x] = new Square(threadIdx.x);
    float *row = new float[4];
    Wide *wide = new Wide;
    row[threadIdx.x % 4] = 1.0f;
    wide->values[15] = row[threadIdx.x % 4];
    out[threadIdx.x] = wide->values[15];
    delete wide;
    delete[] row;
}
__global__ void destroy(float *out) {
    out[threadIdx.x] += shapes[threadIdx.x]->area();
    delete shapes[threadIdx.x];
}

extern "C" int run_new_and_delete(void) {
    float *out = managed<float>(32);
    create<<<1, 32>>>(out);
    destroy<<<1, 32>>>(out);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) { EXPECT(out[i] == 1.0f + i * i); }
    int *on_host = new int[8];
    Wide *aligned = new Wide;
    EXPECT((size_t)aligned % 64 == 0);
    delete aligned;
    delete[] on_host;
    return 0;
}
