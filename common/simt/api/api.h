/* api.h — functions that the files of the runtime API share: entry and failure of calls, capturing streams, launches. */
#ifndef SIMT_API_INTERNAL_H
#define SIMT_API_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "../include/cuda_runtime_api.h"
#include "engine/internal.h"

/* Returns from the API function after an earlier fault of a kernel, or if a kernel calls it. */
#define API_ENTER()                                       \
    do {                                                  \
        cudaError_t entered_ = api_enter(__func__);       \
        if (entered_ != cudaSuccess) { return entered_; } \
    } while (0)

/* device_side.c, device.c: the rate of clock64(). */
enum { CLOCK_MEGAHERTZ = 1000 };

/* The place of the call in the learner's code. Only in the API function itself. */
#define API_CALLER ((uintptr_t)__builtin_return_address(0))

/* The function writes through a pointer that its caller gave it. */
#define API_GIVES(pointer)                                                                        \
    do {                                                                                          \
        if ((pointer) != NULL) { confine_check(API_CALLER, (pointer), sizeof *(pointer), true); } \
    } while (0)

/* free and delete in a kernel. */
void device_free(void *pointer, uintptr_t pc);

cudaError_t api_enter(const char *function);
cudaError_t api_fail(cudaError_t error);            /* stores it for cudaGetLastError, returns it */
void api_clear_errors(void);                        /* cudaDeviceReset */
cudaError_t api_swap_last_error(cudaError_t error); /* returns the previous one */

/* memory.c, host_memory.c: the kind of memory of a range. */
enum memory_place {
    PLACE_HOST,    /* ordinary memory: the device cannot reach it */
    PLACE_PINNED,  /* cudaMallocHost, cudaHostRegister */
    PLACE_MANAGED, /* cudaMallocManaged */
    PLACE_DEVICE,  /* cudaMalloc, __device__, __constant__ */
};
enum memory_place memory_place(const void *pointer);
bool memory_range_valid(const void *pointer, size_t bytes); /* host memory is not checked */
enum memory_place host_memory_place(const void *pointer);   /* PLACE_DEVICE is never the answer */
bool host_memory_free(void *pointer, enum memory_place place);
/* cudaMallocAsync, called at `pc`. */
cudaError_t memory_allocate_async(void **pointer, size_t size, cudaStream_t stream, uintptr_t pc);

/* stream.c: a stream that was created, or one of the three default ones. */
struct CUstream_st {
    unsigned flags;
    int priority;
    struct CUgraph_st *capture; /* the graph that is being recorded, or NULL */
    bool capture_origin;        /* cudaStreamBeginCapture was called on it */
    int number;                 /* in stream_order.c */
    struct CUstream_st *next;
};
bool stream_valid(cudaStream_t stream);
bool stream_is_default(cudaStream_t stream);
struct CUgraph_st *stream_capture(cudaStream_t stream); /* NULL: not capturing */
void streams_end_capture(const struct CUgraph_st *graph);
void events_end_capture(const struct CUgraph_st *graph); /* event.c */

/* Fails the API function if the stream is not valid. */
#define API_STREAM(stream)                                                              \
    do {                                                                                \
        if (!stream_valid(stream)) { return api_fail(cudaErrorInvalidResourceHandle); } \
    } while (0)

/* stream_order.c: which work comes before which. Streams have numbers; work of one stream is numbered from 1. */
enum { ORDER_STREAMS = 64, ORDER_UNKNOWN = -1 /* too many streams */ };
struct order {
    uint32_t seen[ORDER_STREAMS]; /* of each stream: the latest work that comes before */
    bool unknown;                 /* a stream without a number comes before */
};
int order_number(cudaStream_t stream);
int order_take_number(bool is_blocking);
void order_give_number(int number);
uint32_t order_work(int stream); /* more work for the stream; returns its number */
struct order order_after(int stream);
void order_wait(int stream, const struct order *event);
void order_host_waits(const struct order *order);
void order_host_waits_for_all(void);
bool order_includes(const struct order *order, int stream, uint32_t work);

/* host_watch.c: events in watched host code. */
/* The host has waited for what comes before; for a stream; for all. */
void watch_waits(const struct order *order, const char *function, uintptr_t pc);
void watch_host_waits(cudaStream_t stream, const char *function, uintptr_t pc);
void watch_host_waits_for_all(const char *function, uintptr_t pc);
bool watch_device_reset(const char *function, uintptr_t pc); /* true: the host code is watched, and this is reported */
void watch_launch(cudaStream_t stream, const char *what);    /* before it runs */
void watch_launched(cudaStream_t stream);                    /* after it has run */
/* A copy or a memset; of the forms without a stream, most wait. */
void watch_synchronous(bool waits, const char *function, uintptr_t pc);
void watch_copy(cudaStream_t stream, const char *function, uintptr_t pc);
void watch_allocated(const void *memory, cudaStream_t stream);
void watch_freed(const void *memory, cudaStream_t stream, const char *function, uintptr_t pc);
bool watch_refuses_launches(void);

/* graph.c: recording instead of executing. */
struct launch_configuration {
    struct dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    bool cooperative;
    uintptr_t pc; /* of the launch, for messages; or 0 */
};
struct simt_kernel;
cudaError_t graph_add_kernel(struct CUgraph_st *graph, const struct launch_configuration *configuration,
                             struct simt_kernel *kernel, const void *closure);
cudaError_t graph_add_copy(struct CUgraph_st *graph, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t graph_add_set(struct CUgraph_st *graph, void *to, size_t pitch, int value, size_t width, size_t height);
cudaError_t graph_add_host(struct CUgraph_st *graph, cudaHostFn_t function, void *data);
/* With a copy of the data, which lives as long as the graph. */
cudaError_t graph_add_host_copy(struct CUgraph_st *graph, cudaHostFn_t function, const void *data, size_t bytes);
cudaError_t graph_add_allocation(struct CUgraph_st *graph, void **pointer, size_t size, uintptr_t pc);
/* cudaErrorInvalidValue: no graph has allocated the memory, or this graph frees it already. */
cudaError_t graph_add_free(struct CUgraph_st *graph, void *memory);
/* Does any stream capture? Then calls that would wait are forbidden. */
bool graph_capturing(void);

/* copy.c: immediate execution. */
cudaError_t copy_now(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                     enum cudaMemcpyKind kind, const char *function, uintptr_t pc);
cudaError_t set_now(void *to, size_t pitch, int value, size_t width, size_t height, const char *function, uintptr_t pc);

/* launch.c */
cudaError_t launch_now(const struct launch_configuration *configuration, struct simt_kernel *kernel,
                       const void *closure);
struct simt_kernel *kernel_of_function(const void *function); /* NULL: not a kernel that this program has */

/* function.c: how many blocks of that kernel one multiprocessor holds. */
int resident_blocks(const struct simt_kernel *kernel, int block_size, size_t dynamic_shared);

/* device_output.c: writes the output of the kernels to stdout. */
void device_output_flush(void);

/* device.c: the limits of the compute capability of the settings. */
struct device_limits {
    int major, minor;
    int multiprocessors, threads_per_multiprocessor, blocks_per_multiprocessor;
    int shared_per_multiprocessor, shared_optin, shared_reserved;
};
struct device_limits device_limits(void);

#endif
