// rmsnorm.cu — RMSNorm along rows, a warp per row (lab 2, track B)
//
// Purpose   LayerNorm without the mean and the bias, as Llama and many models after it have it: one reduction in place of
//           two.
// Math      rstd = 1 / sqrt(sum_c x[c]^2 / C + eps)     out[c] = x[c] * rstd * weight[c]
//           out, x: (N, C); rstd: (N); weight: (C), fp32
// Bytes     floor: read x once, write out once, 4 bytes a row: 8 N C + 4 N. 8192 x 768: 50.4 MB, 10.5 us on an H200
//           (4.8 TB/s). Both kernels request 12 N C; weight is small and stays in the caches.
// Kernel    2  warp per row: warp_sum. (1, block per row, is left to you.)
// Launcher  rmsnorm_forward_f32, declared in common/ops/rmsnorm_forward/contract.h
#include "common/cuda_check.h"
#include "common/ops/rmsnorm_forward/contract.h"
#include "reduce.cuh"

#include <cuda_runtime.h>
#include <math.h>

enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };

// out may be x, so these two are not __restrict__. Every element is read for the last time before it is written, by
// the thread that writes it.

__global__ void rmsnorm_forward_kernel2(float *out,                       // (N, C)
                                        float *__restrict__ rstd,         // (N)
                                        const float *x,                   // (N, C)
                                        const float *__restrict__ weight, // (C)
                                        int N, int C, float eps) {
    // TODO 6a (10 lines): One warp takes one row.
    //   Goal      out and rstd in 1.50 times the floor in sectors: one reduction.
    //   Contract  out may be x; rstd[n] is written once.
    //   Question  what does RMSNorm leave out of LayerNorm, and which pass is not needed then?
}

int rmsnorm_forward_f32(float *out, float *rstd, const float *x, const float *weight, int N, int C, float eps,
                        cudaStream_t stream) {
    // TODO 6b (5 lines): The launch: one warp for each row, as in TODO 4b.
    return cudaErrorNotSupported; // "not started": replace this line
}
