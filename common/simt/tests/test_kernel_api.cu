// Runtime functions that need kernels: symbols, launches by pointer, attributes, occupancy, graphs, host memory.
#include "expect.cuh"

// Managed: the tests read on the host what kernels write.
template <class T> T *managed(int count) {
    T *pointer = nullptr;
    cudaMallocManaged(&pointer, count * sizeof *pointer);
    cudaMemset(pointer, 0, count * sizeof *pointer);
    return pointer;
}

__constant__ float weights[4];
__device__ int counter = 7;
__device__ float2 table[3];

__global__ void use_symbols(float *out) {
    out[threadIdx.x] = weights[threadIdx.x] * counter;
    __syncthreads();
    if (threadIdx.x == 0) {
        counter = 9;
        table[2].y = 2.5f;
    }
}

extern "C" int run_symbols(void) {
    float host[4] = {1, 2, 3, 4}, *out = managed<float>(4);
    int value;
    float2 entry;
    void *address;
    size_t size;
    OK(cudaMemcpyToSymbol(weights, host, sizeof host));
    OK(cudaMemcpyToSymbol(weights, host, sizeof *host, 2 * sizeof *host));
    use_symbols<<<1, 4>>>(out);
    OK(cudaDeviceSynchronize());
    EXPECT(out[0] == 7 && out[1] == 14 && out[2] == 7 && out[3] == 28);
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    EXPECT(value == 9);
    OK(cudaMemcpyFromSymbol(&entry, table, sizeof entry, 2 * sizeof entry));
    EXPECT(entry.y == 2.5f);
    OK(cudaGetSymbolAddress(&address, counter));
    OK(cudaGetSymbolSize(&size, table));
    EXPECT(size == sizeof(float2) * 3);
    value = 11;
    OK(cudaMemcpy(address, &value, sizeof value, cudaMemcpyHostToDevice));
    value = 0;
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value, 0, cudaMemcpyDeviceToHost));
    EXPECT(value == 11);
    EXPECT(cudaMemcpyToSymbol(weights, host, sizeof host, 4) == cudaErrorInvalidValue);
    EXPECT(cudaMemcpyToSymbol(counter, &value, 4, 0, cudaMemcpyDeviceToHost) == cudaErrorInvalidMemcpyDirection);
    return 0;
}

struct pair {
    int first;
    double second;
};

__global__ void scale(float *out, int n, pair by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = out[i] * by.first + (float)by.second; }
}

template <int Size> __global__ void with_shared(float *out) {
    __shared__ float fixed[Size];
    extern __shared__ float dynamic[];
    fixed[threadIdx.x] = 1.0f;
    dynamic[threadIdx.x] = 2.0f;
    __syncthreads();
    out[threadIdx.x] = fixed[threadIdx.x ^ 1] + dynamic[threadIdx.x ^ 1];
}

extern "C" int run_launches(void) {
    float *out = managed<float>(64);
    int n = 64;
    pair by = {2, 1.0};
    void *arguments[] = {&out, &n, &by};
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaLaunchKernel(scale, dim3(2), dim3(32), arguments, 0, stream));
    OK(cudaLaunchKernel((const void *)scale, dim3(2), dim3(32), arguments, 0, 0));
    EXPECT(out[0] == 3 && out[63] == 3);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2);
    config.blockDim = dim3(32);
    config.stream = stream;
    OK(cudaLaunchKernelEx(&config, scale, out, n, by));
    EXPECT(out[0] == 7 && out[63] == 7);
    void (*pointer)(float *, int, pair) = scale;
    pointer<<<2, 32, 0, stream>>>(out, 1, by);
    OK(cudaGetLastError());
    EXPECT(out[0] == 15 && out[1] == 7);
    EXPECT(cudaLaunchKernel(scale, dim3(0), dim3(32), arguments, 0, 0) == cudaErrorInvalidConfiguration);
    EXPECT(cudaLaunchKernel(scale, dim3(1), dim3(1025), arguments, 0, 0) == cudaErrorInvalidConfiguration);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
    OK(cudaStreamDestroy(stream));
    scale<<<1, 1, 0, stream>>>(out, 1, by);
    EXPECT(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    return 0;
}

// An argument that launches must not consume the configuration of its own launch.
static int launches_itself(float *out) {
    scale<<<1, 1>>>(out + 1, 1, pair{0, 5.0});
    return 1;
}

extern "C" int run_nested_arguments(void) {
    float *out = managed<float>(2);
    scale<<<1, 1>>>(out, launches_itself(out), pair{0, 4.0});
    OK(cudaDeviceSynchronize());
    EXPECT(out[0] == 4 && out[1] == 5);
    return 0;
}

extern "C" int run_attributes(void) {
    float *out = managed<float>(64);
    cudaFuncAttributes attributes;
    with_shared<64><<<1, 64, 60000>>>(out);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(with_shared<64>, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    with_shared<64><<<1, 64, 60000>>>(out);
    OK(cudaDeviceSynchronize());
    EXPECT(out[0] == 3 && out[63] == 3);
    OK(cudaFuncGetAttributes(&attributes, with_shared<64>));
    EXPECT(attributes.maxThreadsPerBlock == 1024 && attributes.maxDynamicSharedSizeBytes == 60000);
    EXPECT(attributes.sharedSizeBytes == 64 * sizeof(float));
    EXPECT(cudaFuncSetAttribute(with_shared<64>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) ==
           cudaErrorInvalidValue);
    EXPECT(cudaFuncSetAttribute(with_shared<64>, cudaFuncAttributePreferredSharedMemoryCarveout, 101) ==
           cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute((const void *)with_shared<32>, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    OK(cudaFuncSetCacheConfig(scale, cudaFuncCachePreferL1));
    with_shared<32><<<1, 32, 60000>>>(out);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue); // another instance, another kernel
    return 0;
}

extern "C" int run_occupancy(void) {
    int blocks, grid, size;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
    EXPECT(blocks == 8); // 2048 threads
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 32, 0));
    EXPECT(blocks == 32); // blocks
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 40 << 10));
    EXPECT(blocks == 5); // 228 KB of shared memory, 1 KB more for each block
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &size, scale, 0, 0));
    EXPECT(size == 1024 && grid > 0);
    return 0;
}

__global__ void add_one(int *value) {
    ++*value;
}

static void host_step(void *data) {
    *(int *)data *= 10;
}

extern "C" int run_graph(void) {
    int *value = managed<int>(1), zero = 0, copied = -1, on_host = 1;
    cudaStream_t stream, fork;
    cudaEvent_t forked, joined;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamCaptureStatus status;
    size_t nodes;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&fork));
    OK(cudaEventCreate(&forked));
    OK(cudaEventCreate(&joined));
    *value = 100;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemcpyAsync(value, &zero, sizeof zero, cudaMemcpyHostToDevice, stream));
    add_one<<<1, 1, 0, stream>>>(value);
    OK(cudaEventRecord(forked, stream));
    OK(cudaStreamWaitEvent(fork, forked, 0));
    add_one<<<1, 1, 0, fork>>>(value);
    OK(cudaEventRecord(joined, fork));
    OK(cudaStreamWaitEvent(stream, joined, 0));
    OK(cudaMemcpyAsync(&copied, value, sizeof copied, cudaMemcpyDeviceToHost, stream));
    OK(cudaLaunchHostFunc(stream, host_step, &on_host));
    OK(cudaStreamIsCapturing(fork, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    EXPECT(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaGetLastError() == cudaErrorStreamCaptureUnsupported);
#ifndef SIMT_CPU_BACKEND
    return 0; // on a GPU the wait has invalidated the capture
#endif
    OK(cudaStreamEndCapture(stream, &graph));
    EXPECT(*value == 100 && copied == -1 && on_host == 1); // no node has run
    OK(cudaStreamIsCapturing(fork, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 5);
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; i++) {
        OK(cudaGraphLaunch(executable, stream));
        OK(cudaStreamSynchronize(stream));
        EXPECT(*value == 2 && copied == 2);
    }
    EXPECT(on_host == 1000);
    OK(cudaGraphExecDestroy(executable));
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaErrorIllegalState);
    return 0;
}

__global__ void reach(int *pinned, int *registered) {
    pinned[threadIdx.x] += 1;
    registered[threadIdx.x] += 2;
}

extern "C" int run_host_memory(void) {
    int *pinned, *mapped, registered[32], i;
    OK(cudaMallocHost(&pinned, 32 * sizeof *pinned));
    OK(cudaHostRegister(registered, sizeof registered, cudaHostRegisterMapped));
    OK(cudaHostGetDevicePointer(&mapped, registered, 0));
    for (i = 0; i < 32; i++) { pinned[i] = registered[i] = i; }
    reach<<<1, 32>>>(pinned, mapped);
    OK(cudaDeviceSynchronize());
    for (i = 0; i < 32; i++) { EXPECT(pinned[i] == i + 1 && registered[i] == i + 2); }
    OK(cudaHostUnregister(registered));
    OK(cudaFreeHost(pinned));
    return 0;
}
