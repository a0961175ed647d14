/* graph.c — CUDA graphs by stream capture. A graph holds the work of the captured streams in the order in which it was
 * issued, which is one of the orders that CUDA allows.
 *
 * An allocation in stream order becomes an allocation node, its release a free node. The address is reserved at
 * capture. The reservation lasts while a graph or an executable has a node with the address, or the memory is
 * allocated. Each replay allocates the memory, uninitialised, at the allocation node and frees it at the free node. A
 * graph can free only memory that a graph has allocated: itself or another.
 *
 * As on a GPU, memory that a replay allocates and does not free stays allocated until cudaFree, cudaFreeAsync or another
 * graph frees it. Until then the graph cannot be launched again, unless it was instantiated with
 * cudaGraphInstantiateFlagAutoFreeOnLaunch. Unlike on a GPU, a graph that allocates may have several executables at a
 * time.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../include/simt/kernel.h"
#include "api.h"
#include "engine/arena.h"

enum node_kind { NODE_KERNEL, NODE_COPY, NODE_SET, NODE_HOST, NODE_ALLOCATE, NODE_FREE };

struct CUgraphNode_st {
    enum node_kind kind;
    struct CUgraphNode_st *next;
    union {
        struct {
            struct launch_configuration configuration;
            struct simt_kernel *kernel;
            void *closure;
        } launch;
        struct {
            void *to;
            const void *from;
            size_t to_pitch, from_pitch, width, height;
            enum cudaMemcpyKind kind;
            int value;
        } copy;
        struct {
            cudaHostFn_t function;
            void *data;
            size_t owned; /* bytes of data that belong to the node; 0: the caller's */
        } host;
        void *memory; /* reserved; each node that names it is a holder */
    };
};

struct CUgraph_st {
    struct CUgraphNode_st *first, **end;
    size_t count;
    bool failed; /* a node could not be recorded */
};

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

/* Adds a copy of the node to the graph. */
static void graph_copy_node(struct CUgraph_st *graph, const struct CUgraphNode_st *node) {
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

/* An empty graph, or NULL. */
static struct CUgraph_st *graph_create(void) {
    struct CUgraph_st *graph = calloc(1, sizeof *graph);
    if (graph != NULL) { graph->end = &graph->first; }
    return graph;
}

static void graph_destroy(struct CUgraph_st *graph) {
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

/* ---- executable graphs ---- */

struct CUgraphExec_st {
    struct CUgraph_st *graph; /* a copy of its own */
    bool auto_free;
};

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags) {
    API_ENTER();
    if (executable == NULL || graph == NULL) { return api_fail(cudaErrorInvalidValue); }
    struct CUgraphExec_st *made = malloc(sizeof *made);
    struct CUgraph_st *copy = made == NULL ? NULL : graph_create();
    if (copy == NULL) {
        free(made);
        return api_fail(cudaErrorMemoryAllocation);
    }
    for (const struct CUgraphNode_st *node = graph->first; node != NULL; node = node->next) {
        graph_copy_node(copy, node);
    }
    if (copy->failed) {
        graph_destroy(copy);
        free(made);
        return api_fail(cudaErrorMemoryAllocation);
    }
    *made = (struct CUgraphExec_st){copy, flags & cudaGraphInstantiateFlagAutoFreeOnLaunch};
    *executable = made;
    return cudaSuccess;
}

static cudaError_t run_node(const struct CUgraphNode_st *node) {
    switch (node->kind) {
        case NODE_KERNEL: return launch_now(&node->launch.configuration, node->launch.kernel, node->launch.closure);
        case NODE_COPY:
            return copy_now(node->copy.to, node->copy.to_pitch, node->copy.from, node->copy.from_pitch,
                            node->copy.width, node->copy.height, node->copy.kind, "cudaGraphLaunch", 0);
        case NODE_SET:
            return set_now(node->copy.to, node->copy.to_pitch, node->copy.value, node->copy.width, node->copy.height,
                           "cudaGraphLaunch", 0);
        case NODE_HOST: node->host.function(node->host.data); return cudaSuccess;
        case NODE_ALLOCATE:
            return arena_alloc_reserved(node->memory) ? cudaSuccess : api_fail(cudaErrorMemoryAllocation);
        case NODE_FREE: return arena_free(node->memory) ? cudaSuccess : api_fail(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

static bool holds_memory(const struct CUgraph_st *graph) {
    for (const struct CUgraphNode_st *node = graph->first; node != NULL; node = node->next) {
        if (node->kind == NODE_ALLOCATE && arena_range_valid(node->memory, 1)) { return true; }
    }
    return false;
}

static void free_memory(const struct CUgraph_st *graph) {
    for (const struct CUgraphNode_st *node = graph->first; node != NULL; node = node->next) {
        if (node->kind == NODE_ALLOCATE) { arena_free(node->memory); }
    }
}

/* A replay that fails on its way leaves nothing allocated. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    API_ENTER();
    API_STREAM(stream);
    if (executable == NULL) { return api_fail(cudaErrorInvalidValue); }
    if (stream_capture(stream) != NULL) { return api_fail(cudaErrorStreamCaptureUnsupported); }
    watch_launch(stream, "a graph");
    if (executable->auto_free) { free_memory(executable->graph); }
    if (holds_memory(executable->graph)) { return api_fail(cudaErrorInvalidValue); }
    for (const struct CUgraphNode_st *node = executable->graph->first; node != NULL; node = node->next) {
        cudaError_t error = run_node(node);
        if (error != cudaSuccess) {
            free_memory(executable->graph);
            return error;
        }
    }
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    API_ENTER();
    API_STREAM(stream);
    return executable != NULL ? cudaSuccess : api_fail(cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    API_ENTER();
    if (executable == NULL) { return api_fail(cudaErrorInvalidValue); }
    graph_destroy(executable->graph);
    free(executable);
    return cudaSuccess;
}
