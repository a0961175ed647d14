/* api.h — the runtime API's C++ forms: typed pointers, kernels and symbols instead of void pointers. */
#ifndef SIMT_API_H
#define SIMT_API_H

#include "../cuda_runtime_api.h"
#include "launch.h"

template <class T> SIMT_INLINE cudaError_t cudaMalloc(T **pointer, size_t size) {
    return cudaMalloc(reinterpret_cast<void **>(pointer), size);
}
template <class T> SIMT_INLINE cudaError_t cudaMallocHost(T **pointer, size_t size, unsigned int flags = 0) {
    return cudaHostAlloc(reinterpret_cast<void **>(pointer), size, flags);
}
template <class T> SIMT_INLINE cudaError_t cudaHostAlloc(T **pointer, size_t size, unsigned int flags) {
    return cudaHostAlloc(reinterpret_cast<void **>(pointer), size, flags);
}
template <class T>
SIMT_INLINE cudaError_t cudaMallocManaged(T **pointer, size_t size, unsigned int flags = cudaMemAttachGlobal) {
    return cudaMallocManaged(reinterpret_cast<void **>(pointer), size, flags);
}
template <class T> SIMT_INLINE cudaError_t cudaMallocAsync(T **pointer, size_t size, cudaStream_t stream) {
    return cudaMallocAsync(reinterpret_cast<void **>(pointer), size, stream);
}
template <class T>
SIMT_INLINE cudaError_t cudaMallocFromPoolAsync(T **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
    return cudaMallocFromPoolAsync(reinterpret_cast<void **>(pointer), size, pool, stream);
}
template <class T> SIMT_INLINE cudaError_t cudaMallocPitch(T **pointer, size_t *pitch, size_t width, size_t height) {
    return cudaMallocPitch(reinterpret_cast<void **>(pointer), pitch, width, height);
}
template <class T> SIMT_INLINE cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned int flags) {
    return cudaHostGetDevicePointer(reinterpret_cast<void **>(device), host, flags);
}

/* CUDA 12's forms of functions that CUDA 13 changed. */
SIMT_INLINE cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, int device, cudaStream_t stream = 0) {
    cudaMemLocation where = {device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device < 0 ? 0 : device};
    return cudaMemPrefetchAsync(pointer, size, where, 0, stream);
}
SIMT_INLINE cudaError_t cudaMemAdvise(const void *pointer, size_t size, cudaMemoryAdvise advice, int device) {
    cudaMemLocation where = {device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device < 0 ? 0 : device};
    return cudaMemAdvise(pointer, size, advice, where);
}
SIMT_INLINE cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, cudaGraphNode_t *, char *,
                                             size_t) {
    return cudaGraphInstantiate(executable, graph, 0);
}

SIMT_INLINE cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph,
                                                      unsigned long long flags) {
    return cudaGraphInstantiate(executable, graph, flags);
}
/* From the first CUDA versions; older books and courses still use them. */
SIMT_INLINE cudaError_t cudaThreadSynchronize() {
    return cudaDeviceSynchronize();
}
SIMT_INLINE cudaError_t cudaThreadExit() {
    return cudaDeviceReset();
}

/* Symbols: a __device__ or __constant__ variable itself. */
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t size, size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cudaMemcpyToSymbol(static_cast<const void *>(&symbol), from, size, offset, kind);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t size, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return cudaMemcpyFromSymbol(to, static_cast<const void *>(&symbol), size, offset, kind);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t size, size_t offset = 0,
                                                cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0) {
    return cudaMemcpyToSymbolAsync(static_cast<const void *>(&symbol), from, size, offset, kind, stream);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t size, size_t offset = 0,
                                                  cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                                  cudaStream_t stream = 0) {
    return cudaMemcpyFromSymbolAsync(to, static_cast<const void *>(&symbol), size, offset, kind, stream);
}
template <class T> SIMT_INLINE cudaError_t cudaGetSymbolAddress(void **pointer, const T &symbol) {
    return cudaGetSymbolAddress(pointer, static_cast<const void *>(&symbol));
}
template <class T, class S> SIMT_INLINE cudaError_t cudaGetSymbolAddress(T **pointer, const S &symbol) {
    return cudaGetSymbolAddress(reinterpret_cast<void **>(pointer), static_cast<const void *>(&symbol));
}
template <class T> SIMT_INLINE cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol) {
    return cudaGetSymbolSize(size, static_cast<const void *>(&symbol));
}

SIMT_INLINE cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags) {
    return cudaEventCreateWithFlags(event, flags);
}

#include "api_kernel.h"

#endif
