// Graphs that are built by hand: order by dependencies, parameters, updates.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace {

__global__ void add(float *x, float value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}
__global__ void scale(float *x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
__global__ void reads_beyond(float *x, float value, int n) {
    x[0] += value * x[n]; // here: beyond the array
}

struct graph_of_three {
    cudaGraph_t graph;
    cudaGraphNode_t set, added, scaled, copied;
    float *device;
    std::vector<float> host = std::vector<float>(100);
    float value = 3, factor = 2;
    int n = 100;

    cudaKernelNodeParams kernel(void *function, float *of, void **arguments) {
        arguments[0] = &device;
        arguments[1] = of;
        arguments[2] = &n;
        cudaKernelNodeParams params = {};
        params.func = function;
        params.gridDim = dim3(4);
        params.blockDim = dim3(32);
        params.kernelParams = arguments;
        return params;
    }
    // set to 1.0, add 3, times 2, copy back; the nodes are added in another order than that of execution
    bool make(bool with_order = true) {
        void *arguments[3];
        cudaMemsetParams set_params = {};
        cudaGraphCreate(&graph, 0);
        cudaMalloc(&device, 100 * sizeof *device);
        set_params.dst = device;
        set_params.value = 0x3f800000; // 1.0f
        set_params.elementSize = 4;
        set_params.width = 100;
        set_params.height = 1;
        cudaKernelNodeParams scaling = kernel(reinterpret_cast<void *>(scale), &factor, arguments);
        bool ok = cudaGraphAddKernelNode(&scaled, graph, nullptr, 0, &scaling) == cudaSuccess;
        cudaKernelNodeParams adding = kernel(reinterpret_cast<void *>(add), &value, arguments);
        ok = ok && cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &set_params) == cudaSuccess &&
             cudaGraphAddKernelNode(&added, graph, &set, 1, &adding) == cudaSuccess &&
             cudaGraphAddMemcpyNode1D(&copied, graph, &scaled, 1, host.data(), device, 400, cudaMemcpyDeviceToHost) ==
                 cudaSuccess;
        return ok && (!with_order || cudaGraphAddDependencies(graph, &added, &scaled, nullptr, 1) == cudaSuccess);
    }
    ~graph_of_three() {
        cudaGraphDestroy(graph);
        cudaFree(device);
    }
};

int launched(cudaGraphExec_t executable, const graph_of_three &g, float wanted) {
    int wrong = 0;
    if (cudaGraphLaunch(executable, 0) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return -1;
    for (float x : g.host) wrong += x != wanted;
    return wrong;
}

} // namespace

#define EXPECT(condition)                                                 \
    do {                                                                  \
        if (!(condition)) {                                               \
            printf("test_graph_nodes.cu:%d: %s\n", __LINE__, #condition); \
            return 1;                                                     \
        }                                                                 \
    } while (0)

extern "C" int run_order() {
    graph_of_three g;
    cudaGraphExec_t executable;
    EXPECT(g.make());
    EXPECT(cudaGraphInstantiate(&executable, g.graph, 0) == cudaSuccess);
    EXPECT(launched(executable, g, 8) == 0);
    EXPECT(launched(executable, g, 8) == 0);
    size_t count = 0, edges = 0;
    cudaGraphNodeType type;
    cudaGraphNode_t root[4];
    EXPECT(cudaGraphGetNodes(g.graph, nullptr, &count) == cudaSuccess && count == 4);
    EXPECT(cudaGraphGetEdges(g.graph, nullptr, nullptr, nullptr, &edges) == cudaSuccess && edges == 3);
    cudaGraphNode_t from[3], to[3];
    cudaGraphEdgeData kinds[3];
    kinds[2].type = 1;
    EXPECT(cudaGraphGetEdges(g.graph, from, to, kinds, &edges) == cudaSuccess && edges == 3 && kinds[2].type == 0);
    count = 3;
    EXPECT(cudaGraphNodeGetDependencies(g.added, from, kinds, &count) == cudaSuccess && count == 1 && from[0] == g.set);
#ifdef SIMT_CPU_BACKEND /* before CUDA 13 */
    EXPECT(cudaGraphGetEdges(g.graph, nullptr, nullptr, &edges) == cudaSuccess && edges == 3);
    cudaGraphEdgeData port = {1, 0, 0, {}};
    EXPECT(cudaGraphAddDependencies(g.graph, &g.set, &g.copied, &port, 1) == cudaErrorNotSupported);
#endif
    EXPECT(cudaGraphGetRootNodes(g.graph, root, &count) == cudaSuccess && count == 1 && root[0] == g.set);
    EXPECT(cudaGraphNodeGetType(g.copied, &type) == cudaSuccess && type == cudaGraphNodeTypeMemcpy);
    cudaGraphExecDestroy(executable);
    return 0;
}

extern "C" int run_cycle() {
    graph_of_three g;
    cudaGraphExec_t executable;
    EXPECT(g.make());
    EXPECT(cudaGraphAddDependencies(g.graph, &g.scaled, &g.set, nullptr, 1) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&executable, g.graph, 0) == cudaErrorInvalidValue);
    cudaGetLastError();
    return 0;
}

extern "C" int run_changed_parameters() {
    graph_of_three g;
    cudaGraphExec_t executable;
    EXPECT(g.make());
    EXPECT(cudaGraphInstantiate(&executable, g.graph, 0) == cudaSuccess);
    float five = 5;
    void *arguments[3];
    cudaKernelNodeParams params = g.kernel(reinterpret_cast<void *>(add), &five, arguments);
    EXPECT(cudaGraphExecKernelNodeSetParams(executable, g.added, &params) == cudaSuccess);
    five = 100; // the node has copied its arguments
    EXPECT(launched(executable, g, 12) == 0);
    EXPECT(cudaGraphExecKernelNodeSetParams(executable, g.copied, &params) == cudaErrorInvalidValue);
    cudaGetLastError();
    cudaGraphExecDestroy(executable);
    return 0;
}

extern "C" int run_update() {
    graph_of_three g, other, without;
    cudaGraphExec_t executable;
    EXPECT(g.make());
    other.value = 7;
    EXPECT(other.make());
    EXPECT(without.make(false));
    EXPECT(cudaGraphInstantiate(&executable, g.graph, 0) == cudaSuccess);
    cudaGraphExecUpdateResultInfo info;
    EXPECT(cudaGraphExecUpdate(executable, other.graph, &info) == cudaSuccess &&
           info.result == cudaGraphExecUpdateSuccess);
    EXPECT(launched(executable, other, 16) == 0);
    EXPECT(cudaGraphExecUpdate(executable, without.graph, &info) == cudaErrorGraphExecUpdateFailure);
    EXPECT(info.result != cudaGraphExecUpdateSuccess);
    cudaGetLastError();
    EXPECT(launched(executable, other, 16) == 0);
    cudaGraphExecDestroy(executable);
    return 0;
}

static void count_call(void *data) {
    ++*static_cast<int *>(data);
}

extern "C" int run_child_and_host() {
    graph_of_three g;
    int calls = 0;
    cudaGraph_t outer;
    cudaGraphNode_t child, host, empty, join[2];
    cudaGraphExec_t executable;
    cudaHostNodeParams params = {count_call, &calls};
    EXPECT(g.make());
    EXPECT(cudaGraphCreate(&outer, 0) == cudaSuccess);
    EXPECT(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, g.graph) == cudaSuccess);
    EXPECT(cudaGraphAddEmptyNode(&empty, outer, nullptr, 0) == cudaSuccess);
    join[0] = child, join[1] = empty;
    EXPECT(cudaGraphAddHostNode(&host, outer, join, 2, &params) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&executable, outer, nullptr, nullptr, 0) == cudaSuccess);
    EXPECT(launched(executable, g, 8) == 0 && calls == 1);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(outer);
    return 0;
}

// Without the dependency the product may come first: it does so here, since its node was added first.
extern "C" int run_without_dependency() {
    graph_of_three g;
    cudaGraphExec_t executable;
    g.make(false);
    cudaGraphInstantiate(&executable, g.graph, 0);
    int wrong = launched(executable, g, 8);
    cudaGraphExecDestroy(executable);
    return wrong;
}

extern "C" int run_fault_in_node() {
    graph_of_three g;
    cudaGraphExec_t executable;
    cudaGraphNode_t node;
    void *arguments[3];
    EXPECT(g.make());
    cudaKernelNodeParams params = g.kernel(reinterpret_cast<void *>(reads_beyond), &g.value, arguments);
    params.gridDim = params.blockDim = dim3(1);
    EXPECT(cudaGraphAddKernelNode(&node, g.graph, &g.copied, 1, &params) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&executable, g.graph, 0) == cudaSuccess);
    cudaGraphLaunch(executable, 0);
    int error = static_cast<int>(cudaDeviceSynchronize());
    cudaGraphExecDestroy(executable);
    return error;
}
