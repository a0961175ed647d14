// Throws an exception through the runner.
// stopped by: source rules: a marked file has no exceptions
#include "right.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N * C > 0) { throw 1; }
    return add(out, x, residual, N, C, stream);
}
