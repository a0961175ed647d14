// residual.cu — residual add, the simplest kernel of a transformer (lab 1)
//
// Purpose   Each half of a GPT-2 block adds its result to the residual stream.
// Math      out[n][c] = x[n][c] + residual[n][c]                        out, x, residual: (N, C), fp32
// Bytes     reads two floats and writes one per element: 12 N C bytes for N C additions.
//           8192 x 768: 75.5 MB, so at least 15.7 us on an H200 (4.8 TB/s); the additions alone need 0.1 us.
// Kernels   1  one thread per element
//:omit
//           2  grid-stride: as many threads as the GPU can hold, each takes every stride-th element
//:end
// Launcher  residual_forward_f32, declared in common/ops/residual_forward/contract.h
#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"

#include <cuda_runtime.h>

enum { threads_per_block = 256 };

// out may be x or residual, so these pointers are not __restrict__.
__global__ void residual_forward_kernel1(float *out,            // (N, C)
                                         const float *x,        // (N, C)
                                         const float *residual, // (N, C)
                                         size_t count) {        // N * C
    //:todo 1a One thread adds one element. (This task is the worked example: its steps are named.)
    //: Goal      every element of out is x + residual; threads without an element do nothing.
    //: Contract  no access outside the count elements of each tensor.
    //: Steps     Compute i, this thread's place among all threads of the
    //:           grid, from blockIdx.x, blockDim.x and threadIdx.x. Make it a
    //:           size_t: N * C may pass 2^31. The last block may reach past
    //:           the end: a thread whose i is not below count has no element
    //:           and must touch nothing. All others add their element.
    //:solution
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    out[i] = x[i] + residual[i];
    //:end
}

//:omit
// The size of the grid no longer depends on the data. Neighbouring threads still take neighbouring elements, in every round.
__global__ void residual_forward_kernel2(float *out,            // (N, C)
                                         const float *x,        // (N, C)
                                         const float *residual, // (N, C)
                                         size_t count) {        // N * C
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        out[i] = x[i] + residual[i];
    }
}

//:end
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    //:todo 1b Launch enough blocks, and check whether the launch worked.
    //: Goal      at least count threads run; the caller gets the launch's error, if there is one.
    //: Steps     1. count = N * C, as a size_t. Nothing to do is not an
    //:           error: return cudaSuccess. (A grid of 0 blocks is one.)
    //:           2. blocks = count / threads_per_block, rounded UP.
    //:           3. kernel<<<blocks, threads_per_block, 0, stream>>>(arguments):
    //:           0 bytes of extra shared memory, our stream.
    //:           4. A launch returns nothing; CUDA_CHECK(cudaGetLastError())
    //:           returns its error from here, if there is one.
    //:solution
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    size_t blocks = (count + threads_per_block - 1) / threads_per_block;
    residual_forward_kernel1<<<(unsigned)blocks, threads_per_block, 0, stream>>>(out, x, residual, count);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
    //:stub
    //: return cudaErrorNotSupported; // "not started": replace this line
    //:end
}
//:omit

// Kernel `rung` of the ladder, for the benchmark.
extern "C" int residual_forward_f32_rung(int rung, float *out, const float *x, const float *residual, int N, int C,
                                         cudaStream_t stream) {
    if (rung == 1) { return residual_forward_f32(out, x, residual, N, C, stream); }
    if (rung != 2) { return cudaErrorInvalidValue; }
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    int device, multiprocessors;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    constexpr int blocks_per_multiprocessor = 2048 / threads_per_block;
    size_t blocks = (count + threads_per_block - 1) / threads_per_block;
    size_t resident = (size_t)multiprocessors * blocks_per_multiprocessor;
    if (blocks > resident) { blocks = resident; }
    residual_forward_kernel2<<<(unsigned)blocks, threads_per_block, 0, stream>>>(out, x, residual, count);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
//:end
