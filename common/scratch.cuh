// scratch.cuh — memory that the kernels of one launcher share, and nobody else
//
//   take_scratch      `bytes` of it, for work that is enqueued on this stream after the call
//   return_scratch    the work that needs it is enqueued
//
// Usually it comes from the stream's pool: cudaMallocAsync and cudaFreeAsync. While a stream is captured these two would
// become nodes of the graph, and a kernel behind such a node cannot be started before the one ahead of it ends. So a
// captured call gets memory that belongs to its graph and to what is instantiated from it. Two of these that run at the
// same time would write the same outputs, so they may share this too. When the last of them is destroyed, the next
// capture that asks for as many bytes gets the memory: it never goes back to the device.
#ifndef SCRATCH_CUH
#define SCRATCH_CUH

#include <cuda_runtime.h>

#if defined(SIMT_CPU_BACKEND) // its kernels take turns: nothing is gained

inline cudaError_t take_scratch(float **memory, size_t bytes, cudaStream_t stream) {
    return cudaMallocAsync((void **)memory, bytes, stream);
}
inline cudaError_t return_scratch(float *memory, cudaStream_t stream) {
    return cudaFreeAsync(memory, stream);
}

#else

#include <list>
#include <mutex>

struct scratch_room {
    void *memory;
    size_t bytes;
    int device;
    bool taken;
};

struct scratch_rooms {
    std::mutex lock;
    std::list<scratch_room> rooms;

    // A room that no graph has any more, or a new one.
    cudaError_t take(scratch_room **room, size_t bytes) {
        std::lock_guard<std::mutex> guard(lock);
        int device;
        cudaError_t error = cudaGetDevice(&device);
        if (error != cudaSuccess) { return error; }
        for (scratch_room &known : rooms) {
            if (!known.taken && known.device == device && known.bytes == bytes) {
                known.taken = true;
                *room = &known;
                return cudaSuccess;
            }
        }
        void *memory;
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; // cudaMalloc is no part of what is captured
        cudaThreadExchangeStreamCaptureMode(&mode);
        error = cudaMalloc(&memory, bytes);
        cudaThreadExchangeStreamCaptureMode(&mode);
        if (error != cudaSuccess) { return error; }
        rooms.push_back({memory, bytes, device, true});
        *room = &rooms.back();
        return cudaSuccess;
    }
    void give_back(scratch_room *room) {
        std::lock_guard<std::mutex> guard(lock);
        room->taken = false;
    }
    // Never destroyed: graphs may be, after main.
    static scratch_rooms &all() {
        static scratch_rooms *rooms = new scratch_rooms;
        return *rooms;
    }
};

// The graph that this stream is captured into; null: none.
inline cudaError_t graph_of(cudaStream_t stream, cudaGraph_t *graph) {
    cudaStreamCaptureStatus status;
#if CUDART_VERSION >= 13000
    cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, nullptr, graph);
#else
    cudaError_t error = cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, graph);
#endif
    if (status != cudaStreamCaptureStatusActive) { *graph = nullptr; }
    return error;
}

inline cudaError_t take_scratch(float **memory, size_t bytes, cudaStream_t stream) {
    cudaGraph_t graph;
    cudaError_t error = graph_of(stream, &graph);
    if (error != cudaSuccess) { return error; }
    if (!graph) { return cudaMallocAsync((void **)memory, bytes, stream); }
    scratch_room *room;
    error = scratch_rooms::all().take(&room, bytes);
    if (error != cudaSuccess) { return error; }
    cudaUserObject_t owned;
    auto gone = [](void *room) { scratch_rooms::all().give_back((scratch_room *)room); };
    error = cudaUserObjectCreate(&owned, room, gone, 1, cudaUserObjectNoDestructorSync);
    if (error == cudaSuccess) { error = cudaGraphRetainUserObject(graph, owned, 1, cudaGraphUserObjectMove); }
    *memory = (float *)room->memory;
    return error;
}

inline cudaError_t return_scratch(float *memory, cudaStream_t stream) {
    cudaGraph_t graph;
    cudaError_t error = graph_of(stream, &graph);
    return error != cudaSuccess || graph ? error : cudaFreeAsync(memory, stream);
}

#endif
#endif
