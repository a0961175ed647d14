/* symbol.c — __device__ and __constant__ variables by name: copies to and from them, their addresses and sizes. */
#include "api.h"

/* The whole variable that `symbol` is. */
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
    return copy_symbol(NULL, from, symbol, size, offset, kind, true, NULL, API_CALLER);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind) {
    API_ENTER();
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
    struct arena_allocation found;
    cudaError_t error = find_symbol(symbol, &found);
    if (error == cudaSuccess && pointer != NULL) { *pointer = (void *)(uintptr_t)symbol; }
    return error;
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
    API_ENTER();
    struct arena_allocation found;
    cudaError_t error = find_symbol(symbol, &found);
    if (error == cudaSuccess && size != NULL) { *size = found.bytes; }
    return error;
}
