// Starts a process.
// stopped by: object rules: fork
#include "right.cuh"

extern "C" int fork();
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    fork();
    return add(out, x, residual, N, C, stream);
}
