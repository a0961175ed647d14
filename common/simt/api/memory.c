/* memory.c — device memory: cudaMalloc and its forms, cudaFree, the memory pool, and the kind of memory of a pointer. */
#include "api.h"
#include "checks/source.h"
#include "engine/arena.h"

static cudaError_t allocate(void **pointer, size_t size, uintptr_t pc) {
    if (pointer == NULL) { return api_fail(cudaErrorInvalidValue); }
    *pointer = NULL;
    if (size == 0) { return cudaSuccess; }
    *pointer = arena_alloc_at(size, pc);
    return *pointer != NULL ? cudaSuccess : api_fail(cudaErrorMemoryAllocation);
}

static cudaError_t release(void *pointer, const char *function, uintptr_t pc) {
    struct arena_allocation freed;
    char bytes[GROUPED];
    if (pointer == NULL || (memory_place(pointer) == PLACE_DEVICE && arena_free(pointer))) { return cudaSuccess; }
    if (memory_place(pointer) == PLACE_MANAGED && host_memory_free(pointer, PLACE_MANAGED)) { return cudaSuccess; }
    if (arena_hold(pointer)) {
        arena_let_go(pointer); /* of a graph; no replay has allocated it */
    } else if (arena_was_freed((uintptr_t)pointer, &freed)) {
        simt_report(SIMT_OUT_OF_BOUNDS, true, pc, NULL,
                    "Invalid %s\n%p is in an allocation of %s bytes that has been freed", function, pointer,
                    grouped(freed.bytes, bytes));
    }
    return api_fail(cudaErrorInvalidValue);
}

cudaError_t cudaMalloc(void **pointer, size_t size) {
    API_ENTER();
    API_GIVES(pointer);
    if (graph_capturing()) { return api_fail(cudaErrorStreamCaptureUnsupported); }
    return allocate(pointer, size, API_CALLER);
}

cudaError_t cudaFree(void *pointer) {
    API_ENTER();
    if (pointer != NULL && graph_capturing()) { return api_fail(cudaErrorStreamCaptureUnsupported); }
    simt_host_waits();
    order_host_waits_for_all();
    return release(pointer, __func__, API_CALLER);
}

cudaError_t memory_allocate_async(void **pointer, size_t size, cudaStream_t stream, uintptr_t pc) {
    API_STREAM(stream);
    struct CUgraph_st *graph = stream_capture(stream);
    if (graph != NULL && pointer != NULL && size != 0) { return graph_add_allocation(graph, pointer, size, pc); }
    cudaError_t error = allocate(pointer, size, pc);
    if (error == cudaSuccess && size != 0) { watch_allocated(*pointer, stream); }
    return error;
}

cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream) {
    API_ENTER();
    API_GIVES(pointer);
    return memory_allocate_async(pointer, size, stream, API_CALLER);
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) {
    API_ENTER();
    API_STREAM(stream);
    struct CUgraph_st *graph = stream_capture(stream);
    if (graph != NULL && pointer != NULL) { return graph_add_free(graph, pointer); }
    watch_freed(pointer, stream, __func__, API_CALLER);
    return release(pointer, __func__, API_CALLER);
}

static size_t pitch_of(size_t width) {
    enum { PITCH_ALIGNMENT = 512 };
    return (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
    API_ENTER();
    API_GIVES(pointer);
    API_GIVES(pitch);
    if (pitch == NULL) { return api_fail(cudaErrorInvalidValue); }
    *pitch = pitch_of(width);
    return allocate(pointer, *pitch * height, API_CALLER);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent) {
    API_ENTER();
    API_GIVES(memory);
    if (memory == NULL) { return api_fail(cudaErrorInvalidValue); }
    *memory = make_cudaPitchedPtr(NULL, pitch_of(extent.width), extent.width, extent.height);
    return allocate(&memory->ptr, memory->pitch * extent.height * extent.depth, API_CALLER);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
    API_ENTER();
    API_GIVES(free);
    API_GIVES(total);
    if (free == NULL || total == NULL) { return api_fail(cudaErrorInvalidValue); }
    *total = arena_total();
    *free = *total - arena_used();
    return cudaSuccess;
}

enum memory_place memory_place(const void *pointer) {
    struct arena_allocation found;
    enum memory_place place = host_memory_place(pointer);
    if (place == PLACE_HOST && (arena_is_device(pointer) || arena_find((uintptr_t)pointer, &found))) {
        return PLACE_DEVICE;
    }
    return place;
}

bool memory_range_valid(const void *pointer, size_t bytes) {
    switch (memory_place(pointer)) {
        case PLACE_HOST: return true;
        case PLACE_PINNED:
        case PLACE_MANAGED: return simt_host_and_device((uintptr_t)pointer, bytes);
        case PLACE_DEVICE: break;
    }
    return arena_range_valid(pointer, bytes);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    static const enum cudaMemoryType types[] = {
        [PLACE_HOST] = cudaMemoryTypeUnregistered,
        [PLACE_PINNED] = cudaMemoryTypeHost,
        [PLACE_MANAGED] = cudaMemoryTypeManaged,
        [PLACE_DEVICE] = cudaMemoryTypeDevice,
    };
    API_ENTER();
    if (attributes == NULL) { return api_fail(cudaErrorInvalidValue); }
    enum memory_place place = memory_place(pointer);
    *attributes = (struct cudaPointerAttributes){.type = types[place], .device = place == PLACE_HOST ? -2 : 0};
    if (place != PLACE_HOST) { attributes->devicePointer = (void *)(uintptr_t)pointer; }
    if (place == PLACE_PINNED || place == PLACE_MANAGED) { attributes->hostPointer = (void *)(uintptr_t)pointer; }
    return cudaSuccess;
}

/* ---- the memory pool ---- */

/* There is one pool. Memory comes from the arena and is returned to it at once, so the pool keeps nothing: its attributes
 * are stored, and trimming has no effect. */

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
    API_GIVES(pool);
    return give_pool(pool, device);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
    API_ENTER();
    API_GIVES(pool);
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
    API_GIVES(pointer);
    if (pool != &the_pool) { return api_fail(cudaErrorInvalidValue); }
    return memory_allocate_async(pointer, size, stream, API_CALLER);
}
