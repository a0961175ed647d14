// needs: sm_90 (griddepcontrol)
// Launches as published programs make them. run_X returns 0, line * 1000 + error, or the line of a condition that is
// false. The codes of the launch bounds were seen on an H200 under CUDA 13.
#include "expect.cuh"

#include <stdint.h>

static int *managed() {
    int *pointer = nullptr;
    cudaMallocManaged(&pointer, 64 * sizeof *pointer);
    cudaMemset(pointer, 0, 64 * sizeof *pointer);
    return pointer;
}

__global__ void __launch_bounds__(48) bounded(int *p) {
    p[threadIdx.x] = 1;
}
template <int THREADS> __launch_bounds__(2 * THREADS, 1) __global__ void bounded_by_template(int *p) {
    p[threadIdx.x + threadIdx.y * blockDim.x] = 2;
}

extern "C" int run_bounds(void) {
    int *p = managed(), grid, block;
    cudaFuncAttributes attributes;
    bounded<<<1, 48>>>(p);
    OK(cudaGetLastError());
    bounded<<<1, 49>>>(p);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    bounded<<<1, 2048>>>(p);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    bounded_by_template<16><<<1, dim3(16, 2)>>>(p);
    OK(cudaGetLastError());
    bounded_by_template<16><<<1, dim3(16, 3)>>>(p);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
    EXPECT(p[0] == 2 && p[31] == 2 && p[47] == 1 && p[48] == 0);
    OK(cudaFuncGetAttributes(&attributes, bounded));
    EXPECT(attributes.maxThreadsPerBlock == 48);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded_by_template<64>));
    EXPECT(block == 128);
    return 0;
}

struct Big {
    double values[6];
    int n;
};
struct Owner { // not to be copied byte by byte
    int n;
    __host__ __device__ Owner(const Owner &other) : n(other.n) {}
};
__global__ void add(int *p, int n, float f) {
    if (threadIdx.x < n) { p[threadIdx.x] += (int)f; }
}
template <class T> __global__ void subtract(T *p, T value) {
    p[threadIdx.x] -= value;
}
__global__ void add_big(const Big big, int *p, const int n, const char letter, double d) {
    p[threadIdx.x] += big.n + (int)big.values[5] + n + letter + (int)d;
}
template <class... P> __global__ void add_all(int *p, P... rest) {
    p[threadIdx.x] += (0 + ... + rest);
}
__global__ void nothing() {}
__global__ void owned(Owner) {}

extern "C" int run_untyped(void) {
    int *p = managed(), n = 32, one = 1;
    float f = 3;
    Big big = {{1, 2, 3, 4, 5, 6}, 7};
    char letter = 'a';
    double d = 40.5;
    const void *kernel = (const void *)add;
    void *table[] = {(void *)subtract<int>, (void *)nothing, (void *)owned, (void *)add_all<int, char>};
    void *to_add[] = {&p, &n, &f}, *to_subtract[] = {&p, &one}, *to_big[] = {&big, &p, &one, &letter, &d};
    void *to_all[] = {&p, &n, &letter};
    OK(cudaLaunchKernel(kernel, dim3(1), dim3(32), to_add, 0, 0));
    OK(cudaLaunchKernel(table[0], 1, 32, to_subtract, 0, 0));
    OK(cudaLaunchKernel(table[1], 1, 32, nullptr, 0, 0));
    OK(cudaLaunchKernel(table[3], 1, 32, to_all, 0, 0));
    kernel = (const void *)add_big;
    OK(cudaLaunchCooperativeKernel(kernel, 1, 32, to_big, 0, 0));
    OK(cudaDeviceSynchronize());
    EXPECT(p[0] == 3 - 1 + 32 + 'a' + 7 + 6 + 1 + 'a' + 40 && p[31] == p[0] && p[32] == 0);
    EXPECT(cudaLaunchKernel(table[2], 1, 1, to_add, 0, 0) == cudaErrorInvalidDeviceFunction);
    EXPECT(cudaGetLastError() == cudaErrorInvalidDeviceFunction);
    add<<<1, 32>>>(p, 32, -1.0f); // typed launches are unchanged
    OK(cudaDeviceSynchronize());
    return 0;
}

__global__ void wait_and_double(int *p) {
    cudaGridDependencySynchronize();
    p[threadIdx.x] *= 2;
}
__global__ void fill_and_trigger(int *p) {
    p[threadIdx.x] = threadIdx.x;
    cudaTriggerProgrammaticLaunchCompletion();
}

static cudaLaunchConfig_t configuration(cudaLaunchAttribute *attributes, unsigned count) {
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 32;
    config.attrs = attributes;
    config.numAttrs = count;
    return config;
}

extern "C" int run_dependent(void) {
    int *p = managed();
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributePriority;
    cudaLaunchConfig_t config = configuration(attributes, 2);
    OK(cudaLaunchKernelEx(&config, fill_and_trigger, p));
    OK(cudaLaunchKernelEx(&config, wait_and_double, p));
    void *arguments[] = {&p};
    OK(cudaLaunchKernelExC(&config, (const void *)wait_and_double, arguments));
    OK(cudaDeviceSynchronize());
    EXPECT(p[9] == 36 && p[31] == 124);
    return 0;
}

extern "C" int run_clusters(void) {
    int *p = managed();
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = configuration(&attribute, 1);
    EXPECT(cudaLaunchKernelEx(&config, bounded, p) == cudaErrorNotSupported);
    EXPECT(cudaGetLastError() == cudaErrorNotSupported && p[0] == 0);
    attribute.val.clusterDim.x = 1;
    OK(cudaLaunchKernelEx(&config, bounded, p));
    OK(cudaDeviceSynchronize());
    EXPECT(p[0] == 1);
    return 0;
}

extern "C" int run_pool(void) {
    cudaMemPool_t pool;
    unsigned long long threshold = ~0ull, read = 0;
    int *p;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
    EXPECT(read == threshold);
    OK(cudaMallocAsync(&p, 4096, 0));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &read));
    EXPECT(read >= 4096);
    OK(cudaFreeAsync(p, 0));
    OK(cudaMallocFromPoolAsync(&p, 64, pool, 0));
    OK(cudaFreeAsync(p, 0));
    OK(cudaMemPoolTrimTo(pool, 0));
    EXPECT(cudaDeviceGetDefaultMemPool(&pool, 1) == cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
    return 0;
}

/* Hints that change no result, and names of the first CUDA versions. */
extern "C" int run_hints(void) {
    int *p = managed();
    cudaStream_t stream;
    cudaStreamAttrValue value = {};
    value.accessPolicyWindow.base_ptr = p;
    value.accessPolicyWindow.num_bytes = 64;
    value.accessPolicyWindow.hitRatio = 0.6f;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    OK(cudaStreamCreate(&stream));
    OK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20));
    OK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    bounded<<<1, 32, 0, stream>>>(p);
    OK(cudaCtxResetPersistingL2Cache());
#ifdef SIMT_CPU_BACKEND // the name that CUDA 13 dropped
    OK(cudaThreadSynchronize());
#endif
    OK(cudaDeviceSynchronize());
    EXPECT(p[31] == 1);
    EXPECT(cudaDeviceDisablePeerAccess(0) == cudaErrorPeerAccessNotEnabled);
    EXPECT(cudaGetLastError() == cudaErrorPeerAccessNotEnabled);
    return 0;
}

__global__ void mark(int *p) {
    p[blockIdx.x] = 1;
}

// Bit b: block b of 33 ran.
extern "C" uint64_t run_marks(void) {
    int *p = managed();
    uint64_t ran = 0;
    mark<<<33, 1>>>(p);
    if (cudaDeviceSynchronize() != cudaSuccess) { return 0; }
    for (int b = 0; b < 33; b++) { ran |= (uint64_t)p[b] << b; }
    cudaFree(p);
    return ran;
}
