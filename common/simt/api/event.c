/* event.c — events: a time of this machine's clock, or a place in a graph that is being recorded. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "api.h"

struct CUevent_st {
    unsigned flags;
    bool recorded;
    struct timespec when;
    struct order order;         /* what comes before it */
    struct CUgraph_st *capture; /* recorded in a stream that captures */
    struct CUevent_st *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUevent_st *events; /* all live events */

static bool event_valid(cudaEvent_t event) {
    pthread_mutex_lock(&lock);
    struct CUevent_st *known = events;
    while (known != NULL && known != event) { known = known->next; }
    pthread_mutex_unlock(&lock);
    return known != NULL;
}

#define API_EVENT(event)                                                              \
    do {                                                                              \
        if (!event_valid(event)) { return api_fail(cudaErrorInvalidResourceHandle); } \
    } while (0)

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    API_ENTER();
    API_GIVES(event);
    if (event == NULL || flags > (cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)) {
        return api_fail(cudaErrorInvalidValue);
    }
    struct CUevent_st *made = calloc(1, sizeof *made);
    if (made == NULL) { return api_fail(cudaErrorMemoryAllocation); }
    made->flags = flags;
    pthread_mutex_lock(&lock);
    made->next = events;
    events = made;
    pthread_mutex_unlock(&lock);
    *event = made;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    API_ENTER();
    API_EVENT(event);
    pthread_mutex_lock(&lock);
    struct CUevent_st **link = &events;
    while (*link != event) { link = &(*link)->next; }
    *link = event->next;
    pthread_mutex_unlock(&lock);
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
    API_ENTER();
    API_EVENT(event);
    API_STREAM(stream);
    if (flags > 1) { return api_fail(cudaErrorInvalidValue); }
    event->capture = stream_capture(stream);
    event->recorded = true;
    clock_gettime(CLOCK_MONOTONIC, &event->when);
    if (event->capture == NULL) { event->order = order_after(order_number(stream)); }
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, 0);
}

/* A stream that waits for an event of a captured stream is captured into the same graph. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    API_ENTER();
    API_STREAM(stream);
    API_EVENT(event);
    if (flags > 1) { return api_fail(cudaErrorInvalidValue); }
    if (event->capture != NULL && stream_capture(stream) == NULL) {
        if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
            return api_fail(cudaErrorStreamCaptureImplicit);
        }
        stream->capture = event->capture;
    } else if (event->capture != NULL && stream_capture(stream) != event->capture) {
        return api_fail(cudaErrorStreamCaptureMerge);
    }
    if (event->capture == NULL && event->recorded) { order_wait(order_number(stream), &event->order); }
    return cudaSuccess;
}

void events_end_capture(const struct CUgraph_st *graph) {
    pthread_mutex_lock(&lock);
    for (struct CUevent_st *event = events; event != NULL; event = event->next) {
        if (event->capture == graph) {
            event->capture = NULL;
            event->recorded = false;
        }
    }
    pthread_mutex_unlock(&lock);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    API_ENTER();
    API_EVENT(event);
    if (event->capture != NULL) { return api_fail(cudaErrorCapturedEvent); }
    simt_host_waits();
    order_host_waits(&event->order);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    API_ENTER();
    API_EVENT(event);
    if (event->capture != NULL) { return api_fail(cudaErrorCapturedEvent); }
    if (event->recorded) { watch_waits(&event->order, __func__, API_CALLER); }
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    API_ENTER();
    API_GIVES(milliseconds);
    if (milliseconds == NULL) { return api_fail(cudaErrorInvalidValue); }
    API_EVENT(start);
    API_EVENT(end);
    if (!start->recorded || !end->recorded || start->capture != NULL || end->capture != NULL ||
        ((start->flags | end->flags) & cudaEventDisableTiming)) {
        return api_fail(cudaErrorInvalidResourceHandle);
    }
    simt_host_waits();
    double seconds = (double)(end->when.tv_sec - start->when.tv_sec);
    double nanoseconds = (double)(end->when.tv_nsec - start->when.tv_nsec);
    *milliseconds = (float)(seconds * 1e3 + nanoseconds / 1e6);
    return cudaSuccess;
}
