/* graph.c — CUDA graphs: stream capture, instantiation and launch. A captured graph holds the work of the streams in the
 * order in which it was issued, which is one of the orders that CUDA allows. A graph that is built by hand
 * (graph_nodes.c) runs in an order that its dependencies allow: where they leave a choice, the node that was added first
 * runs first, and with SIMT_ORDER=shuffled the one that was added last.
 *
 * An allocation in stream order becomes an allocation node, its release a free node. The address is reserved at
 * capture. The reservation lasts while a graph or an executable has a node with the address, or the memory is
 * allocated. Each replay allocates the memory, uninitialised, at the allocation node and frees it at the free node. A
 * graph can free only memory that a graph has allocated: itself or another that does not free it.
 *
 * As on a GPU, memory that a replay allocates and does not free stays allocated until cudaFree, cudaFreeAsync or another
 * graph frees it. Until then the graph cannot be launched again, unless it was instantiated with
 * cudaGraphInstantiateFlagAutoFreeOnLaunch. A graph that allocates has at most one executable at a time, and no clone.
 */
#include "graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/arena.h"

static _Atomic int captures;

bool graph_capturing(void) {
    return atomic_load(&captures) != 0;
}

bool graph_depend(struct CUgraphNode_st *node, struct CUgraphNode_st *on) {
    struct CUgraphNode_st **after = realloc(node->after, (node->after_count + 1) * sizeof *after);
    if (after == NULL) { return false; }
    node->after = after;
    node->after[node->after_count++] = on;
    return true;
}

struct CUgraphNode_st *graph_add_node(struct CUgraph_st *graph, enum node_kind kind) {
    struct CUgraphNode_st *node = calloc(1, sizeof *node);
    if (node == NULL || (graph->sequential && graph->last != NULL && !graph_depend(node, graph->last))) {
        free(node);
        graph->failed = true;
        return NULL;
    }
    node->kind = kind;
    *graph->end = graph->last = node;
    graph->end = &node->next;
    graph->count++;
    return node;
}

static void *kernel_closure(struct simt_kernel *kernel, const void *closure) {
    enum { CLOSURE_ALIGNMENT = 64 };
    size_t size = (kernel->closure_size + CLOSURE_ALIGNMENT - 1) / CLOSURE_ALIGNMENT * CLOSURE_ALIGNMENT;
    void *copy = confine_allocate(CLOSURE_ALIGNMENT, size);
    if (copy != NULL) { kernel->copy_closure(copy, closure); }
    return copy;
}

cudaError_t graph_add_kernel(struct CUgraph_st *graph, const struct launch_configuration *configuration,
                             struct simt_kernel *kernel, const void *closure) {
    void *copy = kernel_closure(kernel, closure);
    struct CUgraphNode_st *node = copy == NULL ? NULL : graph_add_node(graph, NODE_EMPTY);
    if (node == NULL) {
        confine_release(copy);
        graph->failed = true;
        return api_fail(cudaErrorMemoryAllocation);
    }
    node->kind = NODE_KERNEL;
    node->launch.configuration = *configuration;
    node->launch.configuration.stream = NULL;
    node->launch.kernel = kernel;
    node->launch.closure = copy;
    return cudaSuccess;
}

cudaError_t graph_add_copy(struct CUgraph_st *graph, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, enum cudaMemcpyKind kind) {
    struct CUgraphNode_st *node = graph_add_node(graph, NODE_COPY);
    if (node == NULL) { return api_fail(cudaErrorMemoryAllocation); }
    node->copying.to = to;
    node->copying.from = from;
    node->copying.to_pitch = to_pitch;
    node->copying.from_pitch = from_pitch;
    node->copying.width = width;
    node->copying.height = height;
    node->copying.kind = kind;
    return cudaSuccess;
}

cudaError_t graph_add_set(struct CUgraph_st *graph, void *to, size_t pitch, int value, size_t width, size_t height) {
    struct CUgraphNode_st *node = graph_add_node(graph, NODE_SET);
    if (node == NULL) { return api_fail(cudaErrorMemoryAllocation); }
    node->copying.to = to;
    node->copying.to_pitch = pitch;
    node->copying.width = width;
    node->copying.height = height;
    node->copying.value = (unsigned)value;
    node->copying.element = 1;
    return cudaSuccess;
}

cudaError_t graph_add_host(struct CUgraph_st *graph, cudaHostFn_t function, void *data) {
    if (!confine_may_call((const void *)(uintptr_t)function)) { return api_fail(cudaErrorInvalidValue); }
    struct CUgraphNode_st *node = graph_add_node(graph, NODE_HOST);
    if (node == NULL) { return api_fail(cudaErrorMemoryAllocation); }
    node->host.function = function;
    node->host.data = data;
    return cudaSuccess;
}

cudaError_t graph_add_host_copy(struct CUgraph_st *graph, cudaHostFn_t function, const void *data, size_t bytes) {
    void *copy = malloc(bytes);
    struct CUgraphNode_st *node = copy == NULL ? NULL : graph_add_node(graph, NODE_HOST);
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
    struct CUgraphNode_st *node = memory == NULL ? NULL : graph_add_node(graph, NODE_ALLOCATE);
    *pointer = NULL;
    if (node == NULL) {
        arena_let_go(memory);
        return api_fail(cudaErrorMemoryAllocation);
    }
    *pointer = node->memory = memory;
    return cudaSuccess;
}

static bool has_node(const struct CUgraph_st *graph, enum node_kind kind, const void *memory) {
    const struct CUgraphNode_st *node = graph->first;
    while (node != NULL && !(node->kind == kind && node->memory == memory)) { node = node->next; }
    return node != NULL;
}

bool graph_allocates(const struct CUgraph_st *graph) {
    const struct CUgraphNode_st *node = graph->first;
    while (node != NULL && node->kind != NODE_ALLOCATE && node->kind != NODE_FREE) { node = node->next; }
    return node != NULL;
}

cudaError_t graph_add_free(struct CUgraph_st *graph, void *memory) {
    bool is_own = has_node(graph, NODE_ALLOCATE, memory);
    if (has_node(graph, NODE_FREE, memory) || !arena_hold_to_free(memory, is_own)) {
        return api_fail(cudaErrorInvalidValue);
    }
    struct CUgraphNode_st *node = graph_add_node(graph, NODE_FREE);
    if (node == NULL) {
        arena_let_go(memory);
        return api_fail(cudaErrorMemoryAllocation);
    }
    node->memory = memory;
    return cudaSuccess;
}

void graph_node_clear(struct CUgraphNode_st *node) {
    switch (node->kind) {
        case NODE_KERNEL:
            node->launch.kernel->destroy_closure(node->launch.closure);
            confine_release(node->launch.closure);
            break;
        case NODE_HOST:
            if (node->host.owned != 0) { free(node->host.data); }
            break;
        case NODE_ALLOCATE:
        case NODE_FREE: arena_let_go(node->memory); break;
        case NODE_CHILD: graph_destroy(node->child); break;
        default: break;
    }
    node->kind = NODE_EMPTY;
}

bool graph_node_copy(struct CUgraphNode_st *to, const struct CUgraphNode_st *from) {
    struct CUgraphNode_st made = *from;
    bool done = true;
    switch (from->kind) {
        case NODE_KERNEL:
            made.launch.closure = kernel_closure(from->launch.kernel, from->launch.closure);
            done = made.launch.closure != NULL;
            break;
        case NODE_HOST:
            if (from->host.owned == 0) { break; }
            made.host.data = malloc(from->host.owned);
            done = made.host.data != NULL;
            if (done) { memcpy(made.host.data, from->host.data, from->host.owned); }
            break;
        case NODE_ALLOCATE:
        case NODE_FREE: arena_hold(from->memory); break;
        case NODE_CHILD:
            made.child = graph_copy(from->child, true);
            done = made.child != NULL;
            break;
        default: break;
    }
    if (!done) { return false; }
    graph_node_clear(to);
    made.next = to->next;
    made.after = to->after;
    made.after_count = to->after_count;
    made.origin = to->origin;
    made.copy = to->copy;
    *to = made;
    return true;
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
        graph_node_clear(node);
        free(node->after);
        free(node);
        node = next;
    }
    free(graph);
}

static bool is_ready(const struct CUgraphNode_st *node) {
    for (size_t i = 0; i < node->after_count; i++) {
        if (node->after[i]->copy == NULL) { return false; }
    }
    return node->copy == NULL;
}

static struct CUgraphNode_st *next_to_copy(const struct CUgraph_st *graph, bool for_execution) {
    struct CUgraphNode_st *found = NULL;
    for (struct CUgraphNode_st *node = graph->first; node != NULL; node = node->next) {
        if (for_execution ? !is_ready(node) : node->copy != NULL) { continue; }
        found = node;
        if (!for_execution || !simt_settings.shuffled_order) { break; }
    }
    return found;
}

struct CUgraph_st *graph_copy(struct CUgraph_st *graph, bool for_execution) {
    struct CUgraph_st *made = graph_create();
    if (made == NULL) { return NULL; }
    for (struct CUgraphNode_st *node = graph->first; node != NULL; node = node->next) { node->copy = NULL; }
    for (struct CUgraphNode_st *node; (node = next_to_copy(graph, for_execution)) != NULL;) {
        struct CUgraphNode_st *copy = graph_add_node(made, NODE_EMPTY);
        if (copy == NULL || !graph_node_copy(copy, node)) {
            made->failed = true;
            break;
        }
        copy->origin = node;
        node->copy = copy;
    }
    for (struct CUgraphNode_st *node = graph->first; !made->failed && node != NULL; node = node->next) {
        for (size_t i = 0; node->copy != NULL && i < node->after_count; i++) {
            made->failed |= !graph_depend(node->copy, node->after[i]->copy);
        }
    }
    made->sequential = graph->sequential;
    if (made->failed || made->count != graph->count) { /* the latter: a cycle */
        graph_destroy(made);
        return NULL;
    }
    return made;
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
    graph->sequential = true;
    stream->capture = graph;
    stream->capture_origin = true;
    atomic_fetch_add(&captures, 1);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    API_ENTER();
    API_GIVES(graph);
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
    API_GIVES(status);
    API_STREAM(stream);
    if (status == NULL) { return api_fail(cudaErrorInvalidValue); }
    *status = stream_capture(stream) != NULL ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    API_ENTER();
    API_GIVES(nodes);
    API_GIVES(count);
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
    if (graph->only_executable != NULL) { graph->only_executable->source = NULL; }
    graph_destroy(graph);
    return cudaSuccess;
}

/* ---- executable graphs ---- */

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags) {
    API_ENTER();
    API_GIVES(executable);
    if (executable == NULL || graph == NULL) { return api_fail(cudaErrorInvalidValue); }
    if (graph->only_executable != NULL) { return api_fail(cudaErrorNotSupported); }
    struct CUgraphExec_st *made = malloc(sizeof *made);
    struct CUgraph_st *copy = made == NULL ? NULL : graph_copy(graph, true);
    if (copy == NULL) {
        free(made);
        return api_fail(made == NULL ? cudaErrorMemoryAllocation : cudaErrorInvalidValue);
    }
    *made = (struct CUgraphExec_st){copy, NULL, flags & cudaGraphInstantiateFlagAutoFreeOnLaunch};
    if (graph_allocates(graph)) {
        made->source = graph;
        graph->only_executable = made;
    }
    *executable = made;
    return cudaSuccess;
}

static cudaError_t run_graph(const struct CUgraph_st *graph);

/* Values of 2 or 4 bytes: zeros first, which checks the range. */
static cudaError_t run_set(const struct CUgraphNode_st *node) {
    const unsigned element = node->copying.element, value = node->copying.value;
    size_t pitch = node->copying.to_pitch, width = node->copying.width, height = node->copying.height;
    cudaError_t error =
        set_now(node->copying.to, pitch, element == 1 ? (int)value : 0, width, height, "cudaGraphLaunch", 0);
    for (size_t row = 0; error == cudaSuccess && element > 1 && row < height; row++) {
        for (size_t at = 0; at < width; at += element) {
            memcpy((char *)node->copying.to + row * pitch + at, &value, element);
        }
    }
    return error;
}

static cudaError_t run_node(const struct CUgraphNode_st *node) {
    switch (node->kind) {
        case NODE_KERNEL: return launch_now(&node->launch.configuration, node->launch.kernel, node->launch.closure);
        case NODE_COPY:
            return copy_now(node->copying.to, node->copying.to_pitch, node->copying.from, node->copying.from_pitch,
                            node->copying.width, node->copying.height, node->copying.kind, "cudaGraphLaunch", 0);
        case NODE_SET: return run_set(node);
        case NODE_HOST:
            simt_host_waits();
            node->host.function(node->host.data);
            return cudaSuccess;
        case NODE_ALLOCATE:
            return arena_alloc_reserved(node->memory) ? cudaSuccess : api_fail(cudaErrorMemoryAllocation);
        case NODE_FREE: return arena_free(node->memory) ? cudaSuccess : api_fail(cudaErrorInvalidValue);
        case NODE_CHILD: return run_graph(node->child);
        case NODE_EMPTY: return cudaSuccess;
    }
    return cudaSuccess;
}

static cudaError_t run_graph(const struct CUgraph_st *graph) {
    cudaError_t error = cudaSuccess;
    for (const struct CUgraphNode_st *node = graph->first; error == cudaSuccess && node != NULL; node = node->next) {
        error = run_node(node);
    }
    return error;
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

/* A replay that fails leaves nothing allocated. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    API_ENTER();
    API_STREAM(stream);
    if (executable == NULL) { return api_fail(cudaErrorInvalidValue); }
    if (stream_capture(stream) != NULL) { return api_fail(cudaErrorStreamCaptureUnsupported); }
    watch_launch(stream, "a graph");
    if (executable->auto_free) { free_memory(executable->graph); }
    if (holds_memory(executable->graph)) { return api_fail(cudaErrorInvalidValue); }
    cudaError_t error = run_graph(executable->graph);
    if (error != cudaSuccess) { free_memory(executable->graph); }
    watch_launched(stream);
    return error;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    API_ENTER();
    API_STREAM(stream);
    return executable != NULL ? cudaSuccess : api_fail(cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    API_ENTER();
    if (executable == NULL) { return api_fail(cudaErrorInvalidValue); }
    if (executable->source != NULL) { executable->source->only_executable = NULL; }
    graph_destroy(executable->graph);
    free(executable);
    return cudaSuccess;
}
