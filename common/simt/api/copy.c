/* copy.c — cudaMemcpy and cudaMemset with their 2D, async and symbol forms. Rows of `width` bytes, `pitch` bytes apart. */
#include <string.h>

#include "api.h"
#include "checks/counters.h"

static bool on_device(enum memory_place place) {
    return place != PLACE_HOST;
}

static bool on_host(enum memory_place place) {
    return place != PLACE_DEVICE;
}

/* Of a finding about a pointer that is not where it should be. */
static enum simt_finding_kind kind_of(const void *pointer, bool should_be_device) {
    if (!pointer) { return SIMT_INVALID_POINTER; }
    return should_be_device ? SIMT_HOST_POINTER : SIMT_DEVICE_POINTER;
}

/* Does `kind` match the two pointers? Reports the one that does not. */
static bool kind_fits(enum cudaMemcpyKind kind, const void *to, const void *from, const char *function, uintptr_t pc) {
    if (kind == cudaMemcpyDefault) { return true; }
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const struct {
        const char *name;
        const void *pointer;
        bool device;
    } ends[] = {{"destination", to, to_device}, {"source", from, from_device}};
    for (int i = 0; i < 2; i++) {
        enum memory_place place = memory_place(ends[i].pointer);
        if (ends[i].device ? !on_device(place) : !on_host(place)) {
            simt_report(kind_of(ends[i].pointer, ends[i].device), true, pc, NULL,
                        "%s: the kind says that the %s is on the %s, but %p is %s", function, ends[i].name,
                        ends[i].device ? "device" : "host", ends[i].pointer,
                        !ends[i].pointer ? "a null pointer"
                        : ends[i].device ? "host memory"
                                         : "device memory");
            return false;
        }
    }
    return true;
}

static bool range_fits(const void *pointer, size_t pitch, size_t width, size_t height, const char *what,
                       const char *function, uintptr_t pc) {
    size_t bytes = pitch * (height - 1) + width;
    if (memory_place(pointer) == PLACE_HOST) { confine_check(pc, pointer, bytes, *what == 'd'); }
    if (memory_range_valid(pointer, bytes)) { return true; }
    simt_report(SIMT_OUT_OF_BOUNDS, true, pc, NULL, "%s: the %s %p does not hold %zu bytes", function, what, pointer,
                bytes);
    return false;
}

cudaError_t copy_now(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                     enum cudaMemcpyKind kind, const char *function, uintptr_t pc) {
    if ((unsigned)kind > cudaMemcpyDefault) { return api_fail(cudaErrorInvalidMemcpyDirection); }
    if (width == 0 || height == 0) { return cudaSuccess; }
    if (height > 1 && (to_pitch < width || from_pitch < width)) { return api_fail(cudaErrorInvalidPitchValue); }
    if (to == NULL || from == NULL || !kind_fits(kind, to, from, function, pc) ||
        !range_fits(to, to_pitch, width, height, "destination", function, pc) ||
        !range_fits(from, from_pitch, width, height, "source", function, pc)) {
        return api_fail(cudaErrorInvalidValue);
    }
    if (memory_place(to) == PLACE_HOST) { simt_host_waits(); } /* the asynchronous forms do, too */
    bool to_device = memory_place(to) == PLACE_DEVICE, from_device = memory_place(from) == PLACE_DEVICE;
    counters_copy(from_device, to_device, width * height);
    for (size_t row = 0; row < height; row++) {
        char *row_to = (char *)to + row * to_pitch;
        const char *row_from = (const char *)from + row * from_pitch;
        memmove(row_to, row_from, width);
        if (to_device && from_device) {
            arena_copy_written(row_to, row_from, width);
        } else if (to_device) {
            arena_mark_written(row_to, width);
        }
    }
    return cudaSuccess;
}

cudaError_t set_now(void *to, size_t pitch, int value, size_t width, size_t height, const char *function,
                    uintptr_t pc) {
    if (width == 0 || height == 0) { return cudaSuccess; }
    if (height > 1 && pitch < width) { return api_fail(cudaErrorInvalidPitchValue); }
    if (to != NULL && !on_device(memory_place(to))) {
        simt_report(SIMT_HOST_POINTER, true, pc, NULL, "%s: %p is host memory", function, to);
        return api_fail(cudaErrorInvalidValue);
    }
    if (to == NULL || !range_fits(to, pitch, width, height, "destination", function, pc)) {
        return api_fail(cudaErrorInvalidValue);
    }
    counters_set(width * height);
    for (size_t row = 0; row < height; row++) {
        memset((char *)to + row * pitch, value, width);
        if (memory_place(to) == PLACE_DEVICE) { arena_mark_written((char *)to + row * pitch, width); }
    }
    return cudaSuccess;
}

static cudaError_t copy_on(cudaStream_t stream, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, enum cudaMemcpyKind kind, const char *function, uintptr_t pc) {
    API_STREAM(stream);
    struct CUgraph_st *graph = stream_capture(stream);
    if (graph != NULL) { return graph_add_copy(graph, to, to_pitch, from, from_pitch, width, height, kind); }
    watch_copy(stream, function, pc);
    return copy_now(to, to_pitch, from, from_pitch, width, height, kind, function, pc);
}

static cudaError_t set_on(cudaStream_t stream, void *to, size_t pitch, int value, size_t width, size_t height,
                          const char *function, uintptr_t pc) {
    API_STREAM(stream);
    struct CUgraph_st *graph = stream_capture(stream);
    if (graph != NULL) { return graph_add_set(graph, to, pitch, value, width, height); }
    watch_copy(stream, function, pc);
    return set_now(to, pitch, value, width, height, function, pc);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
    API_ENTER();
    if (graph_capturing()) { return api_fail(cudaErrorStreamCaptureImplicit); }
    watch_synchronous(true, __func__, API_CALLER);
    return copy_now(to, size, from, size, size, 1, kind, __func__, API_CALLER);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream) {
    API_ENTER();
    return copy_on(stream, to, size, from, size, size, 1, kind, __func__, API_CALLER);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind) {
    API_ENTER();
    watch_synchronous(true, __func__, API_CALLER);
    return copy_now(to, to_pitch, from, from_pitch, width, height, kind, __func__, API_CALLER);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    API_ENTER();
    return copy_on(stream, to, to_pitch, from, from_pitch, width, height, kind, __func__, API_CALLER);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size) {
    API_ENTER();
    if (to_device != 0 || from_device != 0) { return api_fail(cudaErrorInvalidDevice); }
    watch_synchronous(true, __func__, API_CALLER);
    return copy_now(to, size, from, size, size, 1, cudaMemcpyDeviceToDevice, __func__, API_CALLER);
}

cudaError_t cudaMemset(void *pointer, int value, size_t size) {
    API_ENTER();
    watch_synchronous(memory_place(pointer) != PLACE_DEVICE, __func__, API_CALLER);
    return set_now(pointer, size, value, size, 1, __func__, API_CALLER);
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t size, cudaStream_t stream) {
    API_ENTER();
    return set_on(stream, pointer, size, value, size, 1, __func__, API_CALLER);
}

cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height) {
    API_ENTER();
    watch_synchronous(memory_place(pointer) != PLACE_DEVICE, __func__, API_CALLER);
    return set_now(pointer, pitch, value, width, height, __func__, API_CALLER);
}

cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    API_ENTER();
    return set_on(stream, pointer, pitch, value, width, height, __func__, API_CALLER);
}

/* ---- memory of three dimensions: plane after plane ---- */

static char *plane(struct cudaPitchedPtr memory, struct cudaPos position, size_t z) {
    return (char *)memory.ptr + ((position.z + z) * memory.ysize + position.y) * memory.pitch + position.x;
}

static cudaError_t copy_planes(const struct cudaMemcpy3DParms *params, cudaStream_t stream, const char *function,
                               uintptr_t pc) {
    if (params == NULL || params->srcPtr.ptr == NULL || params->dstPtr.ptr == NULL) {
        return api_fail(cudaErrorInvalidValue);
    }
    if (params->srcArray != NULL || params->dstArray != NULL) { return api_fail(cudaErrorNotSupported); }
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; z < params->extent.depth && error == cudaSuccess; z++) {
        error = copy_on(stream, plane(params->dstPtr, params->dstPos, z), params->dstPtr.pitch,
                        plane(params->srcPtr, params->srcPos, z), params->srcPtr.pitch, params->extent.width,
                        params->extent.height, params->kind, function, pc);
    }
    return error;
}

static cudaError_t set_planes(struct cudaPitchedPtr memory, int value, struct cudaExtent extent, cudaStream_t stream,
                              const char *function, uintptr_t pc) {
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++) {
        error = set_on(stream, plane(memory, make_cudaPos(0, 0, 0), z), memory.pitch, value, extent.width,
                       extent.height, function, pc);
    }
    return error;
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *params) {
    API_ENTER();
    if (graph_capturing()) { return api_fail(cudaErrorStreamCaptureImplicit); }
    return copy_planes(params, NULL, __func__, API_CALLER);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *params, cudaStream_t stream) {
    API_ENTER();
    return copy_planes(params, stream, __func__, API_CALLER);
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr memory, int value, struct cudaExtent extent) {
    API_ENTER();
    return set_planes(memory, value, extent, NULL, __func__, API_CALLER);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr memory, int value, struct cudaExtent extent, cudaStream_t stream) {
    API_ENTER();
    return set_planes(memory, value, extent, stream, __func__, API_CALLER);
}

/* ---- symbols: __device__ and __constant__ variables by name ---- */

/* The variable of `symbol`. */
static cudaError_t find_symbol(const void *symbol, struct arena_allocation *found) {
    if (symbol == NULL || !arena_find((uintptr_t)symbol, found) || found->name == NULL) {
        return api_fail(cudaErrorInvalidSymbol);
    }
    return cudaSuccess;
}

static cudaError_t copy_symbol(void *to, const void *from, const void *symbol, size_t size, size_t offset,
                               enum cudaMemcpyKind kind, bool into, cudaStream_t stream, uintptr_t pc) {
    struct arena_allocation found;
    cudaError_t error = find_symbol(symbol, &found);
    if (error != cudaSuccess) { return error; }
    API_STREAM(stream);
    enum cudaMemcpyKind wrong = into ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    if ((unsigned)kind > cudaMemcpyDefault || kind == wrong || kind == cudaMemcpyHostToHost) {
        return api_fail(cudaErrorInvalidMemcpyDirection);
    }
    size_t end = found.bytes - ((uintptr_t)symbol - found.start);
    if (offset > end || size > end - offset) {
        simt_report(SIMT_OUT_OF_BOUNDS, true, pc, NULL,
                    "cudaMemcpy%sSymbol: %zu bytes at offset %zu, but %s has %zu bytes", into ? "To" : "From", size,
                    offset, found.name, end);
        return api_fail(cudaErrorInvalidValue);
    }
    char *place = (char *)(uintptr_t)symbol + offset;
    struct CUgraph_st *graph = stream_capture(stream);
    if (graph != NULL) {
        return into ? graph_add_copy(graph, place, size, from, size, size, 1, kind)
                    : graph_add_copy(graph, to, size, place, size, size, 1, kind);
    }
    return into ? copy_now(place, size, from, size, size, 1, kind, "cudaMemcpyToSymbol", pc)
                : copy_now(to, size, place, size, size, 1, kind, "cudaMemcpyFromSymbol", pc);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
                               enum cudaMemcpyKind kind) {
    API_ENTER();
    watch_synchronous(true, __func__, API_CALLER);
    return copy_symbol(NULL, from, symbol, size, offset, kind, true, NULL, API_CALLER);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind) {
    API_ENTER();
    watch_synchronous(true, __func__, API_CALLER);
    return copy_symbol(to, NULL, symbol, size, offset, kind, false, NULL, API_CALLER);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
    API_ENTER();
    watch_copy(stream, __func__, API_CALLER);
    return copy_symbol(NULL, from, symbol, size, offset, kind, true, stream, API_CALLER);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream) {
    API_ENTER();
    watch_copy(stream, __func__, API_CALLER);
    return copy_symbol(to, NULL, symbol, size, offset, kind, false, stream, API_CALLER);
}

cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol) {
    API_ENTER();
    API_GIVES(pointer);
    struct arena_allocation found;
    cudaError_t error = find_symbol(symbol, &found);
    if (error == cudaSuccess && pointer != NULL) { *pointer = (void *)(uintptr_t)symbol; }
    return error;
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
    API_ENTER();
    API_GIVES(size);
    struct arena_allocation found;
    cudaError_t error = find_symbol(symbol, &found);
    if (error == cudaSuccess && size != NULL) { *size = found.bytes; }
    return error;
}
