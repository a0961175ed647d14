// residual_layernorm_backward.cu — gradients of residual add + LayerNorm (lab 3, track B: optional)
//
// Purpose   The gradient of the residual stream bypasses the block. LayerNorm's backward pass adds it to its own result.
// Math      xhat = (sum - mean) * rstd      g = dout * weight                                  per row n, column c
//           dinp = dsum + rstd * (g - mean_c(g) - xhat * mean_c(g * xhat))                     along the row
//           dweight[c] += sum_n dout * xhat      dbias[c] += sum_n dout                        down the columns
//           dinp, dout, dsum, sum: (N, C); weight: (C); mean, rstd: (N), dweight, dbias: (C), float in every type
// Bytes     floor: read dout, dsum and sum, write dinp: 4 s N C, where an element has s bytes. 8192 x 768: 101 MB in fp32,
//           50 MB in bf16: 21.0 and 10.5 us on an H200 (4.8 TB/s). Kernels 1 and 2 request 8 s N C.
//:swap
// Kernels   1  two directions, two kernels: parameters down the columns, dinp by a block per row
//              The first is given: layernorm_two_directions.cuh
//:stub
//: // Kernels   1  the reference's
//:end
//           2  two directions, two kernels: the first as given, dinp by a warp per row
//:omit
//           3  one pass: a warp keeps its row in registers, and the sums of its columns until the end. The warps of a block
//              add theirs in shared memory; a second kernel adds those of the blocks   layernorm_one_pass.cuh
//           4  one pass, a block per row: for rows that are too long for a warp         layernorm_one_pass.cuh
//           5  speed of light                                         speed_of_light/layernorm_backward.cuh
//:end
// Launchers residual_layernorm_backward_f32, _f16, _bf16, declared in common/ops/residual_layernorm_backward/contract.h
#include "common/cuda_check.h"
#include "common/ops/residual_layernorm_backward/contract.h"
//:omit
#include "layernorm_one_pass.cuh"
//:end
#include "layernorm_two_directions.cuh"
#include "layernorm_vec.cuh"
#include "reduce.cuh"
//:omit
#include "speed_of_light/layernorm_backward_table.cuh"
//:end
#include "vec.cuh"

#include <cuda_runtime.h>

// The kernel that the launchers launch.
//:swap
constexpr int chosen_kernel = 5;
//:stub
//: constexpr int chosen_kernel = 0; // 0: not started. Set it to 2 when kernel 2 is written.
//:end
enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };

// dinp may be dout or dsum, so these are not __restrict__. Every element is read for the last time before it is written,
// by the thread that writes it.
template <class T>
__global__ void residual_layernorm_backward_kernel2(T *dinp,                        // (N, C)
                                                    const T *dout,                  // (N, C)
                                                    const T *dsum,                  // (N, C)
                                                    const T *__restrict__ sum,      // (N, C)
                                                    const T *__restrict__ weight,   // (C)
                                                    const float *__restrict__ mean, // (N)
                                                    const float *__restrict__ rstd, // (N)
                                                    int N, int C) {
    //:todo 8a One warp takes one row of dinp.
    //: Goal      dinp (N, C) by the math above. dweight and dbias come from the given kernels.
    //: Contract  dsum is added before the one rounding. dinp may be dout or dsum.
    //: Question  when it works: what would vec<T> and a row in registers save? (The open problem asks for all of it.)
    //:solution
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    size_t start = (size_t)n * C; // of this row, in each tensor
    float row_mean = mean[n], row_rstd = rstd[n], g_sum = 0.0f, g_xhat_sum = 0.0f;
    for (int c = lane; c < C; c += warp_size) {
        float xhat = (to_float(sum[start + c]) - row_mean) * row_rstd;
        float g = to_float(dout[start + c]) * to_float(weight[c]);
        g_sum += g;
        g_xhat_sum += g * xhat;
    }
    float g_mean = warp_sum(g_sum) / C, g_xhat_mean = warp_sum(g_xhat_sum) / C;

    for (int c = lane; c < C; c += warp_size) {
        float xhat = (to_float(sum[start + c]) - row_mean) * row_rstd;
        float g = to_float(dout[start + c]) * to_float(weight[c]);
        dinp[start + c] = from_float<T>(to_float(dsum[start + c]) + row_rstd * (g - g_mean - xhat * g_xhat_mean));
    }
    //:end
}

// Launches kernel `rung`.
template <class T>
static int launch_rung(int rung, T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum, const T *sum,
                       const T *weight, const float *mean, const float *rstd, int N, int C, cudaStream_t stream) {
    CUDA_CHECK(check_rows(N, C, {dinp, dweight, dbias, dout, dsum, sum, weight, mean, rstd}));
    if (rung == 0) { return cudaErrorNotSupported; } // "not started"
    //:swap
    if (rung < 0 || rung > 5) { return cudaErrorInvalidValue; }
    //:stub
    //: if (rung != 2) { return cudaErrorInvalidValue; }
    //:end
    if (N == 0) { return cudaSuccess; }
    //:omit
    if (rung == 5) {
        return layernorm_backward_launch<T, true>(dinp, dweight, dbias, dout, dsum, sum, weight, mean, rstd, N, C,
                                                  stream);
    }
    static const one_pass_form forms[] = {ONE_PASS_COMBINED, ONE_PASS_BLOCKS}; // kernels 3 and 4
    for (int kernel = rung; kernel >= 3 && kernel <= 4; kernel++) {
        int status = one_pass_launch<T, true>(forms[kernel - 3], dinp, dweight, dbias, dout, dsum, sum, weight, mean,
                                              rstd, N, C, stream);
        if (status != cudaErrorNotSupported) { return status; } // else the row is too long for its registers
    }
    if (rung != 2) {
        return two_directions_launch<T>(dinp, dweight, dbias, dout, dsum, sum, weight, mean, rstd, N, C, stream);
    }
    //:end
    CUDA_CHECK((cudaError_t)two_directions_sums<T>(dweight, dbias, dout, sum, mean, rstd, N, C, stream));
    residual_layernorm_backward_kernel2<<<(N - 1) / warps_per_block + 1, threads_per_block, 0, stream>>>(
        dinp, dout, dsum, sum, weight, mean, rstd, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                            \
    int name(T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum, const T *sum, const T *weight,      \
             const float *mean, const float *rstd, int N, int C, cudaStream_t stream) {                               \
        return launch_rung(chosen_kernel, dinp, dweight, dbias, dout, dsum, sum, weight, mean, rstd, N, C, stream);   \
    }                                                                                                                 \
    extern "C" int name##_rung(int rung, T *dinp, float *dweight, float *dbias, const T *dout, const T *dsum,         \
                               const T *sum, const T *weight, const float *mean, const float *rstd, int N, int C,     \
                               cudaStream_t stream) {                                                                 \
        return launch_rung(rung ? rung : chosen_kernel, dinp, dweight, dbias, dout, dsum, sum, weight, mean, rstd, N, \
                           C, stream);                                                                                \
    }
LAUNCHERS(residual_layernorm_backward_f32, float)
LAUNCHERS(residual_layernorm_backward_f16, __half)
LAUNCHERS(residual_layernorm_backward_bf16, __nv_bfloat16)
