// softmax.cu — softmax along rows, from a thread per row to a warp per row (lab 2)
//
// Purpose   The same op as in lab 1. Now neighbouring threads read neighbouring addresses, and reduce together.
// Math      m = max_c x[n][c]      out[n][c] = exp(x[n][c] - m) / sum_k exp(x[n][k] - m)     out, x: (N, C), fp32
// Bytes     floor: read x once, write out once: 8 N C bytes. 8192 x 1024: 67.1 MB, 14.0 us on an H200 (4.8 TB/s).
// Kernels   1  thread per row: yours from lab 1; copy it here if you want to compare
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
constexpr int chosen_kernel = 0; // 0: not started. Set it to 2 when kernel 2 is written, then climb.
enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };

// out may be x, so these pointers are not __restrict__. Every element is read for the last time before it is written,
// by the thread that writes it.

__global__ void softmax_forward_kernel2(float *out,     // (N, C)
                                        const float *x, // (N, C)
                                        int C) {
    // TODO 1a (11 lines): One block takes one row; neighbouring threads read neighbouring addresses.
    //   Goal      lab 1's three passes by the threads of a block: as many sectors as the requested bytes fill.
    //   Shapes    the block is row blockIdx.x; C is any number from 1, also smaller than the block.
    //   Given     block_tree_max and block_tree_sum (reduce.cuh), which
    //             every thread of the block must call, and memory for
    //             them: __shared__ float shared[threads_per_block].
    //   Contract  that of the op; a thread without a column changes no result.
    //   Question  which columns does thread t take, so that one request of 32 threads touches 4 sectors?
}

__global__ void softmax_forward_kernel3(float *out,     // (N, C)
                                        const float *x, // (N, C)
                                        int C) {
    // TODO 2e (11 lines): A block per row with your own reductions: 4 barriers in place of 18.
    //   Goal      kernel 2's result with block_max and block_sum. Only the reductions and their memory change.
    //             The report counts a barrier once for each of the 4 warps: 16 in place of 72.
    //   Question  how many floats of shared memory does a row need now?
}

__global__ void softmax_forward_kernel4(float *out,     // (N, C)
                                        const float *x, // (N, C)
                                        int N, int C) {
    // TODO 3a (12 lines): One warp takes one row: no shared memory, no barrier.
    //   Goal      as kernel 3, with 0 barriers; a block holds warps_per_block rows, and the launch below fits that.
    //   Contract  a warp without a row leaves as a whole; no shuffle names a lane that has left.
    //   Question  from threadIdx.x and blockIdx.x: which row, and which columns of it, are this lane's?
}

__global__ void softmax_forward_kernel5(float *out,     // (N, C)
                                        const float *x, // (N, C)
                                        int N, int C) {
    // TODO 5c (9 lines): One read less: maximum and sum in one pass.
    //   Goal      a quarter fewer bytes than kernel 4, with softmax_merge and warp_softmax_merge.
    //   Contract  right for a row that begins with -INFINITY.
    //   Question  a lane that has no column: which part of the row does it hold? And one element, as a part?
}

// Launches kernel `rung` of the ladder.
extern "C" int softmax_forward_f32_rung(int rung, float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (rung == 0) { return cudaErrorNotSupported; } // "not started"
    if (N == 0) { return cudaSuccess; }
    int warp_blocks = (N + warps_per_block - 1) / warps_per_block; // a warp per row
    switch (rung) {
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
