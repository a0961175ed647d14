#pragma once
__device__ inline int deep(int i) { return i; }
static __device__ int deep_variable = 77;
#define DEEP_SHARED(type, name, n) __shared__ type name[n]
#define DEEP_LAUNCH(kernel, threads, ...) kernel<<<1, threads>>>(__VA_ARGS__)
