// elements.cuh — launches with a thread per element
#ifndef NAIVE_ELEMENTS_CUH
#define NAIVE_ELEMENTS_CUH

#include "common/cuda_check.h"
#include "common/to_float.cuh"

#include <limits.h>
#include <math.h>

enum { threads_per_block = 128 };

inline bool launchable(long long threads) {
    return threads >= 0 && threads <= (long long)INT_MAX;
}
inline unsigned blocks_for(long long threads) {
    return (unsigned)((threads + threads_per_block - 1) / threads_per_block);
}

#endif
