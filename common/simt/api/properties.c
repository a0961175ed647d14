/* properties.c — cudaGetDeviceProperties and cudaDeviceGetAttribute: one table of facts for both. */
#include <stdio.h>
#include <string.h>

#include "api.h"

/* The kernels' warpSize (include/simt/builtin.h). */
const int warpSize = WARP_SIZE;

enum { MEGAHERTZ = 1000, MIB = 1 << 20 };

static void fill(struct cudaDeviceProp *p) {
    struct device_limits limits = device_limits();
    *p = (struct cudaDeviceProp){
        .totalGlobalMem = arena_total(),
        .sharedMemPerBlock = 48 << 10,
        .regsPerBlock = 65536,
        .warpSize = WARP_SIZE,
        .memPitch = 0x7fffffff,
        .maxThreadsPerBlock = MAX_THREADS_PER_BLOCK,
        .maxThreadsDim = {1024, 1024, 64},
        .maxGridSize = {0x7fffffff, 65535, 65535},
        .totalConstMem = 64 << 10,
        .major = limits.major,
        .minor = limits.minor,
        .textureAlignment = 512,
        .texturePitchAlignment = 32,
        .surfaceAlignment = 512,
        .multiProcessorCount = limits.multiprocessors,
        .canMapHostMemory = 1,
        .concurrentKernels = 1,
        .asyncEngineCount = 1,
        .unifiedAddressing = 1,
        .memoryBusWidth = 64,
        .l2CacheSize = 32 * MIB,
        .maxThreadsPerMultiProcessor = limits.threads_per_multiprocessor,
        .streamPrioritiesSupported = 1,
        .globalL1CacheSupported = 1,
        .localL1CacheSupported = 1,
        .sharedMemPerMultiprocessor = (size_t)limits.shared_per_multiprocessor,
        .regsPerMultiprocessor = 65536,
        .managedMemory = 1,
        .concurrentManagedAccess = 1,
        .computePreemptionSupported = 1,
        .canUseHostPointerForRegisteredMem = 1,
        .cooperativeLaunch = 1,
        .sharedMemPerBlockOptin = (size_t)limits.shared_optin,
        .maxBlocksPerMultiProcessor = limits.blocks_per_multiprocessor,
        .reservedSharedMemPerBlock = (size_t)limits.shared_reserved,
        .hostRegisterSupported = 1,
        .memoryPoolsSupported = 1,
        .deviceNumaId = -1,
        .hostNumaId = -1,
        .clockRate = 1000 * MEGAHERTZ,
        .memoryClockRate = 1000 * MEGAHERTZ,
        .deviceOverlap = 1,
        .singleToDoublePrecisionPerfRatio = 2,
    };
    snprintf(p->name, sizeof p->name, "CPU backend, compute capability %d.%d", p->major, p->minor);
    memcpy(p->uuid.bytes, "simt-cpu-backend", 16);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    API_ENTER();
    if (properties == NULL) { return api_fail(cudaErrorInvalidValue); }
    if (device != 0) { return api_fail(cudaErrorInvalidDevice); }
    fill(properties);
    return cudaSuccess;
}

/* -1: this backend does not know the attribute. */
static long attribute_of(const struct cudaDeviceProp *p, enum cudaDeviceAttr attribute) {
    switch ((int)attribute) {
        case cudaDevAttrMaxThreadsPerBlock: return p->maxThreadsPerBlock;
        case cudaDevAttrMaxBlockDimX: return p->maxThreadsDim[0];
        case cudaDevAttrMaxBlockDimY: return p->maxThreadsDim[1];
        case cudaDevAttrMaxBlockDimZ: return p->maxThreadsDim[2];
        case cudaDevAttrMaxGridDimX: return p->maxGridSize[0];
        case cudaDevAttrMaxGridDimY: return p->maxGridSize[1];
        case cudaDevAttrMaxGridDimZ: return p->maxGridSize[2];
        case cudaDevAttrMaxSharedMemoryPerBlock: return (long)p->sharedMemPerBlock;
        case cudaDevAttrTotalConstantMemory: return (long)p->totalConstMem;
        case cudaDevAttrWarpSize: return p->warpSize;
        case cudaDevAttrMaxPitch: return (long)p->memPitch;
        case cudaDevAttrMaxRegistersPerBlock: return p->regsPerBlock;
        case cudaDevAttrClockRate: return p->clockRate;
        case cudaDevAttrTextureAlignment: return (long)p->textureAlignment;
        case cudaDevAttrTexturePitchAlignment: return (long)p->texturePitchAlignment;
        case cudaDevAttrSurfaceAlignment: return (long)p->surfaceAlignment;
        case cudaDevAttrGpuOverlap: return p->deviceOverlap;
        case cudaDevAttrMultiProcessorCount: return p->multiProcessorCount;
        case cudaDevAttrCanMapHostMemory: return p->canMapHostMemory;
        case cudaDevAttrConcurrentKernels: return p->concurrentKernels;
        case cudaDevAttrMemoryClockRate: return p->memoryClockRate;
        case cudaDevAttrGlobalMemoryBusWidth: return p->memoryBusWidth;
        case cudaDevAttrL2CacheSize: return p->l2CacheSize;
        case cudaDevAttrMaxThreadsPerMultiProcessor: return p->maxThreadsPerMultiProcessor;
        case cudaDevAttrAsyncEngineCount: return p->asyncEngineCount;
        case cudaDevAttrUnifiedAddressing: return p->unifiedAddressing;
        case cudaDevAttrComputeCapabilityMajor: return p->major;
        case cudaDevAttrComputeCapabilityMinor: return p->minor;
        case cudaDevAttrStreamPrioritiesSupported: return p->streamPrioritiesSupported;
        case cudaDevAttrGlobalL1CacheSupported: return p->globalL1CacheSupported;
        case cudaDevAttrLocalL1CacheSupported: return p->localL1CacheSupported;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return (long)p->sharedMemPerMultiprocessor;
        case cudaDevAttrMaxRegistersPerMultiprocessor: return p->regsPerMultiprocessor;
        case cudaDevAttrManagedMemory: return p->managedMemory;
        case cudaDevAttrSingleToDoublePrecisionPerfRatio: return p->singleToDoublePrecisionPerfRatio;
        case cudaDevAttrConcurrentManagedAccess: return p->concurrentManagedAccess;
        case cudaDevAttrComputePreemptionSupported: return p->computePreemptionSupported;
        case cudaDevAttrCanUseHostPointerForRegisteredMem: return p->canUseHostPointerForRegisteredMem;
        case cudaDevAttrCooperativeLaunch: return p->cooperativeLaunch;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: return (long)p->sharedMemPerBlockOptin;
        case cudaDevAttrHostRegisterSupported: return p->hostRegisterSupported;
        case cudaDevAttrMaxBlocksPerMultiprocessor: return p->maxBlocksPerMultiProcessor;
        case cudaDevAttrReservedSharedMemoryPerBlock: return (long)p->reservedSharedMemPerBlock;
        case cudaDevAttrMemoryPoolsSupported: return p->memoryPoolsSupported;
        case cudaDevAttrKernelExecTimeout:
        case cudaDevAttrIntegrated:
        case cudaDevAttrComputeMode:
        case cudaDevAttrEccEnabled:
        case cudaDevAttrPciBusId:
        case cudaDevAttrPciDeviceId:
        case cudaDevAttrPciDomainId:
        case cudaDevAttrTccDriver:
        case cudaDevAttrIsMultiGpuBoard:
        case cudaDevAttrMultiGpuBoardGroupID:
        case cudaDevAttrHostNativeAtomicSupported:
        case cudaDevAttrPageableMemoryAccess:
        case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
        case cudaDevAttrDirectManagedMemAccessFromHost:
        case cudaDevAttrMaxPersistingL2CacheSize:
        case cudaDevAttrMaxAccessPolicyWindowSize:
        case cudaDevAttrGPUDirectRDMASupported:
        case cudaDevAttrClusterLaunch:
        case cudaDevAttrIpcEventSupport: return 0;
        default: return -1;
    }
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    API_ENTER();
    if (device != 0) { return api_fail(cudaErrorInvalidDevice); }
    struct cudaDeviceProp properties;
    fill(&properties);
    long found = attribute_of(&properties, attribute);
    if (value == NULL || found < 0) { return api_fail(cudaErrorInvalidValue); }
    *value = (int)found;
    return cudaSuccess;
}
