/* host_memory.c — memory that host and device can both access: pinned, managed, and registered host memory.
 *
 * Pinned and managed memory lies in the device arena, so that accesses of kernels are checked. It counts as initialised,
 * because the host may fill it in code that is not checked.
 */
#include <pthread.h>
#include <stdlib.h>

#include "api.h"

struct host_range {
    uintptr_t start;
    size_t bytes;
    enum memory_place place;
    unsigned flags;
    bool registered; /* cudaHostRegister: ordinary memory, not the arena's */
    struct host_range *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct host_range *ranges;

static struct host_range *find(const void *pointer, size_t bytes) {
    uintptr_t address = (uintptr_t)pointer;
    for (struct host_range *range = ranges; range != NULL; range = range->next) {
        if (address >= range->start && address - range->start < range->bytes) {
            return bytes <= range->start + range->bytes - address ? range : NULL;
        }
    }
    return NULL;
}

/* Removes the range that starts there from the list; NULL if there is none. */
static struct host_range *take(const void *pointer, enum memory_place place, bool registered) {
    pthread_mutex_lock(&lock);
    struct host_range **link = &ranges, *found = NULL;
    while (*link != NULL && found == NULL) {
        struct host_range *range = *link;
        if (range->start == (uintptr_t)pointer && range->place == place && range->registered == registered) {
            found = range;
            *link = range->next;
        } else {
            link = &range->next;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static bool add(const void *pointer, size_t bytes, enum memory_place place, unsigned flags, bool registered) {
    struct host_range *range = malloc(sizeof *range);
    if (range == NULL) { return false; }
    *range = (struct host_range){(uintptr_t)pointer, bytes, place, flags, registered, NULL};
    pthread_mutex_lock(&lock);
    range->next = ranges;
    ranges = range;
    pthread_mutex_unlock(&lock);
    return true;
}

enum memory_place host_memory_place(const void *pointer) {
    pthread_mutex_lock(&lock);
    struct host_range *range = find(pointer, 1);
    enum memory_place place = range == NULL ? PLACE_HOST : range->place;
    pthread_mutex_unlock(&lock);
    return place;
}

bool simt_host_and_device(uintptr_t address, size_t bytes) {
    pthread_mutex_lock(&lock);
    bool found = find((const void *)address, bytes) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

bool host_memory_free(void *pointer, enum memory_place place) {
    struct host_range *range = take(pointer, place, false);
    free(range);
    return range != NULL && arena_free(pointer);
}

static cudaError_t allocate(void **pointer, size_t size, enum memory_place place, unsigned flags, uintptr_t pc) {
    if (pointer == NULL) { return api_fail(cudaErrorInvalidValue); }
    *pointer = NULL;
    if (size == 0) { return cudaSuccess; }
    void *made = arena_alloc_at(size, pc);
    if (made == NULL || !add(made, size, place, flags, false)) { return api_fail(cudaErrorMemoryAllocation); }
    arena_mark_written(made, size);
    *pointer = made;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **pointer, size_t size) {
    API_ENTER();
    API_GIVES(pointer);
    return allocate(pointer, size, PLACE_PINNED, cudaHostAllocDefault, API_CALLER);
}

cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int flags) {
    API_ENTER();
    API_GIVES(pointer);
    if (flags > (cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) {
        return api_fail(cudaErrorInvalidValue);
    }
    return allocate(pointer, size, PLACE_PINNED, flags, API_CALLER);
}

cudaError_t cudaMallocManaged(void **pointer, size_t size, unsigned int flags) {
    API_ENTER();
    API_GIVES(pointer);
    if ((flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) || size == 0) {
        return api_fail(cudaErrorInvalidValue);
    }
    return allocate(pointer, size, PLACE_MANAGED, flags, API_CALLER);
}

cudaError_t cudaFreeHost(void *pointer) {
    API_ENTER();
    if (pointer == NULL || host_memory_free(pointer, PLACE_PINNED)) { return cudaSuccess; }
    return api_fail(cudaErrorInvalidValue);
}

cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int flags) {
    API_ENTER();
    if (pointer == NULL || size == 0 || memory_place(pointer) == PLACE_DEVICE) {
        return api_fail(cudaErrorInvalidValue);
    }
    if (host_memory_place(pointer) != PLACE_HOST) { return api_fail(cudaErrorHostMemoryAlreadyRegistered); }
    confine_check(API_CALLER, pointer, size, true);
    return add(pointer, size, PLACE_PINNED, flags, true) ? cudaSuccess : api_fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaHostUnregister(void *pointer) {
    API_ENTER();
    struct host_range *range = take(pointer, PLACE_PINNED, true);
    free(range);
    return range != NULL ? cudaSuccess : api_fail(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags) {
    API_ENTER();
    API_GIVES(device);
    if (device == NULL || flags != 0 || host_memory_place(host) == PLACE_HOST) {
        return api_fail(cudaErrorInvalidValue);
    }
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *host) {
    API_ENTER();
    API_GIVES(flags);
    pthread_mutex_lock(&lock);
    struct host_range *range = find(host, 1);
    bool pinned = range != NULL && range->place == PLACE_PINNED;
    if (pinned && flags != NULL) { *flags = range->flags | cudaHostAllocMapped; }
    pthread_mutex_unlock(&lock);
    return pinned && flags != NULL ? cudaSuccess : api_fail(cudaErrorInvalidValue);
}

/* Advice and prefetches have no effect; their arguments are checked. */
static cudaError_t check_managed(const void *pointer, size_t size, struct cudaMemLocation where) {
    bool known = where.type == cudaMemLocationTypeHost || (where.type == cudaMemLocationTypeDevice && where.id == 0) ||
                 where.type == cudaMemLocationTypeHostNuma || where.type == cudaMemLocationTypeHostNumaCurrent;
    if (!known && where.type == cudaMemLocationTypeDevice) { return api_fail(cudaErrorInvalidDevice); }
    bool managed = host_memory_place(pointer) == PLACE_MANAGED && simt_host_and_device((uintptr_t)pointer, size);
    return managed && size > 0 ? cudaSuccess : api_fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemAdvise(const void *pointer, size_t size, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation where) {
    API_ENTER();
    (void)advice;
    return check_managed(pointer, size, where);
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, struct cudaMemLocation where, unsigned int flags,
                                 cudaStream_t stream) {
    API_ENTER();
    (void)flags;
    API_STREAM(stream);
    return check_managed(pointer, size, where);
}
