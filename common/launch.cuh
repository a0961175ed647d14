// launch.cuh — the host's side of hopper.cuh
//
//   launch                starts a kernel with dependent launch and clusters where the GPU has them
//   compute_capability    90 for Hopper, 75 for Turing: what the dispatch tables ask for
//   multiprocessor_count  how many blocks can stay, one on each
//   most_shared_memory    how much of it a block may have, which the tables ask for too
#ifndef LAUNCH_CUH
#define LAUNCH_CUH

#include <cuda_runtime.h>

#if defined(SIMT_CPU_BACKEND)
static __device__ int twin_cluster; // the number of the cluster that runs: they run one after the other
#endif

inline int compute_capability() {
    int device = 0, major = 0, minor = 0;
    if (cudaGetDevice(&device) != cudaSuccess) { return 0; }
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    return 10 * major + minor;
}

inline int multiprocessor_count() {
    int device = 0, count = 0;
    cudaGetDevice(&device);
    return cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) == cudaSuccess ? count : 1;
}

// Bytes that a block may have if it asks for them.
inline int most_shared_memory() {
    int device = 0, bytes = 0;
    cudaGetDevice(&device);
    cudaError_t error = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return error == cudaSuccess ? bytes : 48 * 1024;
}

struct launch_shape {
    unsigned blocks, threads; // blocks: a multiple of cluster
    unsigned cluster;         // blocks in a cluster; 1: none
    cudaStream_t stream;
    size_t shared = 0; // bytes of dynamic shared memory
};

// Every thread of the kernel must call wait_for_previous_kernel() before it reads or writes memory.
template <class... Parameters, class... Arguments>
int launch(const launch_shape &shape, void (*kernel)(Parameters...), Arguments... arguments) {
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(shape.blocks), config.blockDim = dim3(shape.threads);
    config.stream = shape.stream, config.attrs = attributes, config.dynamicSmemBytes = shape.shared;
    if (shape.shared > 40 * 1024) { // 48 KB less what a kernel has of its own, which the CPU backend counts too
        int allowed = (int)shape.shared;
#if defined(SIMT_CPU_BACKEND)
        allowed = allowed + 8 * 1024 < most_shared_memory() ? allowed + 8 * 1024 : most_shared_memory();
#endif
        cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, allowed);
        if (error != cudaSuccess) { return error; }
    }
#if defined(SIMT_CPU_BACKEND)
    if (shape.cluster > 1) {
        attributes[0].id = cudaLaunchAttributeCooperative;
        attributes[0].val.cooperative = 1;
        config.numAttrs = 1, config.gridDim = dim3(shape.cluster);
        cudaError_t status = cudaSuccess;
        for (int number = 0; number < (int)(shape.blocks / shape.cluster) && status == cudaSuccess; number++) {
            cudaMemcpyToSymbol(twin_cluster, &number, sizeof number);
            status = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
        }
        return status;
    }
#endif
    if (compute_capability() >= 90) {
        attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[0].val.programmaticStreamSerializationAllowed = 1;
        config.numAttrs = 1;
    }
#if !defined(SIMT_CPU_BACKEND)
    if (shape.cluster > 1) {
        attributes[1].id = cudaLaunchAttributeClusterDimension;
        attributes[1].val.clusterDim.x = shape.cluster, attributes[1].val.clusterDim.y = 1;
        attributes[1].val.clusterDim.z = 1;
        config.numAttrs = 2;
        if (shape.cluster > 8) { cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1); }
    }
#endif
    cudaError_t status = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
    return status != cudaSuccess ? status : cudaGetLastError();
}

#endif
