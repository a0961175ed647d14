/* graph_nodes.c — graphs that are built node by node, and changes of an executable's nodes. */
#include <stdlib.h>

#include "graph.h"

/* Is each of the nodes in the graph? */
static bool contains(const struct CUgraph_st *graph, const cudaGraphNode_t *nodes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct CUgraphNode_st *node = graph->first;
        while (node != NULL && node != nodes[i]) { node = node->next; }
        if (node == NULL) { return false; }
    }
    return true;
}

/* The last node of the graph is new, after an addition with this result: adds what it depends on. */
static cudaError_t finish(cudaError_t error, cudaGraphNode_t *node, struct CUgraph_st *graph,
                          const cudaGraphNode_t *after, size_t count) {
    if (error != cudaSuccess) { return error; }
    for (size_t i = 0; i < count; i++) {
        if (!graph_depend(graph->last, after[i])) { return api_fail(cudaErrorMemoryAllocation); }
    }
    *node = graph->last;
    return cudaSuccess;
}

static bool can_add(const cudaGraphNode_t *node, const struct CUgraph_st *graph, const cudaGraphNode_t *after,
                    size_t count) {
    return node != NULL && graph != NULL && (count == 0 || after != NULL) && contains(graph, after, count);
}

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags) {
    API_ENTER();
    API_GIVES(graph);
    if (graph == NULL || flags != 0) { return api_fail(cudaErrorInvalidValue); }
    *graph = graph_create();
    return *graph != NULL ? cudaSuccess : api_fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) {
    API_ENTER();
    API_GIVES(clone);
    if (clone == NULL || graph == NULL) { return api_fail(cudaErrorInvalidValue); }
    if (graph_allocates(graph)) { return api_fail(cudaErrorNotSupported); }
    *clone = graph_copy(graph, false);
    return *clone != NULL ? cudaSuccess : api_fail(cudaErrorMemoryAllocation);
}

/* ---- nodes ---- */

static cudaError_t add_kernel(struct CUgraph_st *graph, const struct cudaKernelNodeParams *params) {
    struct launch_configuration configuration = {
        params->gridDim, params->blockDim, params->sharedMemBytes, NULL, false, 0};
    return launch_into_graph(graph, params->func, &configuration, params->kernelParams);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaKernelNodeParams *params) {
    API_ENTER();
    API_GIVES(node);
    if (!can_add(node, graph, after, count) || params == NULL) { return api_fail(cudaErrorInvalidValue); }
    return finish(add_kernel(graph, params), node, graph, after, count);
}

static char *at_position(struct cudaPitchedPtr memory, struct cudaPos position) {
    return (char *)memory.ptr + (position.z * memory.ysize + position.y) * memory.pitch + position.x;
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemcpy3DParms *params) {
    API_ENTER();
    API_GIVES(node);
    if (!can_add(node, graph, after, count) || params == NULL) { return api_fail(cudaErrorInvalidValue); }
    bool planes = params->extent.depth > 1;
    bool contiguous = params->srcPtr.ysize == params->extent.height && params->dstPtr.ysize == params->extent.height;
    if (params->srcArray != NULL || params->dstArray != NULL || (planes && !contiguous)) {
        return api_fail(cudaErrorNotSupported);
    }
    cudaError_t error =
        graph_add_copy(graph, at_position(params->dstPtr, params->dstPos), params->dstPtr.pitch,
                       at_position(params->srcPtr, params->srcPos), params->srcPtr.pitch, params->extent.width,
                       params->extent.height * (planes ? params->extent.depth : 1), params->kind);
    return finish(error, node, graph, after, count);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                     size_t count, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    API_ENTER();
    API_GIVES(node);
    if (!can_add(node, graph, after, count)) { return api_fail(cudaErrorInvalidValue); }
    return finish(graph_add_copy(graph, to, bytes, from, bytes, bytes, 1, kind), node, graph, after, count);
}

static bool is_set(const struct cudaMemsetParams *params) {
    return params != NULL && (params->elementSize == 1 || params->elementSize == 2 || params->elementSize == 4);
}

static cudaError_t add_set(struct CUgraph_st *graph, const struct cudaMemsetParams *params) {
    size_t width = params->width * params->elementSize, pitch = params->height > 1 ? params->pitch : width;
    cudaError_t error = graph_add_set(graph, params->dst, pitch, (int)params->value, width, params->height);
    if (error == cudaSuccess) { graph->last->copying.element = params->elementSize; }
    return error;
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemsetParams *params) {
    API_ENTER();
    API_GIVES(node);
    if (!can_add(node, graph, after, count) || !is_set(params)) { return api_fail(cudaErrorInvalidValue); }
    return finish(add_set(graph, params), node, graph, after, count);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                 const struct cudaHostNodeParams *params) {
    API_ENTER();
    API_GIVES(node);
    if (!can_add(node, graph, after, count) || params == NULL || params->fn == NULL) {
        return api_fail(cudaErrorInvalidValue);
    }
    return finish(graph_add_host(graph, params->fn, params->userData), node, graph, after, count);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                  size_t count) {
    API_ENTER();
    API_GIVES(node);
    if (!can_add(node, graph, after, count)) { return api_fail(cudaErrorInvalidValue); }
    bool added = graph_add_node(graph, NODE_EMPTY) != NULL;
    return finish(added ? cudaSuccess : api_fail(cudaErrorMemoryAllocation), node, graph, after, count);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                       size_t count, cudaGraph_t child) {
    API_ENTER();
    API_GIVES(node);
    if (!can_add(node, graph, after, count) || child == NULL) { return api_fail(cudaErrorInvalidValue); }
    if (graph_allocates(child)) { return api_fail(cudaErrorNotSupported); }
    struct CUgraph_st *copy = graph_copy(child, false);
    struct CUgraphNode_st *added = copy == NULL ? NULL : graph_add_node(graph, NODE_EMPTY);
    if (added == NULL) {
        if (copy != NULL) { graph_destroy(copy); }
        return api_fail(cudaErrorMemoryAllocation);
    }
    added->kind = NODE_CHILD;
    added->child = copy;
    return finish(cudaSuccess, node, graph, after, count);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t count) {
    API_ENTER();
    if (graph == NULL || from == NULL || to == NULL || !contains(graph, from, count) || !contains(graph, to, count)) {
        return api_fail(cudaErrorInvalidValue);
    }
    for (size_t i = 0; i < count; i++) {
        if (from[i] == to[i]) { return api_fail(cudaErrorInvalidValue); }
        if (!graph_depend(to[i], from[i])) { return api_fail(cudaErrorMemoryAllocation); }
    }
    return cudaSuccess;
}

/* ---- queries. An array of NULL: only the count ---- */

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    API_ENTER();
    API_GIVES(nodes);
    API_GIVES(count);
    if (graph == NULL || count == NULL) { return api_fail(cudaErrorInvalidValue); }
    size_t found = 0;
    for (struct CUgraphNode_st *node = graph->first; node != NULL; node = node->next) {
        if (node->after_count > 0 || (nodes != NULL && found == *count)) { continue; }
        if (nodes != NULL) { nodes[found] = node; }
        found++;
    }
    *count = found;
    return cudaSuccess;
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count) {
    API_ENTER();
    API_GIVES(from);
    API_GIVES(to);
    API_GIVES(count);
    if (graph == NULL || count == NULL || (from == NULL) != (to == NULL)) { return api_fail(cudaErrorInvalidValue); }
    size_t found = 0;
    for (struct CUgraphNode_st *node = graph->first; node != NULL; node = node->next) {
        for (size_t i = 0; i < node->after_count; i++) {
            if (from != NULL && found == *count) { break; }
            if (from != NULL) {
                from[found] = node->after[i];
                to[found] = node;
            }
            found++;
        }
    }
    *count = found;
    return cudaSuccess;
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count) {
    API_ENTER();
    API_GIVES(nodes);
    API_GIVES(count);
    if (node == NULL || count == NULL) { return api_fail(cudaErrorInvalidValue); }
    size_t most = nodes == NULL || *count > node->after_count ? node->after_count : *count;
    for (size_t i = 0; nodes != NULL && i < most; i++) { nodes[i] = node->after[i]; }
    *count = most;
    return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
    static const enum cudaGraphNodeType types[] = {
        [NODE_KERNEL] = cudaGraphNodeTypeKernel,     [NODE_COPY] = cudaGraphNodeTypeMemcpy,
        [NODE_SET] = cudaGraphNodeTypeMemset,        [NODE_HOST] = cudaGraphNodeTypeHost,
        [NODE_ALLOCATE] = cudaGraphNodeTypeMemAlloc, [NODE_FREE] = cudaGraphNodeTypeMemFree,
        [NODE_EMPTY] = cudaGraphNodeTypeEmpty,       [NODE_CHILD] = cudaGraphNodeTypeGraph,
    };
    API_ENTER();
    if (node == NULL || type == NULL) { return api_fail(cudaErrorInvalidValue); }
    *type = types[node->kind];
    return cudaSuccess;
}

/* ---- changes ---- */

/* The node of the executable that was made from this node of a graph, if it has the kind. */
static struct CUgraphNode_st *node_of(cudaGraphExec_t executable, cudaGraphNode_t node, enum node_kind kind) {
    struct CUgraphNode_st *found = executable == NULL ? NULL : executable->graph->first;
    while (found != NULL && (found->origin != node || found->kind != kind)) { found = found->next; }
    return found;
}

/* The node becomes what an addition to the scratch graph made. */
static cudaError_t replace(struct CUgraphNode_st *node, struct CUgraph_st *scratch, cudaError_t error) {
    if (error == cudaSuccess && !graph_node_copy(node, scratch->first)) { error = api_fail(cudaErrorMemoryAllocation); }
    graph_destroy(scratch);
    return error;
}

static cudaError_t replace_kernel(struct CUgraphNode_st *node, const struct cudaKernelNodeParams *params) {
    struct CUgraph_st *scratch = node == NULL || params == NULL ? NULL : graph_create();
    if (scratch == NULL) { return api_fail(cudaErrorInvalidValue); }
    return replace(node, scratch, add_kernel(scratch, params));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params) {
    API_ENTER();
    return replace_kernel(node != NULL && node->kind == NODE_KERNEL ? node : NULL, params);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *params) {
    API_ENTER();
    return replace_kernel(node_of(executable, node, NODE_KERNEL), params);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void *to,
                                               const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    API_ENTER();
    struct CUgraphNode_st *found = node_of(executable, node, NODE_COPY);
    struct CUgraph_st *scratch = found == NULL ? NULL : graph_create();
    if (scratch == NULL) { return api_fail(cudaErrorInvalidValue); }
    return replace(found, scratch, graph_add_copy(scratch, to, bytes, from, bytes, bytes, 1, kind));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaMemsetParams *params) {
    API_ENTER();
    struct CUgraphNode_st *found = node_of(executable, node, NODE_SET);
    struct CUgraph_st *scratch = found == NULL || !is_set(params) ? NULL : graph_create();
    if (scratch == NULL) { return api_fail(cudaErrorInvalidValue); }
    return replace(found, scratch, add_set(scratch, params));
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const struct cudaHostNodeParams *params) {
    API_ENTER();
    struct CUgraphNode_st *found = node_of(executable, node, NODE_HOST);
    struct CUgraph_st *scratch = found == NULL || params == NULL ? NULL : graph_create();
    if (scratch == NULL) { return api_fail(cudaErrorInvalidValue); }
    return replace(found, scratch, graph_add_host(scratch, params->fn, params->userData));
}

static size_t number_of(const struct CUgraph_st *graph, const struct CUgraphNode_st *node) {
    size_t number = 0;
    for (const struct CUgraphNode_st *other = graph->first; other != node; other = other->next) { number++; }
    return number;
}

/* The first difference in kinds and dependencies, in the order of execution; NULL: none. */
static const struct CUgraphNode_st *difference(const struct CUgraph_st *old, const struct CUgraph_st *new,
                                               enum cudaGraphExecUpdateResult *result) {
    const struct CUgraphNode_st *a = old->first, *b = new->first;
    for (; a != NULL && b != NULL; a = a->next, b = b->next) {
        bool same = a->after_count == b->after_count;
        for (size_t i = 0; same && i < a->after_count; i++) {
            same = number_of(old, a->after[i]) == number_of(new, b->after[i]);
        }
        *result = same ? cudaGraphExecUpdateErrorNodeTypeChanged : cudaGraphExecUpdateErrorTopologyChanged;
        if (!same || a->kind != b->kind) { return b; }
    }
    *result = a == b ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
    return b;
}

/* The executable takes the nodes of a graph of the same form. They keep the names of the first graph's nodes. */
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info) {
    API_ENTER();
    API_GIVES(info);
    cudaGraphExecUpdateResultInfo found = {cudaGraphExecUpdateSuccess, NULL, NULL};
    if (executable == NULL || graph == NULL) { return api_fail(cudaErrorInvalidValue); }
    struct CUgraph_st *new = graph_copy(graph, true);
    if (new == NULL) { return api_fail(cudaErrorInvalidValue); }
    const struct CUgraphNode_st *changed = difference(executable->graph, new, &found.result);
    if (changed != NULL) { found.errorNode = (cudaGraphNode_t)(uintptr_t)changed->origin; }
    if (info != NULL) { *info = found; }
    if (found.result != cudaGraphExecUpdateSuccess) {
        graph_destroy(new);
        return api_fail(cudaErrorGraphExecUpdateFailure);
    }
    struct CUgraphNode_st *to = new->first;
    for (const struct CUgraphNode_st *from = executable->graph->first; from != NULL; from = from->next, to = to->next) {
        to->origin = from->origin;
    }
    graph_destroy(executable->graph);
    executable->graph = new;
    return cudaSuccess;
}
