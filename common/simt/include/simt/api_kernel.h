/* api_kernel.h — runtime functions that take a kernel: its type determines the types of the arguments.
 * So the translator (translate/launches.c) removes the usual cast, `(void *)k`, from calls of cudaLaunchKernel,
 * cudaLaunchCooperativeKernel, cudaFunc… and cudaOccupancy…. */
#ifndef SIMT_API_KERNEL_H
#define SIMT_API_KERNEL_H

#include <utility>

#include "../cuda_runtime_api.h"
#include "launch.h"

namespace simt {

/* A reference is passed as an address: the array points to that. */
template <class P> SIMT_INLINE P argument(void *from) {
    if constexpr (std::is_reference_v<P>) {
        return static_cast<P>(**static_cast<std::remove_reference_t<P> **>(from));
    } else {
        return *static_cast<P *>(from);
    }
}

template <class... Parameters, size_t... Is>
SIMT_INLINE void call_kernel(void (*kernel)(Parameters...), void **arguments, std::index_sequence<Is...>) {
    (void)arguments;
    kernel(argument<Parameters>(arguments[Is])...);
}

} // namespace simt

template <class... Parameters>
SIMT_INLINE cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void **arguments,
                                         size_t shared = 0, cudaStream_t stream = 0) {
    simt::configure(grid, block, shared, stream);
    simt::call_kernel(kernel, arguments, std::index_sequence_for<Parameters...>());
    return simt_launch_outcome();
}

template <class... Parameters>
SIMT_INLINE cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                                    void **arguments, size_t shared = 0, cudaStream_t stream = 0) {
    simt::configure(grid, block, shared, stream);
    simt_mark_cooperative();
    simt::call_kernel(kernel, arguments, std::index_sequence_for<Parameters...>());
    return simt_launch_outcome();
}

template <class... Parameters, class... Arguments>
SIMT_INLINE cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                                           Arguments &&...arguments) {
    cudaError_t refused = simt_check_attributes(config);
    if (refused != cudaSuccess) { return refused; }
    simt::configure(config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream);
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == cudaLaunchAttributeCooperative && config->attrs[i].val.cooperative) {
            simt_mark_cooperative();
        }
    }
    kernel(std::forward<Arguments>(arguments)...);
    return simt_launch_outcome();
}

template <class... P>
SIMT_INLINE cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, void (*kernel)(P...), void **arguments) {
    return cudaLaunchKernelExC(config, reinterpret_cast<const void *>(kernel), arguments);
}

template <class R, class... P>
SIMT_INLINE cudaError_t cudaFuncSetAttribute(R (*kernel)(P...), cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}
template <class R, class... P>
SIMT_INLINE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, R (*kernel)(P...)) {
    return cudaFuncGetAttributes(attributes, reinterpret_cast<const void *>(kernel));
}
template <class R, class... P> SIMT_INLINE cudaError_t cudaFuncSetCacheConfig(R (*kernel)(P...), cudaFuncCache config) {
    return cudaFuncSetCacheConfig(reinterpret_cast<const void *>(kernel), config);
}
template <class R, class... P>
SIMT_INLINE cudaError_t cudaFuncSetSharedMemConfig(R (*kernel)(P...), cudaSharedMemConfig config) {
    return cudaFuncSetSharedMemConfig(reinterpret_cast<const void *>(kernel), config);
}

template <class R, class... P>
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, R (*kernel)(P...), int block_size,
                                                                      size_t dynamic_shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void *>(kernel), block_size,
                                                         dynamic_shared);
}

/* The block size with the most resident threads; `shared_of(block)` is the dynamic shared memory of that block. */
template <class Kernel, class SharedOf>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *least_grid, int *block_size, Kernel kernel,
                                                           SharedOf shared_of, int limit = 0) {
    cudaDeviceProp device;
    cudaError_t error = cudaGetDeviceProperties(&device, 0);
    cudaFuncAttributes attributes;
    if (error == cudaSuccess) { error = cudaFuncGetAttributes(&attributes, kernel); }
    if (error != cudaSuccess) { return error; }
    int most = attributes.maxThreadsPerBlock;
    if (limit > 0 && limit < most) { most = limit; }
    int best_threads = 0, best_blocks = 0, best_size = 0;
    for (int size = (most + device.warpSize - 1) / device.warpSize * device.warpSize; size > 0;
         size -= device.warpSize) {
        int block = size < most ? size : most, blocks = 0;
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block, shared_of(block));
        if (error != cudaSuccess) { return error; }
        if (blocks * block > best_threads) {
            best_threads = blocks * block;
            best_blocks = blocks;
            best_size = block;
        }
    }
    *block_size = best_size;
    *least_grid = best_blocks * device.multiProcessorCount;
    return cudaSuccess;
}

template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int *least_grid, int *block_size, Kernel kernel,
                                               size_t dynamic_shared = 0, int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        least_grid, block_size, kernel, [=](int) { return dynamic_shared; }, limit);
}

#endif
