/* graph_nodes.h — graphs that are built by hand, and updates of executables: api/graph_nodes.c. C17 and C++. */
#ifndef SIMT_GRAPH_NODES_H
#define SIMT_GRAPH_NODES_H

#include "driver_types.h"

struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim;
    dim3 blockDim;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
};
struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned int value;
    unsigned int elementSize; /* 1, 2 or 4 */
    size_t width;             /* elements of a row */
    size_t height;
};
struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void *userData;
};

typedef struct cudaGraphExecUpdateResultInfo_st {
    enum cudaGraphExecUpdateResult result;
    cudaGraphNode_t errorNode;
    cudaGraphNode_t errorFromNode;
} cudaGraphExecUpdateResultInfo;

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags);
cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaKernelNodeParams *params);
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemcpy3DParms *params);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                     size_t count, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemsetParams *params);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                 const struct cudaHostNodeParams *params);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                       size_t count, cudaGraph_t child);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t count);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params);
/* In an executable: `node` is the node of the graph that it was instantiated from. */
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *params);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void *to,
                                               const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaMemsetParams *params);
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const struct cudaHostNodeParams *params);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info);

#ifdef __cplusplus
}

/* CUDA 13's forms, with the kind of each edge. Only edges that wait for the whole node, all zeros, are known. */
struct cudaGraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
};

static inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                   const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
                                                   size_t count) {
    for (size_t i = 0; edges != nullptr && i < count; i++)
        if (edges[i].from_port != 0 || edges[i].to_port != 0 || edges[i].type != 0) { return cudaErrorNotSupported; }
    return cudaGraphAddDependencies(graph, from, to, count);
}
static inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                            cudaGraphEdgeData *edges, size_t *count) {
    cudaError_t error = cudaGraphGetEdges(graph, from, to, count);
    for (size_t i = 0; edges != nullptr && error == cudaSuccess && i < *count; i++) { edges[i] = cudaGraphEdgeData(); }
    return error;
}
static inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                                       cudaGraphEdgeData *edges, size_t *count) {
    cudaError_t error = cudaGraphNodeGetDependencies(node, nodes, count);
    for (size_t i = 0; edges != nullptr && error == cudaSuccess && i < *count; i++) { edges[i] = cudaGraphEdgeData(); }
    return error;
}

/* CUDA 11's form. */
static inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphNode_t *node,
                                              enum cudaGraphExecUpdateResult *result) {
    cudaGraphExecUpdateResultInfo info;
    cudaError_t error = cudaGraphExecUpdate(executable, graph, &info);
    if (node != nullptr) { *node = info.errorNode; }
    if (result != nullptr) { *result = info.result; }
    return error;
}
#endif
#endif
