// softmax.cu — softmax along rows, from a thread per row to a warp per row (lab 2)
//
// Purpose   The same op as in lab 1. Now neighbouring threads read neighbouring addresses, and reduce together.
// Math      m = max_c x[n][c]      out[n][c] = exp(x[n][c] - m) / sum_k exp(x[n][k] - m)     out, x: (N, C), fp32
// Bytes     floor: read x once, write out once: 8 N C bytes. 8192 x 1024: 67.1 MB, 14.0 us on an H200 (4.8 TB/s).
//:omit
//           Kernels 1 to 4 request 16 N C bytes, kernel 5 12 N C; kernel 1 moves 8 times what it requests.
//:end
//:swap
// Kernels   1  thread per row: lab 1's last kernel, for comparison
//:stub
//: // Kernels   1  thread per row: yours from lab 1; copy it here if you want to compare
//:end
//           2  block per row: coalesced; reductions by a tree in shared memory
//           3  block per row: reductions by shuffles, 4 barriers in place of 18
//           4  warp per row: no shared memory, no barrier
//           5  warp per row, online: maximum and sum in one pass
// Launcher  softmax_forward_f32, declared in common/ops/softmax_forward/contract.h
#include "common/cuda_check.h"
#include "common/ops/softmax_forward/contract.h"
#include "reduce.cuh"

#include <cuda_runtime.h>
#include <math.h>

// The kernel that softmax_forward_f32 launches.
//:swap
constexpr int chosen_kernel = 5;
//:stub
//: constexpr int chosen_kernel = 0; // 0: not started. Set it to 2 when kernel 2 is written, then climb.
//:end
enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };

// out may be x, so these pointers are not __restrict__. Every element is read for the last time before it is written,
// by the thread that writes it.

//:omit
__global__ void softmax_forward_kernel1(float *out,     // (N, C)
                                        const float *x, // (N, C)
                                        int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C; // (C)
    float *out_row = out + (size_t)n * C;   // (C)

    float largest = -INFINITY;
    for (int c = 0; c < C; c++) { largest = fmaxf(largest, x_row[c]); }

    float sum = 0.0f;
    for (int c = 0; c < C; c++) { sum += expf(x_row[c] - largest); }

    for (int c = 0; c < C; c++) { out_row[c] = expf(x_row[c] - largest) / sum; }
}

//:end
__global__ void softmax_forward_kernel2(float *out,     // (N, C)
                                        const float *x, // (N, C)
                                        int C) {
    //:todo 1a One block takes one row; neighbouring threads read neighbouring addresses.
    //: Goal      lab 1's three passes by the threads of a block: as many sectors as the requested bytes fill.
    //: Shapes    the block is row blockIdx.x; C is any number from 1, also smaller than the block.
    //: Given     block_tree_max and block_tree_sum (reduce.cuh), which
    //:           every thread of the block must call, and memory for
    //:           them: __shared__ float shared[threads_per_block].
    //: Contract  that of the op; a thread without a column changes no result.
    //: Question  which columns does thread t take, so that one request of 32 threads touches 4 sectors?
    //:solution
    __shared__ float shared[threads_per_block];
    size_t n = blockIdx.x;
    const float *x_row = x + n * C; // (C)
    float *out_row = out + n * C;   // (C)

    float largest = -INFINITY;
    for (int c = threadIdx.x; c < C; c += blockDim.x) { largest = fmaxf(largest, x_row[c]); }
    largest = block_tree_max(largest, shared);

    float sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x) { sum += expf(x_row[c] - largest); }
    sum = block_tree_sum(sum, shared);

    for (int c = threadIdx.x; c < C; c += blockDim.x) { out_row[c] = expf(x_row[c] - largest) / sum; }
    //:end
}

__global__ void softmax_forward_kernel3(float *out,     // (N, C)
                                        const float *x, // (N, C)
                                        int C) {
    //:todo 2e A block per row with your own reductions: 4 barriers in place of 18.
    //: Goal      kernel 2's result with block_max and block_sum. Only the reductions and their memory change.
    //:           The report counts a barrier once for each of the 4 warps: 16 in place of 72.
    //: Question  how many floats of shared memory does a row need now?
    //:solution
    __shared__ float shared[warp_size];
    size_t n = blockIdx.x;
    const float *x_row = x + n * C; // (C)
    float *out_row = out + n * C;   // (C)

    float largest = -INFINITY;
    for (int c = threadIdx.x; c < C; c += blockDim.x) { largest = fmaxf(largest, x_row[c]); }
    largest = block_max(largest, shared);

    float sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x) { sum += expf(x_row[c] - largest); }
    sum = block_sum(sum, shared);

    for (int c = threadIdx.x; c < C; c += blockDim.x) { out_row[c] = expf(x_row[c] - largest) / sum; }
    //:end
}

__global__ void softmax_forward_kernel4(float *out,     // (N, C)
                                        const float *x, // (N, C)
                                        int N, int C) {
    //:todo 3a One warp takes one row: no shared memory, no barrier.
    //: Goal      as kernel 3, with 0 barriers; a block holds warps_per_block rows, and the launch below fits that.
    //: Contract  a warp without a row leaves as a whole; no shuffle names a lane that has left.
    //: Question  from threadIdx.x and blockIdx.x: which row, and which columns of it, are this lane's?
    //:solution
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C; // (C)
    float *out_row = out + (size_t)n * C;   // (C)

    float largest = -INFINITY;
    for (int c = lane; c < C; c += warp_size) { largest = fmaxf(largest, x_row[c]); }
    largest = warp_max(largest);

    float sum = 0.0f;
    for (int c = lane; c < C; c += warp_size) { sum += expf(x_row[c] - largest); }
    sum = warp_sum(sum);

    for (int c = lane; c < C; c += warp_size) { out_row[c] = expf(x_row[c] - largest) / sum; }
    //:end
}

__global__ void softmax_forward_kernel5(float *out,     // (N, C)
                                        const float *x, // (N, C)
                                        int N, int C) {
    //:todo 5c One read less: maximum and sum in one pass.
    //: Goal      a quarter fewer bytes than kernel 4, with softmax_merge and warp_softmax_merge.
    //: Contract  right for a row that begins with -INFINITY.
    //: Question  a lane that has no column: which part of the row does it hold? And one element, as a part?
    //:solution
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C; // (C)
    float *out_row = out + (size_t)n * C;   // (C)

    softmax_part part = {-FLT_MAX, 0.0f};
    for (int c = lane; c < C; c += warp_size) { part = softmax_merge(part, {x_row[c], 1.0f}); }
    part = warp_softmax_merge(part);

    for (int c = lane; c < C; c += warp_size) { out_row[c] = expf(x_row[c] - part.largest) / part.sum; }
    //:end
}

// Launches kernel `rung` of the ladder.
extern "C" int softmax_forward_f32_rung(int rung, float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (rung == 0) { return cudaErrorNotSupported; } // "not started"
    if (N == 0) { return cudaSuccess; }
    int warp_blocks = (N + warps_per_block - 1) / warps_per_block; // a warp per row
    //:omit
    int thread_blocks = (N + threads_per_block - 1) / threads_per_block; // a thread per row
    //:end
    switch (rung) {
        //:omit
        case 1: softmax_forward_kernel1<<<thread_blocks, threads_per_block, 0, stream>>>(out, x, N, C); break;
        //:end
        case 2: softmax_forward_kernel2<<<N, threads_per_block, 0, stream>>>(out, x, C); break;
        case 3: softmax_forward_kernel3<<<N, threads_per_block, 0, stream>>>(out, x, C); break;
        case 4: softmax_forward_kernel4<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, N, C); break;
        case 5: softmax_forward_kernel5<<<warp_blocks, threads_per_block, 0, stream>>>(out, x, N, C); break;
        default: return cudaErrorInvalidValue;
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    return softmax_forward_f32_rung(chosen_kernel, out, x, N, C, stream);
}
