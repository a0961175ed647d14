// recorded_step.cuh — a decoding step as one CUDA graph
//
// Launching a hundred small kernels takes the host longer than the GPU needs to run them. All sizes of a step are fixed, and the
// positions are in device memory. So the step is recorded once for a batch size and then launched as a whole.
#ifndef GPT2_RECORDED_STEP_CUH
#define GPT2_RECORDED_STEP_CUH

#include "gpt2/model/device.cuh"

struct recorded_step {
    cudaGraphExec_t graph;
    int B; // 0: no step has run yet

    void drop() {
        if (graph) { cudaGraphExecDestroy(graph); }
        *this = {};
    }

    // The first step of a batch size runs unrecorded, so that libraries choose their algorithms; the second is recorded.
    template <class Step> int run(gpt2_device &device, int batch, Step enqueue) {
        if (B != batch) {
            drop();
            B = batch;
            return enqueue();
        }
        if (graph == nullptr) {
            cudaGraph_t recording = nullptr;
            TRY(cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeThreadLocal));
            int error = enqueue();
            int ended = (int)cudaStreamEndCapture(device.stream, &recording);
            TRY(error);
            TRY(ended);
            error = (int)cudaGraphInstantiate(&graph, recording, 0);
            cudaGraphDestroy(recording);
            TRY(error);
        }
        return cudaGraphLaunch(graph, device.stream);
    }
};

#endif
