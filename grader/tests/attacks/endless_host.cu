// Never returns.
// stopped by: process
#include "right.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    for (volatile int i = 0; N * C > 0; i++) {}
    return add(out, x, residual, N, C, stream);
}
