/* graph_launch.c — executable graphs: instantiated from what graph.c has recorded, and replayed.
 *
 * Memory that a replay allocates and does not free stays, as on a GPU: cudaFree, cudaFreeAsync or another graph frees it,
 * and until then the graph cannot be launched again, unless it is instantiated to free it itself. Not as on a GPU: a graph
 * that allocates may have several executables at a time.
 */
#include <stdlib.h>

#include "graph.h"

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
