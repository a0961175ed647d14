// Memory in stream order that is captured: graphs that allocate, with right and wrong uses. See test_graph_memory.c.
#include <cuda_runtime.h>

#include "expect.cuh"

namespace {

constexpr int count = 32;
constexpr size_t bytes = count * sizeof(float);

__global__ void fill(float *scratch, const float *in, const int *skip) {
    if (!*skip) { scratch[threadIdx.x] = in[threadIdx.x]; }
}

__global__ void add(float *out, const float *scratch) {
    out[threadIdx.x] += scratch[threadIdx.x]; // here: read
}

// Managed: written and read on the host between the launches.
struct data {
    float *in, *out, *scratch;
    int *skip;
    cudaStream_t stream;

    data() {
        cudaMallocManaged(&in, bytes);
        cudaMallocManaged(&out, bytes);
        cudaMallocManaged(&skip, sizeof *skip);
        cudaStreamCreate(&stream);
        for (int i = 0; i < count; i++) { in[i] = (float)i, out[i] = 0.0f; }
        *skip = 0;
    }
    ~data() {
        cudaFree(in);
        cudaFree(out);
        cudaFree(skip);
        cudaStreamDestroy(stream);
    }
};

// As a launcher with scratch memory.
cudaError_t launch(data *d) {
    cudaMallocAsync(&d->scratch, bytes, d->stream);
    fill<<<1, count, 0, d->stream>>>(d->scratch, d->in, d->skip);
    add<<<1, count, 0, d->stream>>>(d->out, d->scratch);
    cudaFreeAsync(d->scratch, d->stream);
    return cudaGetLastError();
}

// Allocates and does not free.
cudaError_t fill_new(data *d) {
    cudaMemPool_t pool;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMallocFromPoolAsync(&d->scratch, bytes, pool, d->stream); // here: kept
    fill<<<1, count, 0, d->stream>>>(d->scratch, d->in, d->skip);
    return cudaGetLastError();
}

cudaError_t free_it(data *d) {
    return cudaFreeAsync(d->scratch, d->stream);
}

template <class Work> cudaError_t record(cudaGraph_t *graph, data *d, Work work) {
    cudaError_t begun = cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeGlobal), done = work(d);
    cudaError_t ended = cudaStreamEndCapture(d->stream, graph);
    return begun != cudaSuccess ? begun : done != cudaSuccess ? done : ended;
}

template <class Work>
cudaError_t instantiate(cudaGraphExec_t *executable, data *d, Work work, unsigned long long flags = 0) {
    cudaGraph_t graph;
    cudaError_t error = record(&graph, d, work);
    if (error == cudaSuccess) { error = cudaGraphInstantiate(executable, graph, flags); }
    cudaGraphDestroy(graph);
    return error;
}

size_t free_bytes() {
    size_t free = 0;
#ifdef SIMT_CPU_BACKEND // a GPU keeps what a graph has allocated
    size_t total;
    cudaMemGetInfo(&free, &total);
#endif
    return free;
}

} // namespace

extern "C" int run_replays(void) {
    data d;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    size_t before = free_bytes(), nodes;
    OK(record(&graph, &d, launch));
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 4 && d.out[1] == 0.0f && free_bytes() == before);
    OK(cudaGraphInstantiate(&executable, graph, 0));
    for (int replay = 1; replay <= 5; replay++) {
        OK(cudaGraphLaunch(executable, d.stream));
        OK(cudaStreamSynchronize(d.stream));
        for (int i = 0; i < count; i++) { EXPECT(d.out[i] == (float)replay * d.in[i]); }
        EXPECT(free_bytes() == before);
    }
    OK(launch(&d)); // the launcher's own memory is at another address
    OK(cudaStreamSynchronize(d.stream));
    EXPECT(d.out[1] == 6.0f);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    return 0;
}

extern "C" int run_one_executable_at_a_time(void) {
    data d;
    cudaGraph_t graph, copy;
    cudaGraphExec_t first, second;
    OK(record(&graph, &d, launch));
    OK(cudaGraphInstantiate(&first, graph, 0));
    EXPECT(cudaGraphInstantiate(&second, graph, 0) == cudaErrorNotSupported);
    EXPECT(cudaGraphClone(&copy, graph) == cudaErrorNotSupported);
    EXPECT(cudaGetLastError() == cudaErrorNotSupported);
    OK(cudaGraphExecDestroy(first));
    OK(cudaGraphInstantiate(&second, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphLaunch(second, d.stream));
    OK(cudaStreamSynchronize(d.stream));
    EXPECT(d.out[1] == 1.0f);
    OK(cudaGraphExecDestroy(second));
    return 0;
}

// The first replay writes all of it, the second none.
extern "C" int run_unwritten_later(void) {
    data d;
    cudaGraphExec_t executable;
    OK(instantiate(&executable, &d, launch));
    OK(cudaGraphLaunch(executable, d.stream));
    OK(cudaStreamSynchronize(d.stream));
    EXPECT(d.out[1] == 1.0f);
    *d.skip = 1;
    OK(cudaGraphLaunch(executable, d.stream));
    OK(cudaStreamSynchronize(d.stream));
    EXPECT(d.out[1] != d.out[1]); // a NaN, not the value of the first replay
    OK(cudaGraphExecDestroy(executable));
    return 0;
}

extern "C" int run_used_after_free(void) {
    data d;
    cudaGraphExec_t executable;
    OK(instantiate(&executable, &d, [](data *d) {
        launch(d);
        add<<<1, count, 0, d->stream>>>(d->out, d->scratch);
        return cudaGetLastError();
    }));
    cudaError_t launched = cudaGraphLaunch(executable, d.stream);
    return launched != cudaSuccess ? launched : cudaStreamSynchronize(d.stream);
}

extern "C" int run_foreign_memory(void) {
    data d;
    float *allocated;
    cudaGraph_t graph;
    OK(cudaMalloc(&allocated, bytes));
    OK(cudaStreamBeginCapture(d.stream, cudaStreamCaptureModeGlobal));
    OK(launch(&d));
    EXPECT(cudaFreeAsync(d.scratch, d.stream) == cudaErrorInvalidValue); // twice
    EXPECT(cudaFreeAsync(allocated, d.stream) == cudaErrorInvalidValue);
    EXPECT(cudaFreeAsync(&d, d.stream) == cudaErrorInvalidValue);
    OK(cudaFreeAsync(nullptr, d.stream));
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaStreamEndCapture(d.stream, &graph));
    EXPECT(cudaFree(d.scratch) == cudaErrorInvalidValue); // no replay has allocated it
    cudaGetLastError();
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(allocated));
    return 0;
}

// A graph and its executable hold it; afterwards it belongs to no graph.
extern "C" int run_held_by_each(void) {
    data d;
    cudaGraph_t graph, other;
    cudaGraphExec_t executable;
    OK(record(&graph, &d, fill_new));
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(record(&other, &d, free_it));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphExecDestroy(executable));
    EXPECT(record(&other, &d, free_it) == cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaGraphDestroy(other));
    return 0;
}

extern "C" int run_freed_by_its_own_graph(void) {
    data d;
    cudaGraph_t graph, other;
    OK(record(&graph, &d, launch));
    EXPECT(record(&other, &d, free_it) == cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(graph));
    return 0;
}

extern "C" int run_kept_by_replay(void) {
    data d;
    float seen[count];
    size_t before = free_bytes();
    cudaGraphExec_t keeps, frees, frees_itself, frees_orphan;
    OK(instantiate(&keeps, &d, fill_new));
    OK(instantiate(&frees, &d, free_it));
    OK(cudaGraphLaunch(keeps, d.stream));
    OK(cudaMemcpy(seen, d.scratch, bytes, cudaMemcpyDeviceToHost));
    EXPECT(seen[count - 1] == (float)(count - 1));
    EXPECT(cudaGraphLaunch(keeps, d.stream) == cudaErrorInvalidValue); // it is still allocated
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaGraphLaunch(frees, d.stream));
    OK(cudaStreamSynchronize(d.stream));
    OK(cudaGraphLaunch(keeps, d.stream));
    OK(cudaFreeAsync(d.scratch, d.stream));
    OK(cudaGraphLaunch(keeps, d.stream));
    OK(cudaGraphExecDestroy(keeps));
    OK(cudaGraphExecDestroy(frees));
    OK(cudaFree(d.scratch));

    OK(instantiate(&frees_itself, &d, fill_new, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphLaunch(frees_itself, d.stream));
    OK(cudaGraphLaunch(frees_itself, d.stream));
    OK(cudaGraphExecDestroy(frees_itself));
    OK(instantiate(&frees_orphan, &d, free_it));
    OK(cudaGraphLaunch(frees_orphan, d.stream));
    OK(cudaGraphExecDestroy(frees_orphan));
    EXPECT(free_bytes() == before);
    return 0;
}

// A live graph leaks nothing, but memory that its replay has allocated and not freed is a leak.
extern "C" int run_leak(int launched) {
    {
        data d;
        cudaGraphExec_t executable;
        OK(instantiate(&executable, &d, fill_new));
        if (launched) { OK(cudaGraphLaunch(executable, d.stream)); }
    }
    return cudaDeviceReset();
}

// A launch that fails within the replay fails in the same way each time.
extern "C" int run_failing_replay(void) {
    data d;
    size_t before = free_bytes();
    cudaGraphExec_t executable;
    OK(instantiate(&executable, &d, [](data *d) {
        cudaMallocAsync(&d->scratch, bytes, d->stream);
        fill<<<1, 4096, 0, d->stream>>>(d->scratch, d->in, d->skip);
        cudaFreeAsync(d->scratch, d->stream);
        return cudaSuccess;
    }));
    for (int i = 0; i < 2; i++) {
        EXPECT(cudaGraphLaunch(executable, d.stream) == cudaErrorInvalidConfiguration);
        EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
        EXPECT(free_bytes() == before);
    }
    OK(cudaGraphExecDestroy(executable));
    return 0;
}

// With few addresses, which are soon reused: never the graph's, until it is destroyed.
extern "C" int run_place_kept(void) {
    constexpr size_t size = 4 << 20;
    cudaStream_t stream;
    cudaGraph_t graph;
    char *place, *other = nullptr, *last = nullptr;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&place, size, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    bool used_again = false;
    for (int i = 0; i < 100; i++, last = other) {
        OK(cudaMalloc(&other, size));
        EXPECT(other >= place + size || place >= other + size);
        used_again |= other == last;
        OK(cudaFree(other));
    }
    EXPECT(used_again);
    OK(cudaGraphDestroy(graph));
    OK(cudaMalloc(&other, size));
    EXPECT(other == place);
    return cudaFree(other);
}
