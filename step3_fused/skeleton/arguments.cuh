// arguments.cuh — checks of a launcher's arguments, given: a library refuses what its kernels cannot handle
//
//   check_rows       for tensors of shape (N, C)
//   check_matrices   for tensors of shape (B, H, T, T)
//
// Both return cudaErrorInvalidValue for a size or a pointer that is not allowed, else cudaSuccess.
#ifndef ARGUMENTS_CUH
#define ARGUMENTS_CUH

#include "common/ops/types.h"

#include <initializer_list>

// Of rows, and of columns. With more of them, the index of the next row or block may overflow an int.
constexpr int largest_size = 1 << 30;

inline cudaError_t check_rows(int N, int C, std::initializer_list<const void *> tensors) {
    bool valid = N >= 0 && N <= largest_size && C >= 1 && C <= largest_size;
    for (const void *tensor : tensors) { valid = valid && (N == 0 || tensor != nullptr); }
    return valid ? cudaSuccess : cudaErrorInvalidValue;
}

inline cudaError_t check_matrices(int B, int H, int T_, int upper, std::initializer_list<const void *> tensors) {
    if (B < 0 || H < 0 || T_ < 1 || (upper != CAUSAL_UPPER_ZERO && upper != CAUSAL_UPPER_KEEP)) {
        return cudaErrorInvalidValue;
    }
    long long matrices = (long long)B * H;
    return matrices > largest_size / T_ ? cudaErrorInvalidValue : check_rows((int)matrices * T_, T_, tensors);
}

#endif
