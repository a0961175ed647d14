// Has a kernel that never ends.
// stopped by: process
#include "right.cuh"

__global__ void endless(float *out) {
    for (volatile int i = 0;; i++) {}
}
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N * C > 0) { endless<<<1, 1, 0, stream>>>(out); }
    return add(out, x, residual, N, C, stream);
}
