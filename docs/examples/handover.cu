// handover.cu — the time until every block of a kernel has a result of every other block, in four ways
//
//   barrier   each block writes its values; all blocks count themselves at one address, and wait until all have; reads
//   flags     each block writes its values and, after a fence, a flag; a reader waits for all flags, then reads the values
//   packets   a value and a tag in one word of 8 bytes; a reader polls the words
//   sums      each block adds a part to every word of 8 bytes, whose low 16 bits count the parts; a reader polls the words
//
// The first three hand over `values` floats, of which each block has computed a few. `sums` hands over as many sums of a part
// of each block. The parts are fixed-point numbers, so their order does not matter. A word is never cleared: a reader subtracts
// what it read before. With the others, parts would have to be handed over first, and their sums after that.
//
// Bytes: a block reads 4 for each value, or 8 for each word. It writes those of its own values, with `sums` all words.
//
// Warps that do nothing else read memory in the background, as the weights of a model are read. Prints a line for each way and
// each number of bytes that these reads have in flight. The chapter 'Decoding as bytes and launches' is about such hand-overs.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

enum way { barrier, flags, packets, sums, ways };
static const char *const names[ways] = {"barrier", "flags", "packets", "sums"};

constexpr int values = 768, threads = 256, each = values / threads, streaming_threads = 256;
constexpr int parts_bits = 16;            // of a word of `sums`: the number of parts
constexpr float fixed_point = 1048576.0f; // of a word of `sums`: its other bits count 2^-20
#if defined(SIMT_CPU_BACKEND)
constexpr int rounds = 8, most_blocks = 3;
constexpr size_t background_bytes = 4096;
#else
constexpr int rounds = 2000, most_blocks = 1024;
constexpr size_t background_bytes = size_t(1) << 30; // far more than the L2 cache holds
#endif

// Two of each: a block that writes into one has all results of the other, so all blocks have read the first.
struct buffers {
    float *values;             // (2, values)
    unsigned *flags;           // (2, blocks)
    unsigned *counter;         // blocks that have come to a barrier, over all rounds
    unsigned long long *words; // (2, values)
    const uint4 *background;
    unsigned long long *bytes; // read in the background
    float *result;             // (values)
};

// Every result depends on another block's.
__host__ __device__ static float next_value(const float *x, int i) {
    return (float)(((int)x[(i + 1) % values] * 3 + i) % 1021);
}

// Of a block's threads, those that do not read in the background.
__device__ static void meet() {
#if defined(SIMT_CPU_BACKEND)
    __syncthreads();
#else
    asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
#endif
}

__device__ static void pause(unsigned *polls) {
    constexpr unsigned most = 1u << 26;
    if (++*polls == most) { __trap(); } // a block is missing: an error, not a GPU that hangs
#if defined(SIMT_CPU_BACKEND)
    __nanosleep(0);
#endif
}

// word[k] = the thread's words, read together until each is complete.
template <class Complete>
__device__ static void poll(unsigned long long (&word)[each], const unsigned long long *words, Complete complete) {
    unsigned polls = 0;
    for (bool all = false; !all; pause(&polls)) {
#pragma unroll
        for (int k = 0; k < each; k++) {
            word[k] = *(const volatile unsigned long long *)(words + threadIdx.x + k * threads);
        }
        all = true;
#pragma unroll
        for (int k = 0; k < each; k++) { all = all && complete(k, word[k]); }
    }
}

// This block's values i = first to last - 1 are in `mine`, and all values are in x afterwards. round: from 1.
template <way how>
__device__ static void hand_over(const buffers &to, float *x, const float *mine, int first, int last, unsigned round,
                                 unsigned long long (&before)[2][each]) {
    const int buffer = round % 2;
    float *written = to.values + buffer * values;
    unsigned long long *words = to.words + buffer * values;
    unsigned polls = 0;
    if constexpr (how == barrier || how == flags) {
        for (int i = first + (int)threadIdx.x; i < last; i += threads) { __stcg(written + i, mine[i]); }
        __threadfence();
        meet();
        if constexpr (how == flags) {
            volatile unsigned *flag = to.flags + buffer * gridDim.x;
            if (threadIdx.x == 0) { flag[blockIdx.x] = round; }
            for (int i = threadIdx.x; i < (int)gridDim.x; i += threads) {
                while (flag[i] != round) { pause(&polls); }
            }
        } else if (threadIdx.x == 0) {
            atomicAdd(to.counter, 1u);
            while (*(volatile unsigned *)to.counter < round * gridDim.x) { pause(&polls); }
        }
        __threadfence();
        meet();
        for (int i = threadIdx.x; i < values; i += threads) { x[i] = __ldcg(written + i); }
    } else if constexpr (how == packets) {
        for (int i = first + (int)threadIdx.x; i < last; i += threads) {
            *(volatile unsigned long long *)(words + i) = (unsigned long long)round << 32 | __float_as_uint(mine[i]);
        }
        unsigned long long word[each];
        poll(word, words, [&](int, unsigned long long now) { return now >> 32 == round; });
        for (int k = 0; k < each; k++) { x[threadIdx.x + k * threads] = __uint_as_float((unsigned)word[k]); }
    } else {
        // The owner's part and one of each other block, which together are the value.
        for (int i = threadIdx.x; i < values; i += threads) {
            const float part = i >= first && i < last ? mine[i] - (float)(gridDim.x - 1) : 1.0f;
            const long long fixed = (long long)(part * fixed_point);
            atomicAdd(words + i, ((unsigned long long)fixed << parts_bits) + 1);
        }
        constexpr unsigned long long parts = (1u << parts_bits) - 1;
        unsigned long long word[each];
        poll(word, words,
             [&](int k, unsigned long long now) { return ((now - before[buffer][k]) & parts) == gridDim.x; });
        for (int k = 0; k < each; k++) {
            const long long sum = (long long)(word[k] - before[buffer][k]) >> parts_bits;
            x[threadIdx.x + k * threads] = (float)sum / fixed_point;
            before[buffer][k] = word[k];
        }
    }
    meet();
}

template <int depth> __device__ static void read_memory(const buffers &from, const volatile int *done) {
    constexpr size_t count = background_bytes / sizeof(uint4);
    const size_t stride = (size_t)gridDim.x * streaming_threads;
    size_t at = (size_t)blockIdx.x * streaming_threads + threadIdx.x - threads;
    unsigned sink = 0;
    unsigned long long read = 0;
    while (!*done) {
        uint4 data[depth];
#pragma unroll
        for (int k = 0; k < depth; k++) { data[k] = __ldcs(from.background + (at + k * stride) % count); }
#pragma unroll
        for (int k = 0; k < depth; k++) { sink |= data[k].x | data[k].y | data[k].z | data[k].w; }
        at += depth * stride;
        read += depth * sizeof(uint4);
    }
    if (sink != 0) { __trap(); } // the memory holds zeros
    atomicAdd(from.bytes, read);
}

// depth: loads of 16 bytes in flight of each streaming thread
template <way how, int depth> __global__ void __launch_bounds__(threads + streaming_threads, 1) run(buffers all) {
    __shared__ float x[values], mine[values];
    __shared__ int done;
    if (threadIdx.x == 0) { done = 0; }
    __syncthreads();
    if (threadIdx.x >= threads) {
        if constexpr (depth > 0) { read_memory<depth>(all, &done); }
        return;
    }
    const int first = (int)((long long)values * blockIdx.x / gridDim.x);
    const int last = (int)((long long)values * (blockIdx.x + 1) / gridDim.x);
    unsigned long long before[2][each] = {};
    for (int i = threadIdx.x; i < values; i += threads) { x[i] = 0.0f; }
    meet();
    for (unsigned round = 1; round <= rounds; round++) {
        for (int i = first + (int)threadIdx.x; i < last; i += threads) { mine[i] = next_value(x, i); }
        meet();
        hand_over<how>(all, x, mine, first, last, round, before);
    }
    if (threadIdx.x == 0) { *(volatile int *)&done = 1; }
    if (blockIdx.x + 1 == gridDim.x) {
        for (int i = threadIdx.x; i < values; i += threads) { all.result[i] = x[i]; }
    }
}

// ---- the host ----

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) { return; }
    fprintf(stderr, "handover: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

template <class T> static T *zeros(size_t count) {
    void *memory;
    check(cudaMalloc(&memory, count * sizeof(T)), "no memory on the GPU");
    check(cudaMemset(memory, 0, count * sizeof(T)), "cudaMemset");
    return (T *)memory;
}

// Does every value have the result of all rounds?
static bool right(const float *result) {
    static float x[values], next[values];
    for (int i = 0; i < values; i++) { x[i] = 0.0f; }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < values; i++) { next[i] = next_value(x, i); }
        for (int i = 0; i < values; i++) { x[i] = next[i]; }
    }
    for (int i = 0; i < values; i++) {
        if (result[i] != x[i]) { return false; }
    }
    return true;
}

template <way how, int depth> static void measure(const cudaDeviceProp &gpu, int blocks, const buffers &all) {
    check(cudaMemset(all.flags, 0, 2 * blocks * sizeof(unsigned)), "cudaMemset");
    check(cudaMemset(all.counter, 0, sizeof(unsigned)), "cudaMemset");
    check(cudaMemset(all.words, 0, 2 * values * sizeof(unsigned long long)), "cudaMemset");
    check(cudaMemset(all.bytes, 0, sizeof(unsigned long long)), "cudaMemset");
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    void *arguments[] = {(void *)&all};
    check(cudaEventRecord(begin), "cudaEventRecord");
    check(cudaLaunchCooperativeKernel((void *)run<how, depth>, dim3((unsigned)blocks),
                                      dim3(threads + (depth > 0 ? streaming_threads : 0)), arguments, 0, nullptr),
          "the launch");
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaDeviceSynchronize(), names[how]);
    float ms, result[values];
    unsigned long long bytes;
    check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    check(cudaMemcpy(result, all.result, sizeof result, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaMemcpy(&bytes, all.bytes, sizeof bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaEventDestroy(begin), "cudaEventDestroy");
    check(cudaEventDestroy(end), "cudaEventDestroy");
    if (!right(result)) {
        fprintf(stderr, "handover: %s: wrong values\n", names[how]);
        exit(1);
    }
#if defined(SIMT_CPU_BACKEND)
    (void)gpu;
    printf("%-8s right\n", names[how]);
#else
    printf("{\"gpu\": \"%s\", \"blocks\": %d, \"values\": %d, \"way\": \"%s\", \"in_flight_bytes\": %d, \"us\": %.3f, "
           "\"terabytes_per_s\": %.2f}\n",
           gpu.name, blocks, values, names[how], depth * streaming_threads * (int)sizeof(uint4), ms * 1e3 / rounds,
           (double)bytes / (ms * 1e9));
#endif
}

template <int depth> static void measure_ways(const cudaDeviceProp &gpu, int blocks, const buffers &all) {
    measure<barrier, depth>(gpu, blocks, all);
    measure<flags, depth>(gpu, blocks, all);
    measure<packets, depth>(gpu, blocks, all);
    measure<sums, depth>(gpu, blocks, all);
}

int main() {
    cudaDeviceProp gpu;
    check(cudaGetDeviceProperties(&gpu, 0), "no GPU");
    const int blocks = gpu.multiProcessorCount < most_blocks ? gpu.multiProcessorCount : most_blocks;
    const buffers all = {zeros<float>(2 * values),
                         zeros<unsigned>(2 * (size_t)blocks),
                         zeros<unsigned>(1),
                         zeros<unsigned long long>(2 * values),
                         zeros<uint4>(background_bytes / sizeof(uint4)),
                         zeros<unsigned long long>(1),
                         zeros<float>(values)};
    measure_ways<0>(gpu, blocks, all);
#if !defined(SIMT_CPU_BACKEND)
    measure_ways<2>(gpu, blocks, all);
    measure_ways<4>(gpu, blocks, all);
    measure_ways<8>(gpu, blocks, all);
    measure_ways<16>(gpu, blocks, all);
#endif
}
