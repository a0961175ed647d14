// launch.cuh — what the launchers around lab 4's templates share: one device for the process, memory that ends with a call
#ifndef GPT2_LAB_LAUNCH_CUH
#define GPT2_LAB_LAUNCH_CUH

#include "gpt2/model/params.cuh"

// The libraries' handles are opened once; each call gets its own stream. device->stream is not the device's own.
int lab_device(gpt2_device **device, cudaStream_t stream);

// Device memory of one call.
struct lab_room {
    std::vector<void *> taken;

    template <class P> int take(P *&pointer, size_t elements) {
        pointer = nullptr;
        TRY(cudaMalloc((void **)&pointer, (elements + 1) * sizeof(P)));
        taken.push_back(pointer);
        return 0;
    }
    ~lab_room() { // after all work on it
        for (void *memory : taken) { cudaFree(memory); }
    }
};

// The kernels between the learner's: the naive set, which is linked in. So a mark is about the wiring alone.
inline const kernel_table &lab_kernels() {
    return gpt2_kernel_set;
}

#endif
