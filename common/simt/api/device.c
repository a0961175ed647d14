/* device.c — the one device: limits by compute capability, properties and attributes, settings, synchronisation, reset. */
#include <stdio.h>
#include <string.h>

#include "api.h"

enum { KIB = 1024, MIB = 1024 * KIB, MEGAHERTZ = 1000 };

/* The limits that depend on the compute capability (CUDA programming guide, table of technical specifications). The numbers of
 * multiprocessors are those of V100, T4, A100, A40, AGX Orin, L40, H100, B200 and RTX 5090. */
static const struct device_limits known_limits[] = {
    {7, 0, 80, 2048, 32, 96 * KIB, 96 * KIB, 0},      {7, 5, 40, 1024, 16, 64 * KIB, 64 * KIB, 0},
    {8, 0, 108, 2048, 32, 164 * KIB, 163 * KIB, KIB}, {8, 6, 84, 1536, 16, 100 * KIB, 99 * KIB, KIB},
    {8, 7, 16, 1536, 16, 164 * KIB, 163 * KIB, KIB},  {8, 9, 142, 1536, 24, 100 * KIB, 99 * KIB, KIB},
    {9, 0, 132, 2048, 32, 228 * KIB, 227 * KIB, KIB}, {10, 0, 148, 2048, 32, 228 * KIB, 227 * KIB, KIB},
    {12, 0, 170, 1536, 24, 100 * KIB, 99 * KIB, KIB},
};

struct device_limits device_limits(void) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    struct device_limits limits = known_limits[0];
    for (size_t i = 0; i < sizeof known_limits / sizeof *known_limits; i++) {
        if (known_limits[i].major * 10 + known_limits[i].minor <= settings.compute_capability) {
            limits = known_limits[i];
        }
    }
    limits.major = settings.compute_capability / 10;
    limits.minor = settings.compute_capability % 10;
    limits.shared_optin = (int)simt_shared_optin();
    if (settings.small_device) {
        limits.multiprocessors = 2;
        limits.shared_per_multiprocessor = 64 * KIB;
    }
    return limits;
}

cudaError_t cudaGetDeviceCount(int *count) {
    API_ENTER();
    API_GIVES(count);
    if (count == NULL) { return api_fail(cudaErrorInvalidValue); }
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
    API_ENTER();
    API_GIVES(device);
    if (device == NULL) { return api_fail(cudaErrorInvalidValue); }
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    API_ENTER();
    return device == 0 ? cudaSuccess : api_fail(cudaErrorInvalidDevice);
}

cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags) {
    (void)device_flags, (void)flags;
    return cudaSetDevice(device);
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) {
    (void)wanted;
    return cudaGetDevice(device);
}

/* All work has been executed when it was issued. */
cudaError_t cudaDeviceSynchronize(void) {
    API_ENTER();
    if (graph_capturing()) { return api_fail(cudaErrorStreamCaptureUnsupported); }
    fflush(stdout); /* device printf reaches the terminal here, as on a GPU */
    watch_host_waits_for_all(__func__, API_CALLER);
    return cudaSuccess;
}

cudaError_t cudaDeviceReset(void) {
    api_clear_errors();
    fflush(stdout);
    if (!watch_device_reset(__func__, API_CALLER)) { arena_report_leaks(0); }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *name, int size, int device) {
    API_ENTER();
    API_GIVES(name);
    if (name == NULL || size < 13) { return api_fail(cudaErrorInvalidValue); }
    if (device != 0) { return api_fail(cudaErrorInvalidDevice); }
    strcpy(name, "0000:00:00.0");
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    API_ENTER();
    API_GIVES(can);
    if (device != 0 || peer != 0) { return api_fail(cudaErrorInvalidDevice); }
    *can = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
    API_ENTER();
    (void)peer, (void)flags;
    return api_fail(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    API_ENTER();
    return api_fail(peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice);
}

/* Caches are not modelled. */
cudaError_t cudaCtxResetPersistingL2Cache(void) {
    API_ENTER();
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
    if (version == NULL) { return api_fail(cudaErrorInvalidValue); }
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    return cudaDriverGetVersion(version);
}

cudaError_t cudaProfilerStart(void) {
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void) {
    return cudaSuccess;
}

/* ---- properties and attributes: one table of facts ---- */

/* The kernels' warpSize (include/simt/builtin.h). */
const int warpSize = WARP_SIZE;

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
        .clockRate = CLOCK_MEGAHERTZ * MEGAHERTZ,
        .memoryClockRate = 1000 * MEGAHERTZ,
        .deviceOverlap = 1,
        .singleToDoublePrecisionPerfRatio = 2,
    };
    snprintf(p->name, sizeof p->name, "CPU backend, compute capability %d.%d", p->major, p->minor);
    memcpy(p->uuid.bytes, "simt-cpu-backend", 16);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    API_ENTER();
    API_GIVES(properties);
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
    API_GIVES(value);
    if (device != 0) { return api_fail(cudaErrorInvalidDevice); }
    struct cudaDeviceProp properties;
    fill(&properties);
    long found = attribute_of(&properties, attribute);
    if (value == NULL || found < 0) { return api_fail(cudaErrorInvalidValue); }
    *value = (int)found;
    return cudaSuccess;
}

/* ---- limits, cache and scheduling preferences: stored and returned; nothing here depends on them ---- */

static size_t device_limit[] = {
    [cudaLimitStackSize] = 1024,
    [cudaLimitPrintfFifoSize] = 1 << 20,
    [cudaLimitMallocHeapSize] = 8 << 20,
    [cudaLimitDevRuntimeSyncDepth] = 0,
    [cudaLimitDevRuntimePendingLaunchCount] = 2048,
    [cudaLimitMaxL2FetchGranularity] = 64,
    [cudaLimitPersistingL2CacheSize] = 0,
};
static enum cudaFuncCache cache_config;
static enum cudaSharedMemConfig shared_config;
static unsigned device_flags;

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
    API_ENTER();
    if ((size_t)limit >= sizeof device_limit / sizeof *device_limit) { return api_fail(cudaErrorInvalidValue); }
    device_limit[limit] = value;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
    API_ENTER();
    API_GIVES(value);
    if (value == NULL || (size_t)limit >= sizeof device_limit / sizeof *device_limit) {
        return api_fail(cudaErrorInvalidValue);
    }
    *value = device_limit[limit];
    return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) {
    API_ENTER();
    cache_config = config;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config) {
    API_ENTER();
    API_GIVES(config);
    *config = cache_config;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) {
    API_ENTER();
    shared_config = config;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config) {
    API_ENTER();
    API_GIVES(config);
    *config = shared_config;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
    API_ENTER();
    device_flags = flags;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags) {
    API_ENTER();
    API_GIVES(flags);
    *flags = device_flags;
    return cudaSuccess;
}
