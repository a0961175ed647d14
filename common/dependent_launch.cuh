// dependent_launch.cuh — programmatic dependent launch: a kernel starts before the previous one in its stream ends
//
//   wait_for_previous_kernel   returns when the previous kernel has ended and its writes are visible. It comes before
//                              any other access to memory
//   let_next_kernel_start      the next kernel of the stream may start from now on
//   starts_early               can anything run before wait_for_previous_kernel()?
//   launch                     launches a kernel this way, where the GPU can (Hopper)
//   compute_capability, multiprocessor_count, most_shared_memory   of the current device
//
// On an older GPU and on the CPU backend these kernels run one after the other, with the same results.
#ifndef DEPENDENT_LAUNCH_CUH
#define DEPENDENT_LAUNCH_CUH

#include <cuda_runtime.h>

#if !defined(SIMT_CPU_BACKEND) && defined(__CUDA_ARCH__)
#define HOPPER_PTX (__CUDA_ARCH__ >= 900)
#else
#define HOPPER_PTX 0 // the CPU backend, or nvcc's pass for the host
#endif

// ---- in a kernel ----

constexpr bool starts_early = HOPPER_PTX;

__device__ inline void wait_for_previous_kernel() {
#if HOPPER_PTX
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ inline void let_next_kernel_start() {
#if HOPPER_PTX
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// ---- on the host ----

// 90 for Hopper, 75 for Turing.
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

// Bytes that a block may have if its kernel is allowed to (allow_shared_memory).
inline int most_shared_memory() {
    int device = 0, bytes = 0;
    cudaGetDevice(&device);
    cudaError_t error = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return error == cudaSuccess ? bytes : 48 * 1024;
}

// Every kernel may have 48 KB of shared memory, static and dynamic together; this one gets `bytes` of dynamic memory.
template <class Kernel> cudaError_t allow_shared_memory(Kernel *kernel, size_t bytes) {
    if (bytes <= 40 * 1024) { return cudaSuccess; }
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}

struct launch_shape {
    unsigned blocks, threads;
    cudaStream_t stream;
    size_t shared = 0; // bytes of dynamic shared memory
};

struct launch_configuration {
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};

    explicit launch_configuration(const launch_shape &shape) {
        config.gridDim = dim3(shape.blocks), config.blockDim = dim3(shape.threads);
        config.stream = shape.stream, config.dynamicSmemBytes = shape.shared;
        if (compute_capability() >= 90) {
            cudaLaunchAttribute *early = add(cudaLaunchAttributeProgrammaticStreamSerialization);
            early->val.programmaticStreamSerializationAllowed = 1;
        }
    }
    launch_configuration(const launch_configuration &) = delete; // config points to attributes

    cudaLaunchAttribute *add(cudaLaunchAttributeID id) {
        cudaLaunchAttribute *added = &attributes[config.numAttrs++];
        added->id = id, config.attrs = attributes;
        return added;
    }
};

// Every thread of the kernel must call wait_for_previous_kernel() before it accesses memory.
template <class... Parameters, class... Arguments>
int launch_as(const launch_configuration &configuration, void (*kernel)(Parameters...), Arguments... arguments) {
    cudaError_t status = allow_shared_memory(kernel, configuration.config.dynamicSmemBytes);
    if (status != cudaSuccess) { return status; }
    status = cudaLaunchKernelEx(&configuration.config, kernel, Parameters(arguments)...);
    return status != cudaSuccess ? status : cudaGetLastError();
}

template <class... Parameters, class... Arguments>
int launch(const launch_shape &shape, void (*kernel)(Parameters...), Arguments... arguments) {
    return launch_as(launch_configuration(shape), kernel, arguments...);
}

#endif
