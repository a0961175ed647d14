// launch.cu — the device that the launchers around lab 4's templates share (launch.cuh)
#include "gpt2/lab/launch.cuh"

int lab_device(gpt2_device **device, cudaStream_t stream) {
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
