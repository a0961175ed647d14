/* stream.c — streams. Work is executed when it is issued, so streams have no queue. A stream can record (graph.c). */
#include <pthread.h>
#include <stdlib.h>

#include "api.h"

enum { PRIORITY_LEAST = 0, PRIORITY_GREATEST = -5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUstream_st *streams; /* all live streams */

bool stream_is_default(cudaStream_t stream) {
    return stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

bool stream_valid(cudaStream_t stream) {
    if (stream_is_default(stream)) { return true; }
    pthread_mutex_lock(&lock);
    struct CUstream_st *known = streams;
    while (known != NULL && known != stream) { known = known->next; }
    pthread_mutex_unlock(&lock);
    return known != NULL;
}

struct CUgraph_st *stream_capture(cudaStream_t stream) {
    return stream_is_default(stream) ? NULL : stream->capture;
}

void streams_end_capture(const struct CUgraph_st *graph) {
    pthread_mutex_lock(&lock);
    for (struct CUstream_st *stream = streams; stream != NULL; stream = stream->next) {
        if (stream->capture == graph) {
            stream->capture = NULL;
            stream->capture_origin = false;
        }
    }
    pthread_mutex_unlock(&lock);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority) {
    API_ENTER();
    API_GIVES(stream);
    if (stream == NULL || flags > cudaStreamNonBlocking) { return api_fail(cudaErrorInvalidValue); }
    struct CUstream_st *made = calloc(1, sizeof *made);
    if (made == NULL) { return api_fail(cudaErrorMemoryAllocation); }
    made->flags = flags;
    made->number = order_take_number(flags != cudaStreamNonBlocking);
    made->priority = priority < PRIORITY_GREATEST ? PRIORITY_GREATEST
                     : priority > PRIORITY_LEAST  ? PRIORITY_LEAST
                                                  : priority;
    pthread_mutex_lock(&lock);
    made->next = streams;
    streams = made;
    pthread_mutex_unlock(&lock);
    *stream = made;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    API_ENTER();
    if (stream_is_default(stream) || !stream_valid(stream)) { return api_fail(cudaErrorInvalidResourceHandle); }
    pthread_mutex_lock(&lock);
    struct CUstream_st **link = &streams;
    while (*link != stream) { link = &(*link)->next; }
    *link = stream->next;
    pthread_mutex_unlock(&lock);
    order_give_number(stream->number);
    free(stream);
    return cudaSuccess;
}

/* All work has been executed. Waiting for a stream that records is an error. */
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    API_ENTER();
    API_STREAM(stream);
    if (stream_capture(stream) != NULL) { return api_fail(cudaErrorStreamCaptureUnsupported); }
    watch_host_waits(stream, __func__, API_CALLER);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    API_ENTER();
    API_STREAM(stream);
    if (stream_capture(stream) != NULL) { return api_fail(cudaErrorStreamCaptureUnsupported); }
    struct order done = order_after(order_number(stream));
    simt_host_waits();
    order_host_waits(&done);
    return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags) {
    API_ENTER();
    API_GIVES(flags);
    API_STREAM(stream);
    if (flags == NULL) { return api_fail(cudaErrorInvalidValue); }
    *flags = stream_is_default(stream) ? cudaStreamDefault : stream->flags;
    return cudaSuccess;
}

/* Attributes affect only speed. */
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID id,
                                   const cudaLaunchAttributeValue *value) {
    API_ENTER();
    API_STREAM(stream);
    (void)id;
    return value != NULL ? cudaSuccess : api_fail(cudaErrorInvalidValue);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
    API_ENTER();
    API_GIVES(priority);
    API_STREAM(stream);
    if (priority == NULL) { return api_fail(cudaErrorInvalidValue); }
    *priority = stream_is_default(stream) ? 0 : stream->priority;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    API_ENTER();
    API_GIVES(least);
    API_GIVES(greatest);
    if (least != NULL) { *least = PRIORITY_LEAST; }
    if (greatest != NULL) { *greatest = PRIORITY_GREATEST; }
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    API_ENTER();
    if (!confine_may_call((const void *)(uintptr_t)function)) { return api_fail(cudaErrorInvalidValue); }
    API_STREAM(stream);
    if (function == NULL) { return api_fail(cudaErrorInvalidValue); }
    struct CUgraph_st *graph = stream_capture(stream);
    if (graph != NULL) { return graph_add_host(graph, function, data); }
    simt_host_waits();
    function(data);
    return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags) {
    API_ENTER();
    if (!confine_may_call((const void *)(uintptr_t)callback)) { return api_fail(cudaErrorInvalidValue); }
    API_STREAM(stream);
    if (callback == NULL || flags != 0) { return api_fail(cudaErrorInvalidValue); }
    if (stream_capture(stream) != NULL) { return api_fail(cudaErrorStreamCaptureUnsupported); }
    simt_host_waits();
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t size, unsigned int flags) {
    API_ENTER();
    API_STREAM(stream);
    (void)size, (void)flags;
    return memory_place(pointer) == PLACE_MANAGED ? cudaSuccess : api_fail(cudaErrorInvalidValue);
}
