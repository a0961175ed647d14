// expect.cuh — the result of a test's host code: 0; 1000 * line + error; or the line of a condition that is false.
#ifndef SIMT_TESTS_EXPECT_CUH
#define SIMT_TESTS_EXPECT_CUH

#include <cuda_runtime.h>

#define OK(call)                                                        \
    do {                                                                \
        cudaError_t error_ = (call);                                    \
        if (error_ != cudaSuccess) { return 1000 * __LINE__ + error_; } \
    } while (0)
#define EXPECT(condition)                      \
    do {                                       \
        if (!(condition)) { return __LINE__; } \
    } while (0)

#endif
