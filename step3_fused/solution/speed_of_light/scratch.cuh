// scratch.cuh — scratch memory for the kernels of one launcher
//
//   take_scratch      `bytes` of it, for work that is enqueued on this stream after the call
//   return_scratch    after the work that needs it is enqueued
//
// Scratch memory usually comes from the stream's pool: cudaMallocAsync and cudaFreeAsync. While a stream is captured, these
// two would become nodes of the graph, and a kernel after such a node cannot start before the kernel before it ends. So a
// captured call gets memory that its graph owns. Every copy of the graph's references owns it too: instances, clones, child
// nodes. They all write the same outputs and must not run at the same time anyway. To run copies side by side with other
// parameters, capture the call once for each copy. When the last owner is destroyed, the memory becomes free for a later
// capture that asks for as many bytes. It returns to the device only at the end of the process (or by cudaDeviceReset, after
// which no such launcher may be captured).
//
// In a library whose caller owns the workspace, all of it comes from that caller (SCRATCH_FROM_CALLER).
#ifndef SPEED_OF_LIGHT_SCRATCH_CUH
#define SPEED_OF_LIGHT_SCRATCH_CUH

#include <cuda_runtime.h>

#if !defined(SIMT_CPU_BACKEND)
#include <atomic>
#include <list>
#include <mutex>

struct graph_memory {
    void *memory;
    size_t bytes;
    int device;
    std::atomic<bool> taken;
};

// All memory of this kind. Never destroyed, since graphs may be destroyed after main.
struct graph_memories {
    std::mutex lock;
    std::list<graph_memory> list;
    static graph_memories &all() {
        static graph_memories *memories = new graph_memories;
        return *memories;
    }
};

// Memory that no graph owns any longer, or new memory.
inline cudaError_t take_graph_memory(graph_memory **taken, size_t bytes) {
    graph_memories &all = graph_memories::all();
    int device;
    cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess) { return error; }
    std::unique_lock<std::mutex> guard(all.lock);
    for (graph_memory &known : all.list) {
        bool free = false;
        if (known.device == device && known.bytes == bytes && known.taken.compare_exchange_strong(free, true)) {
            *taken = &known;
            return cudaSuccess;
        }
    }
    guard.unlock();
    void *memory;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; // allows cudaMalloc during a capture
    cudaThreadExchangeStreamCaptureMode(&mode);
    error = cudaMalloc(&memory, bytes);
    cudaThreadExchangeStreamCaptureMode(&mode);
    if (error != cudaSuccess) { return error; }
    guard.lock();
    all.list.emplace_back();
    *taken = &all.list.back();
    (*taken)->memory = memory, (*taken)->bytes = bytes, (*taken)->device = device, (*taken)->taken = true;
    return cudaSuccess;
}

inline void give_graph_memory_back(void *memory) { // called by an internal thread of CUDA, which must not block
    ((graph_memory *)memory)->taken = false;
}
#endif

#if defined(SCRATCH_FROM_CALLER)
extern "C" void *scratch_from_caller(size_t bytes, cudaStream_t stream); // null: there is no memory
#endif

struct scratch {
    float *memory;
    bool of_graph; // or of the caller: return_scratch leaves it alone
};

inline cudaError_t take_scratch(scratch *taken, size_t bytes, cudaStream_t stream) {
    *taken = {nullptr, false};
#if defined(SCRATCH_FROM_CALLER)
    *taken = {(float *)scratch_from_caller(bytes, stream), true};
    return taken->memory ? cudaSuccess : cudaErrorMemoryAllocation;
#elif !defined(SIMT_CPU_BACKEND) // whose kernels run one after the other: nothing to gain
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
    cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph);
#else
    cudaError_t error = cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph);
#endif
    if (error != cudaSuccess) { return error; }
    if (status == cudaStreamCaptureStatusActive) {
        graph_memory *memory;
        cudaUserObject_t owned;
        error = take_graph_memory(&memory, bytes);
        if (error != cudaSuccess) { return error; }
        error = cudaUserObjectCreate(&owned, memory, give_graph_memory_back, 1, cudaUserObjectNoDestructorSync);
        if (error != cudaSuccess) {
            give_graph_memory_back(memory);
            return error;
        }
        error = cudaGraphRetainUserObject(graph, owned, 1, cudaGraphUserObjectMove);
        if (error != cudaSuccess) {
            cudaUserObjectRelease(owned, 1);
            return error;
        }
        *taken = {(float *)memory->memory, true};
        return cudaSuccess;
    }
#endif
    return cudaMallocAsync((void **)&taken->memory, bytes, stream);
}

inline cudaError_t return_scratch(const scratch &taken, cudaStream_t stream) {
    return taken.of_graph ? cudaSuccess : cudaFreeAsync(taken.memory, stream);
}

#endif
