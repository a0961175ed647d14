// launch.cuh — shared by the launchers around lab 4's templates: the process's device, and device memory for one call
#ifndef GPT2_LAB_LAUNCH_CUH
#define GPT2_LAB_LAUNCH_CUH

#include "gpt2/model/params.cuh"

// The device, whose libraries are opened once. Its stream is that of the call.
inline int lab_device(gpt2_device **device, cudaStream_t stream) {
    static gpt2_device opened = {};
    static bool open = false;
    if (!open) {
        TRY(device_open(&opened, false));
        TRY(device_open_blas(&opened));
        TRY(cudaStreamDestroy(opened.stream));
        open = true;
    }
    opened.stream = stream;
    *device = &opened;
    TRY_BLAS(cublasSetStream(opened.blas, stream));
    return 0;
}

// Device memory for one call.
struct lab_room {
    std::vector<void *> taken;

    template <class P> int take(P *&pointer, size_t elements) {
        pointer = nullptr;
        TRY(cudaMalloc((void **)&pointer, (elements + 1) * sizeof(P)));
        taken.push_back(pointer);
        return 0;
    }
    ~lab_room() { // the call has waited for all work on it
        for (void *memory : taken) { cudaFree(memory); }
    }
};

// The ops that the learner's template calls: the naive set, which is linked in. So a mark depends on the learner's file alone.
inline const kernel_table &lab_kernels() {
    return gpt2_kernel_set;
}

#endif
