/* cuda_check.h — CUDA_CHECK(call): returns the call's error from the enclosing launcher. */
#ifndef CUDA_CHECK_H
#define CUDA_CHECK_H

#define CUDA_CHECK(call)                                   \
    do {                                                   \
        cudaError_t error_ = (call);                       \
        if (error_ != cudaSuccess) { return (int)error_; } \
    } while (0)

#endif
