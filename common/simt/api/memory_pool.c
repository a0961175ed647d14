/* memory_pool.c — the device's one memory pool. Memory comes from the arena and goes back at once, so the pool keeps
 * nothing: its attributes are remembered, and trimming has nothing to do.
 */
#include "api.h"

struct CUmemPoolHandle_st {
    unsigned long long release_threshold;
    int reuse[3];
};

static struct CUmemPoolHandle_st the_pool = {.reuse = {1, 1, 1}};

static cudaError_t give_pool(cudaMemPool_t *pool, int device) {
    if (pool == NULL) { return api_fail(cudaErrorInvalidValue); }
    if (device != 0) { return api_fail(cudaErrorInvalidDevice); }
    *pool = &the_pool;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    API_ENTER();
    return give_pool(pool, device);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
    API_ENTER();
    return give_pool(pool, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    API_ENTER();
    if (device != 0) { return api_fail(cudaErrorInvalidDevice); }
    return pool == &the_pool ? cudaSuccess : api_fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    API_ENTER();
    if (pool != &the_pool || value == NULL) { return api_fail(cudaErrorInvalidValue); }
    switch (attribute) {
        case cudaMemPoolReuseFollowEventDependencies:
        case cudaMemPoolReuseAllowOpportunistic:
        case cudaMemPoolReuseAllowInternalDependencies:
            pool->reuse[attribute - cudaMemPoolReuseFollowEventDependencies] = *(int *)value;
            return cudaSuccess;
        case cudaMemPoolAttrReleaseThreshold:
            pool->release_threshold = *(unsigned long long *)value;
            return cudaSuccess;
        case cudaMemPoolAttrReservedMemHigh:
        case cudaMemPoolAttrUsedMemHigh:
            return *(unsigned long long *)value == 0 ? cudaSuccess : api_fail(cudaErrorInvalidValue);
        default: return api_fail(cudaErrorInvalidValue);
    }
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    API_ENTER();
    if (pool != &the_pool || value == NULL) { return api_fail(cudaErrorInvalidValue); }
    switch (attribute) {
        case cudaMemPoolReuseFollowEventDependencies:
        case cudaMemPoolReuseAllowOpportunistic:
        case cudaMemPoolReuseAllowInternalDependencies:
            *(int *)value = pool->reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
            return cudaSuccess;
        case cudaMemPoolAttrReleaseThreshold:
            *(unsigned long long *)value = pool->release_threshold;
            return cudaSuccess;
        case cudaMemPoolAttrReservedMemCurrent:
        case cudaMemPoolAttrReservedMemHigh:
        case cudaMemPoolAttrUsedMemCurrent:
        case cudaMemPoolAttrUsedMemHigh: *(unsigned long long *)value = arena_used(); return cudaSuccess;
        default: return api_fail(cudaErrorInvalidValue);
    }
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t least_kept) {
    API_ENTER();
    (void)least_kept;
    return pool == &the_pool ? cudaSuccess : api_fail(cudaErrorInvalidValue);
}

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
    API_ENTER();
    if (pool != &the_pool) { return api_fail(cudaErrorInvalidValue); }
    return memory_allocate_async(pointer, size, stream, API_CALLER);
}
