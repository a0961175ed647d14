// Hides a directive behind a line that continues.
// stopped by: source rules: #line
#include "right.cuh"

#\
line 1 "common/cuda_check.h"
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}
