/* function.c — attributes of kernels and occupancy. */
#include "../include/simt/kernel.h"
#include "api.h"

enum { REGISTERS = 32, REGISTERS_PER_MULTIPROCESSOR = 65536 };

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
    API_ENTER();
    struct simt_kernel *kernel = kernel_of_function(function);
    if (kernel == NULL) { return api_fail(cudaErrorInvalidDeviceFunction); }
    switch (attribute) {
        case cudaFuncAttributeMaxDynamicSharedMemorySize: {
            if (value < 0) { return api_fail(cudaErrorInvalidValue); }
            cudaError_t error = (cudaError_t)simt_allow_shared(kernel->entry, (size_t)value);
            return error == cudaSuccess ? error : api_fail(error);
        }
        case cudaFuncAttributePreferredSharedMemoryCarveout:
            return value >= -1 && value <= 100 ? cudaSuccess : api_fail(cudaErrorInvalidValue);
        default: return api_fail(cudaErrorInvalidValue);
    }
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
    API_ENTER();
    API_GIVES(attributes);
    if (attributes == NULL) { return api_fail(cudaErrorInvalidValue); }
    struct simt_kernel *kernel = kernel_of_function(function);
    if (kernel == NULL) { return api_fail(cudaErrorInvalidDeviceFunction); }
    struct device_limits limits = device_limits();
    *attributes = (struct cudaFuncAttributes){
        .sharedSizeBytes = simt_shared_static(kernel->entry),
        .maxThreadsPerBlock = kernel->most_threads > 0 && kernel->most_threads < MAX_THREADS_PER_BLOCK
                                  ? (int)kernel->most_threads
                                  : MAX_THREADS_PER_BLOCK,
        .numRegs = REGISTERS, /* unknown on a CPU: a typical number */
        .ptxVersion = limits.major * 10 + limits.minor,
        .binaryVersion = limits.major * 10 + limits.minor,
        .maxDynamicSharedSizeBytes = (int)simt_shared_allowed(kernel->entry),
        .preferredShmemCarveout = -1,
    };
    return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config) {
    API_ENTER();
    (void)config;
    return kernel_of_function(function) != NULL ? cudaSuccess : api_fail(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config) {
    API_ENTER();
    (void)config;
    return kernel_of_function(function) != NULL ? cudaSuccess : api_fail(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaFuncGetName(const char **name, const void *function) {
    API_ENTER();
    struct simt_kernel *kernel = kernel_of_function(function);
    if (name == NULL || kernel == NULL) {
        return api_fail(name == NULL ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction);
    }
    *name = kernel->name;
    return cudaSuccess;
}

static size_t shared_of_block(const struct device_limits *limits, size_t bytes) {
    enum { GRANULARITY = 128 };
    return (bytes + (size_t)limits->shared_reserved + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
}

int resident_blocks(const struct simt_kernel *kernel, int block_size, size_t dynamic_shared) {
    struct device_limits limits = device_limits();
    if (block_size > MAX_THREADS_PER_BLOCK || dynamic_shared > simt_shared_allowed(kernel->entry)) { return 0; }
    int threads = (block_size + WARP_SIZE - 1) / WARP_SIZE * WARP_SIZE;
    int most = limits.blocks_per_multiprocessor;
    int by_threads = limits.threads_per_multiprocessor / threads;
    int by_registers = REGISTERS_PER_MULTIPROCESSOR / (threads * REGISTERS);
    size_t each = shared_of_block(&limits, simt_shared_static(kernel->entry) + dynamic_shared);
    int by_shared = each == 0 ? most : (int)((size_t)limits.shared_per_multiprocessor / each);
    most = by_threads < most ? by_threads : most;
    most = by_registers < most ? by_registers : most;
    return by_shared < most ? by_shared : most;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int block_size,
                                                                   size_t dynamic_shared, unsigned int flags) {
    API_ENTER();
    API_GIVES(blocks);
    struct simt_kernel *kernel = kernel_of_function(function);
    if (kernel == NULL) { return api_fail(cudaErrorInvalidDeviceFunction); }
    if (blocks == NULL || block_size <= 0 || flags > cudaOccupancyDisableCachingOverride) {
        return api_fail(cudaErrorInvalidValue);
    }
    *blocks = resident_blocks(kernel, block_size, dynamic_shared);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size,
                                                          size_t dynamic_shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, dynamic_shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int block_size) {
    API_ENTER();
    API_GIVES(bytes);
    struct simt_kernel *kernel = kernel_of_function(function);
    if (kernel == NULL) { return api_fail(cudaErrorInvalidDeviceFunction); }
    struct device_limits limits = device_limits();
    if (bytes == NULL || blocks <= 0 || block_size <= 0 || block_size > MAX_THREADS_PER_BLOCK) {
        return api_fail(cudaErrorInvalidValue);
    }
    size_t each = (size_t)(limits.shared_per_multiprocessor / blocks), used = simt_shared_static(kernel->entry);
    used += (size_t)limits.shared_reserved;
    *bytes = each > used ? each - used : 0;
    if (*bytes > (size_t)limits.shared_optin) { *bytes = (size_t)limits.shared_optin; }
    return cudaSuccess;
}
