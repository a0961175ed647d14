// layernorm.cu — LayerNorm along rows, one thread per row (lab 1)
//
// Purpose   GPT-2 normalises the stream 25 times per token, before each attention and each MLP and at the end.
// Math      mean = sum_c x[c] / C     rstd = 1 / sqrt(sum_c (x[c] - mean)^2 / C + eps)
//           out[c] = (x[c] - mean) * rstd * weight[c] + bias[c]      out, x: (N, C); mean, rstd: (N); weight, bias: (C)
//           Never sum x^2 / C - mean^2: the difference of two large, nearly equal numbers loses their digits.
// Bytes     floor: read x once, write out once, 8 bytes a row for mean and rstd: 8 N C + 8 N.
//           8192 x 768: 50.4 MB, 10.5 us on an H200 (4.8 TB/s).
// Kernels   1  two-pass variance: mean first, then the squared distances from it
// Launcher  layernorm_forward_f32, declared in common/ops/layernorm_forward/contract.h
#include "common/cuda_check.h"
#include "common/ops/layernorm_forward/contract.h"

#include <cuda_runtime.h>
#include <math.h>

enum { threads_per_block = 64 };

// out may be x, so these two are not __restrict__. Every element is read for the last time before it is written.
__global__ void layernorm_forward_kernel1(float *out,                       // (N, C)
                                          float *__restrict__ mean,         // (N)
                                          float *__restrict__ rstd,         // (N)
                                          const float *x,                   // (N, C)
                                          const float *__restrict__ weight, // (C)
                                          const float *__restrict__ bias,   // (C)
                                          int N, int C, float eps) {
    // TODO 3a (7 lines): This thread's row, and its mean.
    //   Goal      row_mean, the mean of the C elements of row n. One thread takes one whole row, as in softmax.
    //   Contract  as in 2a: no access for a thread without a row.

    // TODO 3b (6 lines): The reciprocal standard deviation of the row.
    //   Goal      row_rstd = 1 / sqrt(variance + eps); the variance is the mean of the squared distances from row_mean.
    //   Contract  right to six digits for a row around 1000 with a
    //             deviation of 0.1, and finite for a row of equal elements.
    //   Question  mean(x^2) - mean(x)^2 is the same number on paper. What happens to its digits in such a row?
    //   Known     rsqrtf(v) is 1 / sqrt(v).

    // TODO 3c (3 lines): The three outputs.
    //   Goal      out (N, C), and mean (N) and rstd (N), which the backward pass reads.
    //   Shapes    weight and bias are (C).
    //   Contract  out may be x: no element is read after it was written.
    //   Question  which of the six tensors are indexed by n alone, which by c alone?
}

int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream) {
    // TODO 3d (5 lines): The launch: one thread for each row.
    //   Goal      and contract as in TODO 2d.
    return cudaErrorNotSupported; // "not started": replace this line
}
