// fast_math.cuh — an exponential and a reciprocal of one instruction each
// The relative error is about 1e-7, and subnormals become 0. The CPU backend computes exp2f(x) and 1 / x.
#ifndef FAST_MATH_CUH
#define FAST_MATH_CUH

#include <cuda_runtime.h>
#include <math.h>

#if defined(__CUDA_ARCH__) && !defined(SIMT_CPU_BACKEND)
#define ANY_PTX 1 // compiled for a GPU of any generation
#else
#define ANY_PTX 0
#endif

__device__ inline float fast_exp2(float x) {
#if ANY_PTX
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

__device__ inline float fast_reciprocal(float x) {
#if ANY_PTX
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return 1.0f / x;
#endif
}

#endif
