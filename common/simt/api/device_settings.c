/* device_settings.c — limits, cache and scheduling preferences: kept and given back; nothing here depends on them. */
#include "api.h"

static size_t limits[] = {
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
    if ((size_t)limit >= sizeof limits / sizeof *limits) { return api_fail(cudaErrorInvalidValue); }
    limits[limit] = value;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
    API_ENTER();
    if (value == NULL || (size_t)limit >= sizeof limits / sizeof *limits) { return api_fail(cudaErrorInvalidValue); }
    *value = limits[limit];
    return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) {
    API_ENTER();
    cache_config = config;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config) {
    API_ENTER();
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
    *flags = device_flags;
    return cudaSuccess;
}
