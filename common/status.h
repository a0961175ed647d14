/* status.h — return values of launchers other than 0 and cudaError_t, for code that includes no CUDA header. */
#ifndef STATUS_H
#define STATUS_H

enum {
    CUDA_INVALID_CONFIGURATION = 9, /* cudaErrorInvalidConfiguration: a grid or block that no GPU has */
    CUDA_NOT_SUPPORTED = 801,       /* cudaErrorNotSupported: "not started", from a skeleton */
    BLAS_ERROR = 100000,            /* + a cublasStatus_t */
};

#endif
