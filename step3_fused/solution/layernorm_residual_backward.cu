//:omit
// layernorm_residual_backward.cu — gradients of LayerNorm(x) + residual (lab 3, to read)
//
// Purpose   out = LayerNorm(x) + residual has two inputs. The gradient of the residual is dout itself: no kernel computes it.
//           LayerNorm's backward pass is left, with nothing to fuse into it.
// Math      xhat = (x - mean) * rstd      g = dout * weight                                    per row n, column c
//           dinp = rstd * (g - mean_c(g) - xhat * mean_c(g * xhat))                            along the row
//           dweight[c] += sum_n dout * xhat      dbias[c] += sum_n dout                        down the columns
// Bytes     floor: read dout and x once, write dinp once: 3 s N C, where an element has s bytes
// Kernels   1  two directions, two kernels: lab 2's best                       layernorm_two_directions.cuh
//           2  one pass, a warp per row                                        layernorm_one_pass.cuh
//           3  one pass, a block per row: for rows that are too long for a warp
//           4  speed of light                                                  speed_of_light/layernorm_backward.cuh
// Launchers layernorm_residual_backward_f32, _f16, _bf16, declared in common/ops/layernorm_residual_backward/contract.h
#include "common/cuda_check.h"
#include "common/ops/layernorm_residual_backward/contract.h"
#include "layernorm_one_pass.cuh"
#include "layernorm_two_directions.cuh"
#include "speed_of_light/layernorm_backward_table.cuh"

#include <cuda_runtime.h>

enum { top_rung = 4 };

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
    static const one_pass_form forms[] = {ONE_PASS_COMBINED, ONE_PASS_BLOCKS}; // kernels 2 and 3
    for (int kernel = rung; kernel >= 2 && kernel <= 3; kernel++) {
        int status = one_pass_launch<T, false>(forms[kernel - 2], dinp, dweight, dbias, dout, nullptr, x, weight, mean,
                                               rstd, N, C, stream);
        if (status != cudaErrorNotSupported) { return status; } // else the row is too long for its registers
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
LAUNCHERS(layernorm_residual_backward_f32, float)
LAUNCHERS(layernorm_residual_backward_f16, __half)
LAUNCHERS(layernorm_residual_backward_bf16, __nv_bfloat16)
//:end
