/* graph.c — CUDA graphs by stream capture: the work of the captured streams in the order in which it was issued,
 * which is one order that the graph allows; graph_launch.c replays it.
 *
 * Memory in stream order becomes two nodes. The address is reserved at capture, for as long as a graph or an executable
 * has a node with it or it is allocated; memory is there from the allocation node to the free node of each replay,
 * unwritten at first. Only what a graph allocates can be freed in one, by that graph or by another.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

static _Atomic int captures;

bool graph_capturing(void) {
    return atomic_load(&captures) != 0;
}

static struct CUgraphNode_st *add_node(struct CUgraph_st *graph, enum node_kind kind) {
    struct CUgraphNode_st *node = calloc(1, sizeof *node);
    if (node == NULL) {
        graph->failed = true;
        return NULL;
    }
    node->kind = kind;
    *graph->end = node;
    graph->end = &node->next;
    graph->count++;
    return node;
}

cudaError_t graph_add_kernel(struct CUgraph_st *graph, const struct launch_configuration *configuration,
                             struct simt_kernel *kernel, const void *closure) {
    enum { CLOSURE_ALIGNMENT = 64 };
    size_t size = (kernel->closure_size + CLOSURE_ALIGNMENT - 1) / CLOSURE_ALIGNMENT * CLOSURE_ALIGNMENT;
    void *copy = aligned_alloc(CLOSURE_ALIGNMENT, size);
    struct CUgraphNode_st *node = copy == NULL ? NULL : add_node(graph, NODE_KERNEL);
    if (node == NULL) {
        free(copy);
        graph->failed = true;
        return api_fail(cudaErrorMemoryAllocation);
    }
    kernel->copy_closure(copy, closure);
    node->launch.configuration = *configuration;
    node->launch.configuration.stream = NULL;
    node->launch.kernel = kernel;
    node->launch.closure = copy;
    return cudaSuccess;
}

cudaError_t graph_add_copy(struct CUgraph_st *graph, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, enum cudaMemcpyKind kind) {
    struct CUgraphNode_st *node = add_node(graph, NODE_COPY);
    if (node == NULL) { return api_fail(cudaErrorMemoryAllocation); }
    node->copy.to = to;
    node->copy.from = from;
    node->copy.to_pitch = to_pitch;
    node->copy.from_pitch = from_pitch;
    node->copy.width = width;
    node->copy.height = height;
    node->copy.kind = kind;
    return cudaSuccess;
}

cudaError_t graph_add_set(struct CUgraph_st *graph, void *to, size_t pitch, int value, size_t width, size_t height) {
    struct CUgraphNode_st *node = add_node(graph, NODE_SET);
    if (node == NULL) { return api_fail(cudaErrorMemoryAllocation); }
    node->copy.to = to;
    node->copy.to_pitch = pitch;
    node->copy.width = width;
    node->copy.height = height;
    node->copy.value = value;
    return cudaSuccess;
}

cudaError_t graph_add_host(struct CUgraph_st *graph, cudaHostFn_t function, void *data) {
    struct CUgraphNode_st *node = add_node(graph, NODE_HOST);
    if (node == NULL) { return api_fail(cudaErrorMemoryAllocation); }
    node->host.function = function;
    node->host.data = data;
    return cudaSuccess;
}

cudaError_t graph_add_host_copy(struct CUgraph_st *graph, cudaHostFn_t function, const void *data, size_t bytes) {
    void *copy = malloc(bytes);
    struct CUgraphNode_st *node = copy == NULL ? NULL : add_node(graph, NODE_HOST);
    if (node == NULL) {
        free(copy);
        graph->failed = true;
        return api_fail(cudaErrorMemoryAllocation);
    }
    memcpy(copy, data, bytes);
    node->host.function = function;
    node->host.data = copy;
    node->host.owned = bytes;
    return cudaSuccess;
}

cudaError_t graph_add_allocation(struct CUgraph_st *graph, void **pointer, size_t size, uintptr_t pc) {
    void *memory = arena_reserve(size, pc);
    struct CUgraphNode_st *node = memory == NULL ? NULL : add_node(graph, NODE_ALLOCATE);
    *pointer = NULL;
    if (node == NULL) {
        arena_let_go(memory);
        return api_fail(cudaErrorMemoryAllocation);
    }
    *pointer = node->memory = memory;
    return cudaSuccess;
}

static bool frees(const struct CUgraph_st *graph, const void *memory) {
    const struct CUgraphNode_st *node = graph->first;
    while (node != NULL && !(node->kind == NODE_FREE && node->memory == memory)) { node = node->next; }
    return node != NULL;
}

cudaError_t graph_add_free(struct CUgraph_st *graph, void *memory) {
    if (frees(graph, memory) || !arena_hold(memory)) { return api_fail(cudaErrorInvalidValue); }
    struct CUgraphNode_st *node = add_node(graph, NODE_FREE);
    if (node == NULL) {
        arena_let_go(memory);
        return api_fail(cudaErrorMemoryAllocation);
    }
    node->memory = memory;
    return cudaSuccess;
}

void graph_copy_node(struct CUgraph_st *graph, const struct CUgraphNode_st *node) {
    if (node->kind == NODE_KERNEL) {
        graph_add_kernel(graph, &node->launch.configuration, node->launch.kernel, node->launch.closure);
        return;
    }
    if (node->kind == NODE_HOST && node->host.owned != 0) {
        graph_add_host_copy(graph, node->host.function, node->host.data, node->host.owned);
        return;
    }
    struct CUgraphNode_st *copy = add_node(graph, node->kind);
    if (copy == NULL) { return; }
    *copy = *node;
    copy->next = NULL;
    if (node->kind == NODE_ALLOCATE || node->kind == NODE_FREE) { arena_hold(node->memory); }
}

struct CUgraph_st *graph_create(void) {
    struct CUgraph_st *graph = calloc(1, sizeof *graph);
    if (graph != NULL) { graph->end = &graph->first; }
    return graph;
}

void graph_destroy(struct CUgraph_st *graph) {
    struct CUgraphNode_st *node = graph->first;
    while (node != NULL) {
        struct CUgraphNode_st *next = node->next;
        if (node->kind == NODE_KERNEL) {
            node->launch.kernel->destroy_closure(node->launch.closure);
            free(node->launch.closure);
        }
        if (node->kind == NODE_HOST && node->host.owned != 0) { free(node->host.data); }
        if (node->kind == NODE_ALLOCATE || node->kind == NODE_FREE) { arena_let_go(node->memory); }
        free(node);
        node = next;
    }
    free(graph);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    API_ENTER();
    API_STREAM(stream);
    if ((unsigned)mode > cudaStreamCaptureModeRelaxed) { return api_fail(cudaErrorInvalidValue); }
    if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
        return api_fail(cudaErrorStreamCaptureUnsupported);
    }
    if (stream->capture != NULL) { return api_fail(cudaErrorIllegalState); }
    struct CUgraph_st *graph = graph_create();
    if (graph == NULL) { return api_fail(cudaErrorMemoryAllocation); }
    stream->capture = graph;
    stream->capture_origin = true;
    atomic_fetch_add(&captures, 1);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    API_ENTER();
    API_STREAM(stream);
    struct CUgraph_st *captured = stream_capture(stream);
    if (captured == NULL) { return api_fail(cudaErrorIllegalState); }
    if (!stream->capture_origin) { return api_fail(cudaErrorStreamCaptureUnmatched); }
    if (graph == NULL) { return api_fail(cudaErrorInvalidValue); }
    streams_end_capture(captured);
    events_end_capture(captured);
    atomic_fetch_sub(&captures, 1);
    *graph = NULL;
    if (captured->failed) {
        graph_destroy(captured);
        return api_fail(cudaErrorStreamCaptureInvalidated);
    }
    *graph = captured;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    API_ENTER();
    API_STREAM(stream);
    if (status == NULL) { return api_fail(cudaErrorInvalidValue); }
    *status = stream_capture(stream) != NULL ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    API_ENTER();
    if (graph == NULL || count == NULL) { return api_fail(cudaErrorInvalidValue); }
    size_t i = 0;
    for (struct CUgraphNode_st *node = graph->first; nodes != NULL && node != NULL && i < *count; node = node->next) {
        nodes[i++] = node;
    }
    *count = nodes != NULL ? i : graph->count;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    API_ENTER();
    if (graph == NULL) { return api_fail(cudaErrorInvalidValue); }
    graph_destroy(graph);
    return cudaSuccess;
}
