// races.cuh — shared by the kernels of the race detector's tests: two arrays, zeroed before every launch, and run_NAME()
// for the kernel NAME(result, data), which the test calls.
#ifndef SIMT_TESTS_RACES_CUH
#define SIMT_TESTS_RACES_CUH

#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

namespace {
enum { N = 1 << 16 };
int *data, *result;
} // namespace

// Initialised memory, made once; zeroed before every launch.
static void prepare() {
    if (data == nullptr) {
        cudaMalloc(&data, N * sizeof(int));
        cudaMalloc(&result, N * sizeof(int));
    }
    cudaMemset(data, 0, N * sizeof(int));
    cudaMemset(result, 0, N * sizeof(int));
}

#define LAUNCH(name, grid, block)            \
    extern "C" int run_##name() {            \
        prepare();                           \
        name<<<grid, block>>>(result, data); \
        return cudaDeviceSynchronize();      \
    }
#define COOPERATIVE(name, grid, block)                                                       \
    extern "C" int run_##name() {                                                            \
        prepare();                                                                           \
        void *arguments[] = {&result, &data};                                                \
        cudaLaunchCooperativeKernel((void *)name, dim3(grid), dim3(block), arguments, 0, 0); \
        return cudaDeviceSynchronize();                                                      \
    }

#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

#endif
