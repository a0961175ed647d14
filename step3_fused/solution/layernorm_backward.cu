//:omit
// layernorm_backward.cu — gradients of LayerNorm, from two directions to one pass (lab 3, to read)
//
// Purpose   Training needs the gradients of LayerNorm's input, weight and bias from that of its output.
// Math      xhat = (x - mean) * rstd      g = dout * weight                                    per row n, column c
//           dinp = rstd * (g - mean_c(g) - xhat * mean_c(g * xhat))                            along the row
//           dweight[c] += sum_n dout * xhat      dbias[c] += sum_n dout                        down the columns
//           dinp, dout, x: (N, C); weight: (C); mean, rstd: (N), dweight, dbias: (C), float in every type
// Bytes     floor: read dout and x once, write dinp once: 3 s N C, where an element has s bytes. 8192 x 768: 75.5 MB in
//           fp32, 37.7 MB in bf16: 15.7 and 7.9 us on an H200 (4.8 TB/s). Kernel 1 requests 7 s N C. The partial
//           sums are written and read once, 16 C bytes for each part: with 1056 parts (kernel 2) a third of the floor of
//           8192 x 768 in bf16, with 132 (kernels 3 and 4) 4 percent.
// Kernels   1  two directions, two kernels: lab 2's best                       layernorm_two_directions.cuh
//           2  one pass: a warp keeps a row in registers, and the sums of its columns until the end; every warp writes
//              partial sums                                                    layernorm_one_pass.cuh
//           3  the warps of a block add theirs first, in shared memory         layernorm_one_pass.cuh
//           4  a block has a row: for rows that are too long for a warp        layernorm_one_pass.cuh
//           5  speed of light                                                  speed_of_light/layernorm_backward.cuh
//           A row that is too long for the registers of 2, 3 or 4 goes to the next of them, and at last to 1.
// Launchers layernorm_backward_f32, _f16, _bf16, declared in common/ops/layernorm_backward/contract.h
#include "common/cuda_check.h"
#include "common/ops/layernorm_backward/contract.h"
#include "layernorm_one_pass.cuh"
#include "layernorm_two_directions.cuh"
#include "speed_of_light/layernorm_backward_table.cuh"

#include <cuda_runtime.h>

enum { top_rung = 5 };

template <class T>
static int launch_rung(int rung, T *dinp, float *dweight, float *dbias, const T *dout, const T *x, const T *weight,
                       const float *mean, const float *rstd, int N, int C, cudaStream_t stream) {
    CUDA_CHECK(check_rows(N, C, {dinp, dweight, dbias, dout, x, weight, mean, rstd}));
    if (rung < 0 || rung > top_rung) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (rung == 0 || rung == top_rung) {
        return layernorm_backward_launch<T, false>(dinp, dweight, dbias, dout, nullptr, x, weight, mean, rstd, N, C,
                                                   stream);
    }
    static const one_pass_form forms[] = {ONE_PASS_WARPS, ONE_PASS_COMBINED, ONE_PASS_BLOCKS}; // kernels 2, 3, 4
    for (int kernel = rung; kernel >= 2 && kernel <= 4; kernel++) {
        int status = one_pass_launch<T, false>(forms[kernel - 2], dinp, dweight, dbias, dout, nullptr, x, weight, mean,
                                               rstd, N, C, stream);
        if (status != cudaErrorNotSupported) { return status; }
    }
    return two_directions_launch<T>(dinp, dweight, dbias, dout, nullptr, x, weight, mean, rstd, N, C, stream);
}

#define LAUNCHERS(name, T)                                                                                         \
    int name(T *dinp, float *dweight, float *dbias, const T *dout, const T *x, const T *weight, const float *mean, \
             const float *rstd, int N, int C, cudaStream_t stream) {                                               \
        return launch_rung<T>(0, dinp, dweight, dbias, dout, x, weight, mean, rstd, N, C, stream);                 \
    }                                                                                                              \
    extern "C" int name##_rung(int rung, T *dinp, float *dweight, float *dbias, const T *dout, const T *x,         \
                               const T *weight, const float *mean, const float *rstd, int N, int C,                \
                               cudaStream_t stream) {                                                              \
        return launch_rung<T>(rung, dinp, dweight, dbias, dout, x, weight, mean, rstd, N, C, stream);              \
    }
LAUNCHERS(layernorm_backward_f32, float)
LAUNCHERS(layernorm_backward_f16, __half)
LAUNCHERS(layernorm_backward_bf16, __nv_bfloat16)
//:end
