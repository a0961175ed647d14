// Replaces the description of an op.
// stopped by: object rules: op_find
#include "right.cuh"

extern "C" const void *op_find(const char *) { return nullptr; }
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}
